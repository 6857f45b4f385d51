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

addresses() { echo "10.83.$1.$(($2 + 1))/24 fd83:$([[ $1 == 0 ]] || echo "$1")::$(($2 + 1))/64"; }

# Veth in place of the two LANs.
peer_in_netns() {
	local lan address
	ip netns add peer
	ip -n peer link set lo up
	for lan in 0 1; do
		ip link set "eth$lan" down
		ip link set "eth$lan" name "lan$lan"
		ip link add "eth$lan" type veth peer name "eth$lan" netns peer
		for address in $(addresses "$lan" 0); do ip addr replace "$address" dev "eth$lan" nodad; done
		for address in $(addresses "$lan" 1); do
			ip -n peer addr replace "$address" dev "eth$lan" nodad
		done
		ip link set "eth$lan" up
		ip -n peer link set "eth$lan" up
	done
	in_peer=(nsenter --net=/run/netns/peer)
}

# Both addresses here. Who connects to one of them comes from the other.
peer_in_host() {
	local lan here there address
	for lan in 0 1; do
		read -r here here6 < <(addresses "$lan" 0)
		read -r there there6 < <(addresses "$lan" 1)
		for address in "$there" "$there6"; do ip addr add "$address" dev "eth$lan" nodad; done
		ip route replace local "${here%/*}" dev "eth$lan" table local src "${there%/*}"
		ip route replace local "${there%/*}" dev "eth$lan" table local src "${here%/*}"
		ip -6 route replace local "${here6%/*}" dev "eth$lan" table local src "${there6%/*}"
		ip -6 route replace local "${there6%/*}" dev "eth$lan" table local src "${here6%/*}"
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
	"peer_in_$LAB_WITHIN"
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
