#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A kernel that only complains; the script itself is content.
# lab-says: \[g0 kernel\].*WARNING:
# lab-says: g0: the kernel complained

echo 'WARNING: CPU: 0 PID: 1 at lab/selftest.c:1 of_the_lab+0x0/0x0' >/dev/kmsg
