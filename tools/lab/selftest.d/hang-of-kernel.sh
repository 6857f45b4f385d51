#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A kernel that does not run programs any more: SysRq and an NMI show why.
# lab-run: -t 15 -c 1
# lab-says: g0: the agent does not answer
# lab-says: \[g0 kernel\].*Kernel panic

chrt -f 99 bash -c 'echo -1 >/proc/sys/kernel/sched_rt_runtime_us; while :; do :; done'
