#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An expected complaint does not excuse another.
# lab-run: --allow-dmesg of_the_lab\+0x
# lab-says: \[g0 kernel\].*Bad page state

echo '------------[ cut here ]------------' >/dev/kmsg
echo 'WARNING: CPU: 0 PID: 1 at lab/selftest.c:1 of_the_lab+0x0/0x0' >/dev/kmsg
echo 'Call Trace:' >/dev/kmsg
echo '---[ end trace 0000000000000000 ]---' >/dev/kmsg
echo 'BUG: Bad page state in process bash' >/dev/kmsg
! lab-check-dmesg
