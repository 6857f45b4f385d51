#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Version 2 over a router: guests 0 and 2 are in different LANs, guest 1 forwards between them.
# Each end sends to the router's MAC address, which soft-RoCE does not need and adapters do.
#
#   tools/lab/lab run -n 3 --lans 2 tools/testing/selftests/smc/guest/routed.sh

# shellcheck source=script.sh
source "$LAB_REPO/tools/testing/selftests/smc/guest/script.sh"

trace=/sys/kernel/tracing

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

lab-smc load || exit
if ((LAB_NODE == 1)); then
	sysctl -q net.ipv4.ip_forward=1
	lab-barrier routed && lab-barrier listens && lab-barrier end
	exit
fi

lan=$((LAB_NODE / 2))
router=10.83.$lan.2
ip addr flush dev "eth$((1 - lan))"
ip route add "10.83.$((1 - lan)).0/24" via "$router" || exit
lab-rxe "eth$lan" && trace_mac || exit
lab-barrier routed || exit
before=$(written)

if ((LAB_NODE == 2)); then
	"$smc_run" iperf3 -s -1 >"$LAB_OUT/iperf3" 2>&1 &
	await 60 listens || exit
	lab-barrier listens || exit
	wait %1
else
	lab-barrier listens || exit
	"$smc_run" iperf3 -c 10.83.1.3 -n 1M >"$LAB_OUT/iperf3" 2>&1
fi
report 1 iperf3 ran
((LAB_NODE == 2)) || (($(written) - before >= 1048576))
report 2 its bytes went by RDMA
traced "$(router_mac)"
report 3 by way of the router
lab-barrier end
exit "$failed"
