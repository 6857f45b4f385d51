#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A kernel that crashes in the middle of a script.
# lab-says: g0: the guest died
# lab-says: \[g0 kernel\].*sysrq triggered crash

echo c >/proc/sysrq-trigger
