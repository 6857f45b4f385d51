# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions that the demo's scripts share in the guests. Lines that begin with "demo|" and "show|"
# reach the user; results go to $LAB_OUT/results.

. "$LAB_DIR/guest/wait.sh"

clients=20

say() { echo "demo|$*"; }
show() { sed 's/^/show|/'; }

die() {
	say "guest $LAB_NODE: $*"
	exit 1
}

# are_connected PATH NUMBER: so many connections go by it. /run/socks tells of them.
are_connected() {
	"$LAB_BUILD/tools/smc/smc" sock >/run/socks
	(($(grep -c "established *$1" /run/socks) >= $2))
}

# show_sockets PATH: a few of them.
show_sockets() {
	awk -v path="established *$1" 'NR == 1 || ($0 ~ path && ++n <= 4)' /run/socks | show
	echo "... and $(($(grep -c "established *$1" /run/socks) - 4)) more" | show
}

start_redis() {
	redis-server --port 6379 --save '' --appendonly no --protected-mode no --dir /run "$@" \
		>/run/redis.log 2>&1 &
	redis=$!
	until_true 'Redis listens' listens 6379 ||
		die "Redis does not listen: $(</run/redis.log)"
}

# ask_redis PASS REQUESTS OPTION...: requests per second of SET and GET.
ask_redis() {
	local pass=$1 requests=$2
	shift 2
	redis-benchmark "$@" -t set,get -n "$requests" -c "$clients" --csv >/run/redis.csv ||
		die 'redis-benchmark failed'
	awk -F'"' -v pass="$pass" '/SET|GET/ { print pass "." tolower($2), $4 }' /run/redis.csv \
		>>"$LAB_OUT/results"
}

# with_clients COMMAND OPTION...: run COMMAND beside clients of Redis, which are not measured.
with_clients() {
	local command=$1 clients_pid
	shift
	redis-benchmark "$@" -t get -c "$clients" -l >/run/clients.log 2>&1 &
	clients_pid=$!
	"$command"
	kill "$clients_pid"
	wait "$clients_pid"
}

# growth PASS: print by how much each counter that the function counters prints has grown since
# /run/before.
growth() {
	counters | awk -v pass="$1" 'NR == FNR { before[$1] = $2; next }
		{ printf "%s.%s %.0f\n", pass, $1, $2 - before[$1] }' /run/before -
}
