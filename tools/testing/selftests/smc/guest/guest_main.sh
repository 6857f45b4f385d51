#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run_guest.sh runs this in every guest: guest_main.sh ACT... Each ACT is words that end with "+":
#
#   peer PROGRAM...            test programs, which find their peer at the addresses of guest 1
#   host|netns PROGRAM...      the peer is in this guest, in the same network namespace or another
#   script FILE [ARGUMENT...]  a script of the lab, in all guests

programs=$LAB_BUILD/selftests

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
	ip netns add peer
	ip -n peer link set lo up
	ip netns exec peer sysctl -q net.ipv6.conf.default.accept_dad=0
	for lan in 0 1; do
		ip link set "eth$lan" down
		ip link set "eth$lan" name "lan$lan"
		ip addr flush dev "lan$lan"
		ip link add "eth$lan" type veth peer name "eth$lan" netns peer
		join "$lan" 0
		join "$lan" 1 -n peer
	done
}

# The LANs again.
leave_netns() {
	local lan
	for lan in 0 1; do
		ip link del "eth$lan"
		ip link set "lan$lan" name "eth$lan"
		join "$lan" 0
	done
	ip netns del peer
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

# It ends by SIGTERM, and has not ended before.
end_agent() {
	kill "$agent"
	wait "$agent" 2>/dev/null
	(($? == 128 + 15))
}

run_tests() {
	local program failed=0
	for program; do
		echo "# ${program##*/}"
		"$program" --filter="$LAB_FILTER" || failed=1
	done
	return "$failed"
}

act_peer() {
	local failed
	unset LAB_WITHIN
	lab-smc load && lab-rxe eth0 || exit
	if ((LAB_NODE > 0)); then
		start_agent
		lab-barrier begin && lab-barrier end || exit
		end_agent
		return
	fi
	lab-barrier begin || exit
	run_tests "$@"
	failed=$?
	lab-barrier end || exit
	return "$failed"
}

# act_within PLACE PROGRAM...
act_within() {
	local failed
	((LAB_NODE == 0)) || return 0
	export LAB_WITHIN=$1 LAB_LANS=2
	lab-smc load || exit
	set -e
	"peer_in_$1"
	set +e
	[[ $1 == host ]] || in_peer=(nsenter --net=/run/netns/peer)
	start_agent
	run_tests "${@:2}"
	failed=$?
	end_agent || failed=1
	[[ $1 == host ]] || leave_netns || exit
	in_peer=()
	return "$failed"
}

# A script has a shell of its own, and counts as one test.
act_script() {
	local begin=$SECONDS verdict=ok
	((LAB_NODE)) || printf '# %s\n1..1\n' "$1"
	/bin/bash "$@" </dev/null || verdict='not ok'
	((LAB_NODE)) || echo "$verdict 1 ${1#"$LAB_REPO"/} # $((SECONDS - begin)).0 s"
	[[ $verdict == ok ]]
}

# clean_up: wait for the end of what an act left, its connections and with them the module.
clean_up() {
	local end=$((SECONDS + 120)) rxe aid
	until lab-smc unload 2>/run/unload; do
		((SECONDS < end)) || { cat /run/unload; exit 1; }
		sleep 0.2
	done
	# A device with one of these would wait for ever for its end.
	for aid in rdma_parent roce_v1; do
		! grep -q "^$aid " /proc/modules || rmmod "$aid" || exit
	done
	for rxe in /sys/class/infiniband/rxe*; do
		[[ ! -e $rxe ]] || rdma link delete "${rxe##*/}" || exit
	done
}

# act WORD...
act() {
	case $1 in
	peer) act_peer "${@:2}" ;;
	host | netns) act_within "$@" ;;
	script) act_script "${@:2}" ;;
	esac
}

in_peer=() words=() failed=0 acts=0
for word; do
	[[ $word == + ]] || { words+=("$word"); continue; }
	((acts++ == 0)) || lab-barrier act || exit
	# Not as a condition, where "set -e" means nothing.
	act "${words[@]}"
	failed=$((failed | $?))
	clean_up
	words=()
done
exit "$failed"
