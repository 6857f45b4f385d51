# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The virtual LANs: bridge lanL, and on it tap tN.L for every guest N. All of it
# lives in the network namespace of the run and goes with it.

network_up() {
	local lan guest
	for ((lan = 0; lan < LAB_LANS; lan++)); do
		echo "link add lan$lan type bridge forward_delay 0 mcast_snooping 0"
		for ((guest = 0; guest < LAB_NODES; guest++)); do
			echo "tuntap add t$guest.$lan mode tap"
			echo "link set t$guest.$lan mtu $LAB_MTU master lan$lan up"
		done
		echo "link set lan$lan mtu $LAB_MTU up"
	done | ip -batch - || die "cannot set up the virtual LANs (need /dev/net/tun)"
}
