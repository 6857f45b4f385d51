#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A kernel that does not run programs any more: SysRq and an NMI show why.
# lab-run: -t 15 -c 1
# lab-says: g0: the agent does not answer
# lab-says: \[g0 kernel\].*Kernel panic

# A real-time task on the only processor, with nothing left for others, be it
# by throttling or by 6.12's deadline server for ordinary tasks.
fair=/sys/kernel/debug/sched/fair_server/cpu0/runtime
[[ ! -e $fair ]] || echo 0 >"$fair"
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
exec chrt -f 99 bash -c 'while :; do :; done'
