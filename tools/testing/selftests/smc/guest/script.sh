# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# For scripts that the lab runs as tests: the tools, reports in KTAP, and what is asked of a
# transfer. They source it, and end with "exit $failed".

smc=${SMC:-$LAB_BUILD/tools/smc/smc}
smc_run=${SMC_RUN:-$LAB_BUILD/tools/smc_run/smc_run}
failed=0

# report NUMBER NAME...: of the test whose last command has just ended.
report() {
	local status=$? number=$1
	shift
	((status == 0)) && echo "ok $number $*" && return
	echo "not ok $number $*"
	failed=1
}

# await SECONDS COMMAND...: until the command succeeds.
await() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.2
	done
}

# Bytes that left by RDMA.
written() { sed -n 's/^rdma_write_bytes //p' /proc/net/smc_stat; }

# Whether iperf3 listens; the in-tree module does not show its sockets to ss.
listens() { [[ $(ss -Hltn 'sport = :5201') || $("$smc" sock) == *:5201* ]]; }
