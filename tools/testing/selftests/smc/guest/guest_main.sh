#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What run_guest.sh runs in every guest: guest_main.sh PROGRAM...

# Where the programs come from the tests find more of what was built.
export LAB_BUILD=${1%/selftests/*}

lab-smc load || exit
lab-rxe eth0 || exit

if ((LAB_NODE > 0)); then
	"${1%/*}/smc_agent" &
	agent=$!
	# It answers before the barrier, so the tests need not wait for it.
	until [[ $(ss -Hltn 'sport = :8484') ]]; do
		kill -0 "$agent" || exit
		sleep 0.1
	done
	lab-barrier begin && lab-barrier end
	kill "$agent"
	exit 0
fi

lab-barrier begin || exit
failed=0
for program; do
	echo "# ${program##*/}"
	"$program" --filter="$LAB_FILTER" || failed=1
done
lab-barrier end || exit
exit "$failed"
