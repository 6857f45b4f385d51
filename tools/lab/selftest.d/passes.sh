#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A run in which nothing is wrong, with all that scripts rely on.
# lab-passes
# lab-run: -n 2 --lans 2 --mtu 9000 -e FRUIT=apple
# lab-says: \[g1\] one
# lab-says: passed

set -e
[[ $LAB_NODES == 2 && $FRUIT == apple && $(hostname) == g$LAB_NODE ]]
[[ -f tools/lab/lab && $(id -u) == 0 ]]
[[ $(</sys/class/net/eth1/mtu) == 9000 ]]
for dir in /tmp /dev/shm /run "$LAB_OUT"; do
	echo content >"$dir/file"
done
[[ -d /sys/kernel/debug/dynamic_debug && -e /proc/self/fd ]]
# The debug kernel is built without tracing.
[[ $LAB_KERNEL == debug || (-e /sys/kernel/tracing/events && -e /sys/kernel/debug/tracing) ]]
lab-log starting
for round in 1 2 3; do
	lab-barrier again
done
busybox ping -c 1 "$LAB_IP4_0"
busybox ping6 -c 1 "$LAB_IP6_1"
busybox ping -c 1 10.83.1.1
busybox ping6 -c 1 fd83:1::2
lab-check-dmesg
lab-barrier end
((LAB_NODE == 0)) || echo one
