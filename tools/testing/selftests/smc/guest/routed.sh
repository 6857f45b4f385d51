#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Version 2 over a router: guest 0 is in LAN 1, and guest 1 in LAN 2, a veth. The router between
# them is a network namespace of guest 1, which has that guest's end of LAN 1, so that no other way
# leads there. Each end sends to the router's MAC address, which soft-RoCE does not need and adapters do.
#
#   run_guest.sh -n 2 + script tools/testing/selftests/smc/guest/routed.sh
#
# Both guests come to all barriers even if something fails, and then are as they were.

# shellcheck source=script.sh
source "$LAB_REPO/tools/testing/selftests/smc/guest/script.sh"

trace=/sys/kernel/tracing
lan=$((LAB_NODE + 1))
router=10.83.$lan.$((2 - LAB_NODE))

# lan_up LAN NODE IP-OPTION...: an end of the LAN gets the addresses of that node there.
lan_up() {
	ip "${@:3}" addr add "10.83.$1.$(($2 + 1))/24" dev "eth$1" &&
		ip "${@:3}" addr add "fd83:$1::$(($2 + 1))/64" dev "eth$1" nodad &&
		ip "${@:3}" link set "eth$1" up
}

# The router is node 1 of LAN 1 and node 0 of LAN 2.
add_router() {
	ip netns add router &&
		ip netns exec router sysctl -q net.ipv4.ip_forward=1 &&
		ip link set eth1 netns router &&
		ip link add eth2 type veth peer name eth2 netns router &&
		lan_up 1 1 -n router && lan_up 2 0 -n router && lan_up 2 1
}

# The MAC address that queue pairs get for their peer.
trace_mac() {
	echo 'p:to_rtr smc_link_to_rtr mac=+16(%si):x8[6]' >"$trace/kprobe_events" &&
		echo 1 >"$trace/events/kprobes/to_rtr/enable"
}

# traced MAC: as 52:54:..., while the trace has 0x52,0x54,...
traced() {
	local bytes
	IFS=: read -ra bytes <<<"$1"
	printf -v bytes '0x%x,' "${bytes[@]/#/0x}"
	grep -F "mac={${bytes%,}}" "$trace/trace"
}

router_mac() { ip neigh show to "$router" | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p'; }

# The route goes with LAN 2's veth in guest 1.
set_up() {
	((LAB_NODE == 0)) || add_router || return
	ip route add "10.83.$((3 - lan)).0/24" via "$router" && lab-smc load && lab-rxe "eth$lan" &&
		trace_mac
}

unloaded() { lab-smc unload 2>/dev/null; }
has_link_local() { [[ $(ip -6 addr show dev eth1 scope link) ]]; }

# Each step is tried, whatever the one before it came to.
tear_down() {
	trap 'failed=1' ERR
	echo 0 >"$trace/events/kprobes/to_rtr/enable"
	echo >"$trace/kprobe_events"
	echo >"$trace/trace"
	# A link group ends by messages to its peer, for which the router still has to be there.
	await 60 unloaded
	lab-barrier unloaded
	rdma link delete "rxe$lan"
	if ((LAB_NODE == 0)); then
		ip route del 10.83.2.0/24
		return
	fi
	ip link del eth2
	ip -n router link set eth1 netns 1
	lan_up 1 1
	# eth1 has a link-local address as soon as it has a carrier.
	await 60 has_link_local
	ip netns del router
}

# The server writes few bytes: only iperf3's account of how much came.
least=$((LAB_NODE ? 1 : 1048576))

((LAB_NODE)) || printf '%s\n' 'KTAP version 1' 1..3
set_up || failed=1
lab-barrier routed || exit
before=$(written)
if ((LAB_NODE == 1)); then
	timeout 120 "$smc_run" iperf3 -s -1 >"$LAB_OUT/iperf3" 2>&1 &
	await 60 listens
	lab-barrier listens || exit
	wait %1
else
	lab-barrier listens || exit
	timeout 120 "$smc_run" iperf3 -c 10.83.2.2 -n 1M >"$LAB_OUT/iperf3" 2>&1
fi
report 1 iperf3 ran
(($(written) - before >= least))
report 2 its bytes went by RDMA
traced "$(router_mac)"
report 3 by way of the router
lab-barrier ran || exit
tear_down
exit "$failed"
