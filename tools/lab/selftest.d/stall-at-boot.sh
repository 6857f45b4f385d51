#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest that stalls before its agent runs is booted again. Bash reads this file before the agent,
# too, which is process 1, and then the file stands for a kernel that runs no programs.
# lab-passes
# lab-run: -e BASH_ENV=$LAB_DIR/selftest.d/stall-at-boot.sh
# lab-says: g0: stalled at boot \(attempt 1\)
# lab-says: passed

if (($$ == 1)) && [[ ! -e $LAB_OUT/stalled ]]; then
	touch "$LAB_OUT/stalled"
	echo 'rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:' >/dev/kmsg
	sleep infinity
fi
