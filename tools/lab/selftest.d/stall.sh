#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A stall while the script runs. If the guest were booted again, the second boot would pass.
# lab-says: \[g0 kernel\].*detected stalls
# lab-says: g0: the kernel complained

[[ ! -e $LAB_OUT/booted ]] || exit 0
touch "$LAB_OUT/booted"
echo 'rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:' >/dev/kmsg
sleep 5
