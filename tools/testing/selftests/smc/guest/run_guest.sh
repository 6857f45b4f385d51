#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs guest tests in the lab: boots guests, with this module loaded in all of them, runs
# test programs in guest 0 against smc_agent in the others, and sums up in the last line:
# N passed, N failed, N skipped.
#
#   run_guest.sh [--filter PATTERN] [-k KERNEL] [--smc WHICH] [--within host|netns]
#                [LAB OPTION VALUE...] [PROGRAM...] [+ ACT]...
#
# PROGRAM is smoke, transfer, ...: if none is given, all that are for two guests with this
# module. PATTERN selects tests as GoogleTest's --gtest_filter does. Programs and module must
# have been built; BUILD (default build/ of the repository) is where.
#
# --within puts both ends into one guest, where they talk by SMC-D: "host", in one network
# namespace; "netns", in two. Programs about RDMA are then not among those run by default.
#
# tenants_scale, which takes long, is among none of these, nor is links, which needs a LAN more
# ("--lans 3"): two for RDMA, and the last one, as always, for the control connections.
#
# The guests do each ACT after that, with the module loaded anew, as booting them takes long:
#   within host|netns PROGRAM...  in guest 0, as with --within
#   script FILE [ARGUMENT...]     the script in all guests; it loads the module itself
# "within host" is the last one, as it leaves no guest its own addresses.
# With an option -n for the lab there are no programs before the first ACT.

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../../../../..")
build=${BUILD:-$top/build}

filter='*' kernel=6.12 smc=ours within='' limit=3600 guests='' alone=0 out='' temporary=''
options=()
while [[ ${1:-} == -* ]]; do
	(($# > 1)) || { echo "run_guest.sh: $1 wants a value" >&2; exit 2; }
	case $1 in
	--filter) filter=$2 ;;
	-k) kernel=$2 ;;
	-n) guests=$2 alone=1 ;;
	--smc) smc=$2 ;;
	--within) within=$2 ;;
	-o) out=$2 ;;
	*) options+=("$1" "$2") ;;
	esac
	shift 2
done

# The checkers of that kernel take milliseconds of every packet, and hours of all tests.
if [[ $kernel == *debug* ]]; then
	options=(--mtu 9000 "${options[@]}")
	limit=14400
fi

# check_place PLACE
check_place() {
	[[ $1 == @(peer|host|netns) ]] && return
	echo "run_guest.sh: within '$1' is neither host nor netns" >&2
	exit 2
}

# add_programs PLACE NAME...: an act of these programs, or all that are for the place.
add_programs() {
	local place=$1 name program
	shift
	acts+=("$place")
	for name; do
		program=$build/selftests/${name%_test}_test
		[[ -x $program ]] || { echo "run_guest.sh: no $program: build it first" >&2; exit 2; }
		acts+=("$program")
	done
	(($#)) || for program in "$build"/selftests/*_test; do
		name=${program##*/}
		# shellcheck disable=SC2053
		[[ $name == ${skip[$place]} ]] || acts+=("$program")
	done
	acts+=(+)
}

# add_act WORD...: as they stand behind a "+".
add_act() {
	case ${1:-} in
	within)
		check_place "${2:-}"
		place=$2
		add_programs "${@:2}"
		;;
	script)
		[[ -f ${2:-} ]] || { echo "run_guest.sh: no script '${2:-}'" >&2; exit 2; }
		acts+=("$1" "$(realpath "$2")" "${@:3}" +)
		;;
	*) echo "run_guest.sh: '${1:-}' is neither within nor script" >&2; exit 2 ;;
	esac
}

rogues='rogue_@(collision|second_link|version_1)*'
declare -A skip=(
	[peer]='@(interop*|smcd|fault|fuzz|reuseport|differ|tenants|tenants_scale|links*)_test'
	[netns]="@(interop*|peers|pnet|rdma|$rogues|route|tenants_scale|links*)_test"
)
skip[host]=${skip[netns]}
place=${within:-peer}
check_place "$place"
[[ $guests ]] || { [[ $within ]] && guests=1 || guests=2; }

acts=() words=()
while (($#)) && [[ $1 != + ]]; do
	words+=("$1")
	shift
done
((alone)) || add_programs "$place" "${words[@]}"
while (($#)); do
	shift
	words=()
	while (($#)) && [[ $1 != + ]]; do
		words+=("$1")
		shift
	done
	[[ $place != host ]] || { echo 'run_guest.sh: an act after "within host"' >&2; exit 2; }
	add_act "${words[@]}"
done

# kernels: those of "6.12" or "0=6.12,1=6.1"
kernels() { tr , '\n' <<<"$kernel" | sed 's/^[0-9]*=//' | sort -u; }

log=$(mktemp) verdicts=$(mktemp)
[[ $out ]] || out=$(mktemp -d "$build/guests.XXXXXX") temporary=$out
trap 'rm -rf "$log" "$verdicts" "$temporary"' EXIT
# Runs side by side share this module.
mkdir -p "$build/selftests"
for name in $(kernels); do
	flock "$build/selftests" make -s -C "$here/../kmod" KVER="$name" O="$build/selftests" \
		>"$log" 2>&1 || { cat "$log"; exit 2; } >&2
done

# The last LAN is for the control connections.
O=$build "$top/tools/lab/lab" run -n "$guests" --lans 2 -o "$out" -t "$limit" \
	-k "$kernel" --smc "$smc" -e "LAB_FILTER=$filter" \
	-e "KBUILD_FLAGS=${KBUILD_FLAGS:-}" "${options[@]}" \
	"$here/guest_main.sh" "${acts[@]}" | tee "$log"
status=${PIPESTATUS[0]}

count() { grep -acE "^\[g0\] +$1" "$log"; }
skipped=$(count 'ok [0-9]+ .* # SKIP')
passed=$(($(count 'ok [0-9]') - skipped))
failed=$(count 'not ok [0-9]')
# A program that ended early has not reported all that it planned.
planned=$(sed -nE 's/^\[g0\] +1\.\.([0-9]+)$/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
missing=$((planned - passed - failed - skipped))
failed=$((failed + (missing > 0 ? missing : 0)))
# The tests' captures are judged when no guest needs the processors any more.
captures=$out/g0/out/captures
[[ ! -d $captures ]] || "$here/check_captures" "$captures" | tee "$verdicts"
taken=$(count 'ok [0-9]+ CaptureOf[^#]* # [0-9]')
good=$(grep -c '^ok capture' "$verdicts")
bad=$(grep -c '^not ok capture' "$verdicts")
missing=$((taken - good - bad))
passed=$((passed + good)) failed=$((failed + bad + (missing > 0 ? missing : 0)))
# The kernel complained outside of any test, or the lab failed.
((status == 0 || failed > 0)) || failed=1
((passed + failed > 0)) || failed=1
# The files that the guests have left tell why a test failed.
((failed == 0)) || temporary=''
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
