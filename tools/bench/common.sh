# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What both comparisons share, in a guest: contestants, one measurement, and the evidence of
# which way its bytes went. A contestant is tcp, unix, verbs, tree or ours. Results go to
# $LAB_OUT/results, a line of JSON for each measurement.

. "$LAB_DIR/guest/wait.sh"

smc=$LAB_REPO/build/tools/smc/smc
bench=$LAB_REPO/build/tools/bench/smc_bench
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

# counters: bytes sent and received by SMC-R and SMC-D in this guest.
counters() {
	[[ -d /sys/module/smc ]] || { echo 0 0; return; }
	"$smc" stats | awk '$1 ~ /^smc[rd]$/ && NF == 1 { path = $1 }
		$1 ~ /^[tr]x-bytes$/ { sum[path] += $2 }
		END { printf "%.0f %.0f\n", sum["smcr"], sum["smcd"] }'
}

# record CONTESTANT MEASURE SIZE VALUE SMCR-BYTES SMCD-BYTES
record() {
	printf '{"round":%d,"contestant":"%s","measure":"%s","size":%d,"value":%s,"smcr":%s,"smcd":%s}\n' \
		"$round" "$@" >>"$LAB_OUT/results"
	echo "round $round: $1 $2 $3: $4"
}

# measured CONTESTANT MEASURE SIZE COMMAND...: record the value that a command prints.
measured() {
	local contestant=$1 measure=$2 size=$3 before after value
	shift 3
	read -ra before < <(counters)
	value=$("$@") || die "$contestant $measure $size failed"
	read -ra after < <(counters)
	record "$contestant" "$measure" "$size" "$value" \
		$((after[0] - before[0])) $((after[1] - before[1]))
}

# order N CONTESTANT...: the contestants, another one first in each round.
order() {
	local first=$(($1 % ($# - 1)))
	shift
	echo "${@:first + 1}" "${@:1:first}"
}
