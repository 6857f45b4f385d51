# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions that the comparisons share in a guest: contestants, one measurement, and the evidence
# of which way its bytes went. A contestant is tcp, unix, verbs, tree or ours. Results go to
# $LAB_OUT/results, a line of JSON for each measurement.

. "$LAB_DIR/guest/wait.sh"

smc=$LAB_BUILD/tools/smc/smc
bench=$LAB_BUILD/tools/bench/smc_bench
eid=BENCH.LAN

die() {
	echo "bench: $*"
	exit 1
}

# The kind of sockets that a contestant uses.
protocol() {
	case $1 in
	tree | ours) echo smc ;;
	*) echo "$1" ;;
	esac
}

has_module() { [[ $1 == tree || $1 == ours ]]; }

# Both modules get the same configuration.
enter() {
	has_module "$1" || return 0
	load_module "$1" || die "cannot load $1"
	"$smc" eid add "$eid" && configure || die "cannot configure $1"
}

leave() {
	has_module "$1" || return 0
	until_true "unloading $1" unload_module || die "$(</run/unload.log)"
}

unload_module() { lab-smc unload 2>/run/unload.log; }

# counters: bytes sent and received by SMC-R and SMC-D in this guest, and connections that
# went by TCP.
counters() {
	[[ -d /sys/module/smc ]] || { echo 0 0 0; return; }
	{ "$smc" stats; "$smc" fallbacks; } | awk '
		$1 ~ /^smc[rd]$/ && NF == 1 { path = $1 }
		$1 ~ /^[tr]x-bytes$/ { sum[path] += $2 }
		$1 == "total:" { fallbacks = $3 + $5 }
		END { printf "%.0f %.0f %.0f\n", sum["smcr"], sum["smcd"], fallbacks }'
}

# record CONTESTANT MEASURE SIZE VALUE SMCR-BYTES SMCD-BYTES FALLBACKS
record() {
	local format='{"round":%d,"contestant":"%s","measure":"%s","size":%d,"value":%s,'
	format+='"smcr":%s,"smcd":%s,"fallbacks":%s}\n'
	# shellcheck disable=SC2059
	printf "$format" "$round" "$@" >>"$LAB_OUT/results"
	echo "round $round: $1 $2 $3: $4"
}

# profiled NAME COMMAND...: with PROFILE, what all processors spend their time on meanwhile, in
# $LAB_OUT/NAME.ROUND.profile.
profiled() {
	local name=$1 perf status
	shift
	[[ ${PROFILE:-} ]] || { "$@"; return; }
	perf record -q -a -e cpu-clock -F 2000 -o /run/perf.data >/dev/null 2>&1 &
	perf=$!
	"$@"
	status=$?
	# Not by SIGINT, which the shell has what it runs in the background ignore.
	kill "$perf"
	wait "$perf"
	perf report -i /run/perf.data --stdio --sort dso,symbol --percent-limit 0.3 2>/dev/null |
		grep -v -e '^#' -e '^$' >"$LAB_OUT/$name.$round.profile"
	return "$status"
}

# measured CONTESTANT MEASURE SIZE COMMAND...: record the value that a command prints.
measured() {
	local contestant=$1 measure=$2 size=$3 before after value
	shift 3
	read -ra before < <(counters)
	value=$(profiled "$contestant.$measure.$size" "$@") || die "$contestant $measure $size failed"
	read -ra after < <(counters)
	record "$contestant" "$measure" "$size" "$value" \
		$((after[0] - before[0])) $((after[1] - before[1])) $((after[2] - before[2]))
}

# serve_guest CONTESTANT [COMMAND...]: at the address $server, until the command has run and the
# other guest has measured.
serve_guest() {
	local pid
	"$bench" --protocol "$(protocol "$1")" server "$server" >/run/server.log 2>&1 &
	pid=$!
	until_true 'the server listens' listens 5201 || die "$(</run/server.log)"
	lab-barrier serving && "${@:2}" && lab-barrier measured || exit
	kill "$pid"
	wait "$pid"
}

# has_links NUMBER: so many links are active.
has_links() { (($("$smc" link | grep -cw active) == $1)); }

# Each port is in the network of the bench, by its network device and by its RDMA device.
configure_ports() {
	local port
	for port in 0 1; do
		"$smc" pnet add BENCH dev "eth$port" && "$smc" pnet add BENCH ib "rxe$port" || return
	done
}

# order N CONTESTANT...: the contestants, another one first in each round.
order() {
	local first=$(($1 % ($# - 1)))
	shift
	echo "${@:first + 1}" "${@:1:first}"
}
