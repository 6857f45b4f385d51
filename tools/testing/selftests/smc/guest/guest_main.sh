#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What run_guest.sh runs in every guest: guest_main.sh PROGRAM...
#
# The tests find their peer at the addresses of guest 1. LAB_WITHIN says that it is to be in this
# guest instead: "netns", in a network namespace of its own, or "host", in the same one.

# Where the programs come from the tests find more of what was built.
export LAB_BUILD=${1%/selftests/*}
programs=${1%/*}

# ip4 LAN NODE, ip6 LAN NODE: as the lab gives them to guests
ip4() { echo "10.83.$1.$(($2 + 1))"; }
ip6() { (($1)) && echo "fd83:$1::$(($2 + 1))" || echo "fd83::$(($2 + 1))"; }

# join LAN NODE IP-OPTION...: an end of a veth gets its addresses
join() {
	local lan=$1 node=$2
	shift 2
	ip "$@" addr add "$(ip4 "$lan" "$node")/24" dev "eth$lan"
	ip "$@" addr add "$(ip6 "$lan" "$node")/64" dev "eth$lan" nodad
	ip "$@" link set "eth$lan" up
}

# Veth in place of the two LANs.
peer_in_netns() {
	local lan
	in_peer=(nsenter --net=/run/netns/peer)
	ip netns add peer
	ip -n peer link set lo up
	"${in_peer[@]}" sysctl -q net.ipv6.conf.default.accept_dad=0
	for lan in 0 1; do
		ip link set "eth$lan" down
		ip link set "eth$lan" name "lan$lan"
		ip addr flush dev "lan$lan"
		ip link add "eth$lan" type veth peer name "eth$lan" netns peer
		join "$lan" 0
		join "$lan" 1 -n peer
	done
}

# from ADDRESS SOURCE DEV: who connects to a local address comes from another
from() {
	ip route del local "$1" dev "$3" table local
	ip route add local "$1" dev "$3" table local src "$2"
}

# Both addresses here, each the peer of the other.
peer_in_host() {
	local lan
	for lan in 0 1; do
		join "$lan" 1
		from "$(ip4 "$lan" 0)" "$(ip4 "$lan" 1)" "eth$lan"
		from "$(ip4 "$lan" 1)" "$(ip4 "$lan" 0)" "eth$lan"
		from "$(ip6 "$lan" 0)" "$(ip6 "$lan" 1)" "eth$lan"
		from "$(ip6 "$lan" 1)" "$(ip6 "$lan" 0)" "eth$lan"
	done
}

start_agent() {
	"${in_peer[@]}" "$programs/smc_agent" &
	agent=$!
	# It answers before the tests begin, so they need not wait for it.
	until [[ $("${in_peer[@]}" ss -Hltn 'sport = :8484') ]]; do
		kill -0 "$agent" || exit
		sleep 0.1
	done
}

run_tests() {
	local program failed=0
	for program; do
		echo "# ${program##*/}"
		"$program" --filter="$LAB_FILTER" || failed=1
	done
	return "$failed"
}

in_peer=()
lab-smc load || exit

if [[ $LAB_WITHIN ]]; then
	set -e
	"peer_in_$LAB_WITHIN"
	set +e
	start_agent
	run_tests "$@"
	failed=$?
	kill "$agent"
	exit "$failed"
fi

lab-rxe eth0 || exit
if ((LAB_NODE > 0)); then
	start_agent
	lab-barrier begin && lab-barrier end
	kill "$agent"
	exit 0
fi

lab-barrier begin || exit
run_tests "$@"
failed=$?
lab-barrier end || exit
exit "$failed"
