#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs guest tests in the lab: boots guests, with this module loaded in all of them, runs
# test programs in guest 0 against smc_agent in the others, and sums up in the last line:
# N passed, N failed, N skipped.
#
#   run_guest.sh [--filter PATTERN] [-k KERNEL] [--smc WHICH] [--within host|netns]
#                [LAB OPTION VALUE...] [PROGRAM...]
#
# PROGRAM is smoke, transfer, ...: if none is given, all that are for two guests with this
# module. PATTERN selects tests as GoogleTest's --gtest_filter does. Programs and module must
# have been built; BUILD (default build/ of the repository) is where.
#
# --within puts both ends into one guest, where they talk by SMC-D: "host", in one network
# namespace; "netns", in two. Programs about RDMA are then not among those run by default.

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../../../../..")
build=${BUILD:-$top/build}

filter='*' kernel=6.12 smc=ours within='' limit=3600
options=()
while [[ ${1:-} == -* ]]; do
	(($# > 1)) || { echo "run_guest.sh: $1 wants a value" >&2; exit 2; }
	case $1 in
	--filter) filter=$2 ;;
	-k) kernel=$2 ;;
	--smc) smc=$2 ;;
	--within) within=$2 ;;
	*) options+=("$1" "$2") ;;
	esac
	shift 2
done

# The checkers of that kernel take milliseconds of every packet, and hours of all tests.
if [[ $kernel == debug ]]; then
	options=(--mtu 9000 "${options[@]}")
	limit=14400
fi

case $within in
'') guests=2 skip='@(interop*|smcd|fault)_test' ;;
host | netns)
	guests=1
	skip='!(smoke|api|transfer|many|cgroup|fallback|life|hostile|choice|capture|smcd|fault)_test'
	;;
*) echo "run_guest.sh: --within $within is neither host nor netns" >&2; exit 2 ;;
esac

programs=()
for name in "$@"; do
	program=$build/selftests/${name%_test}_test
	[[ -x $program ]] || { echo "run_guest.sh: no $program: build it first" >&2; exit 2; }
	programs+=("$program")
done
if ((!$#)); then
	for program in "$build"/selftests/*_test; do
		# shellcheck disable=SC2053
		[[ ${program##*/} == $skip ]] || programs+=("$program")
	done
fi

# kernels: those of "6.12" or "0=6.12,1=6.1"
kernels() { tr , '\n' <<<"$kernel" | sed 's/^[0-9]*=//' | sort -u; }

for name in $(kernels); do
	make -s -C "$here/../kmod" KVER="$name" O="$build/selftests" >"$build/kmod.log" 2>&1 ||
		{ cat "$build/kmod.log"; exit 2; } >&2
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# LAN 1 is for the control connections.
"$top/tools/lab/lab" run -n "$guests" --lans 2 -t "$limit" -k "$kernel" --smc "$smc" \
	-e "LAB_FILTER=$filter" -e "LAB_WITHIN=$within" "${options[@]}" "$here/guest_main.sh" "${programs[@]}" |
	tee "$log"
status=${PIPESTATUS[0]}

count() { grep -cE "^\[g0\] +$1" "$log"; }
skipped=$(count 'ok [0-9]+ .* # SKIP')
passed=$(($(count 'ok [0-9]') - skipped))
failed=$(count 'not ok [0-9]')
# A program that ended early has not reported all that it planned.
planned=$(sed -nE 's/^\[g0\] +1\.\.([0-9]+)$/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
missing=$((planned - passed - failed - skipped))
failed=$((failed + (missing > 0 ? missing : 0)))
# The kernel complained outside of any test, or the lab failed.
((status == 0 || failed > 0)) || failed=1
((passed + failed > 0)) || failed=1
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
