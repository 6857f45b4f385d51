#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The peer's host loses power in the middle of a transfer: the program here gets an error,
# the link group goes, and the module can be unloaded. Run in two guests:
#
#   tools/lab/lab run -n 2 [--smc 1=tree] tools/testing/selftests/smc/guest/life_vanish.sh

# shellcheck source=script.sh
source "$LAB_REPO/tools/testing/selftests/smc/guest/script.sh"

flows() { (($(written) > 5000000)); }
ended() { ! kill -0 "$client" 2>/dev/null; }
no_groups() { [[ $("$smc" -j group) == '[]' ]]; }
unloaded() { lab-smc unload 2>/dev/null; }

lab-smc load && lab-rxe eth0 || exit
"$smc" eid add VANISH || exit
[[ $LAB_SMC != tree ]] ||
	{ "$smc" pnet add NET1 dev eth0 && "$smc" pnet add NET1 ib rxe0; } || exit

if ((LAB_NODE == 1)); then
	"$smc_run" iperf3 -s &
	await 60 listens || exit
	lab-barrier listens
	lab-barrier flows
	lab-vanish
fi

echo 'KTAP version 1'
echo 1..4
lab-barrier listens || exit
"$smc_run" iperf3 -c "$LAB_IP4_1" -t 600 >"$LAB_OUT/iperf3" 2>&1 &
client=$!
await 120 flows
report 1 data goes by RDMA
lab-barrier flows || exit
await 120 ended && ! wait "$client"
report 2 the sender gets an error
await 120 no_groups
report 3 the link group is gone
await 60 unloaded
report 4 the module can be unloaded
exit "$failed"
