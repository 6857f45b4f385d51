#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A complaint that the run expects.
# lab-passes
# lab-run: --allow-dmesg of_the_lab\+0x
# lab-says: passed

echo 'WARNING: CPU: 0 PID: 1 at lab/selftest.c:1 of_the_lab+0x0/0x0' >/dev/kmsg
lab-check-dmesg
