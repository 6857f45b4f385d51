#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# smc_run(8) with a program that knows TCP only, and what smc(8) shows of its
# connection: tools/lab/lab run -n 2 tools/smc_run/test.sh
#
# With the argument 4 for IPv4 only, for the mainline module, which knows SMC-R version 2
# over IPv4 only: tools/lab/lab run -n 2 --smc 1=tree tools/smc_run/test.sh 4

smc=$LAB_REPO/build/tools/smc/smc
smc_run=$LAB_REPO/build/tools/smc_run/smc_run
port=7100
failures=0

# json EXPRESSION COMMAND...: true of what smc prints with -j, as "it".
json() {
	local expression=$1 out
	shift
	out=$("$smc" -j "$@" 2>&1) && python3 -c "
import json, sys
it = json.loads(sys.argv[1])
sys.exit(not ($expression))" "$out" && return
	echo "not ok: smc -j $*: not $expression: $out"
	failures=$((failures + 1))
}

# To be in step with the other guest without any timing, each holds its end open at
# a barrier: the program reads a byte from stdin.
server='
import socket, sys
s = socket.create_server((sys.argv[1], int(sys.argv[2])), family=int(sys.argv[3]))
print("ready", flush=True)
c = s.accept()[0]
data = c.recv(100000, socket.MSG_WAITALL)
c.sendall(data)
print("served", len(data), flush=True)
sys.stdin.read(1)'
client='
import socket, sys
c = socket.socket(int(sys.argv[3]), socket.SOCK_STREAM)
c.connect((sys.argv[1], int(sys.argv[2])))
data = bytes(range(250)) * 400
c.sendall(data)
print("same" if c.recv(100000, socket.MSG_WAITALL) == data else "different", flush=True)
sys.stdin.read(1)'

# run PROGRAM ADDRESS FAMILY: as a coprocess under smc_run.
run() { coproc PROGRAM { exec "$smc_run" python3 -c "$1" "$2" "$port" "$3"; }; }

# expect LINE: the program's next line.
expect() {
	local line
	read -r line <&"${PROGRAM[0]}"
	[[ $line == "$1" ]] && return
	echo "not ok: the program says '$line' instead of '$1'"
	failures=$((failures + 1))
}

end() {
	local pid=$PROGRAM_PID
	echo >&"${PROGRAM[1]}"
	wait "$pid" || failures=$((failures + 1))
}

# one FAMILY ADDRESS-OF-GUEST-1
one() {
	if ((LAB_NODE == 1)); then
		run "$server" "$2" "$1"
		expect ready
		lab-barrier listening
		expect 'served 100000'
	else
		lab-barrier listening
		run "$client" "$2" "$1"
		expect same
	fi
	json "[s['group']['role'] for s in it if s['mode'] == 'SMC-R' and s['state'] == 'established'
		and ('[$2]:$port' if $1 == 10 else '$2:$port') in (s['local'], s['peer'])
		and s['connection']['rmbe'] >= 16384 and s['connection']['peer-rmbe'] >= 16384] ==
		['$role']" sock
	json "[(g['path'], g['role'], g['conns'], g['v2']['peer-host'], g['v2']['eid'])
		for g in it if g['conns']] ==
		[('SMC-R', '$role', 1, 'g$((1 - LAB_NODE))', 'SMC-RUN.TEST')]" group
	json "[(l['device'], l['port'], l['netdev'], l['state']) for l in it if l['conns']] ==
		[('rxe0', 1, 'eth0', 'active')]" link
	for object in sock group link; do "$smc" $object; done
	lab-barrier shown
	end
	port=$((port + 1))
}

((LAB_NODE)) && role=server || role=client
lab-rxe && lab-smc load || exit
"$smc" eid add SMC-RUN.TEST && "$smc" pnet add NET1 dev eth0 ib rxe0 || exit

one 2 "$LAB_IP4_1"
[[ ${1:-} == 4 ]] || one 10 "$LAB_IP6_1"

json "[(d['name'], d['port1']['netdev'], d['port1']['pnetid'], d['port1']['active'])
	for d in it if d['path'] == 'SMC-R'] == [('rxe0', 'eth0', 'NET1', True)]" dev
json "[d['pci-id'] for d in it if d['path'] == 'SMC-D'] == ['loopback']" dev
connections=$((port - 7100))
json "it['smcr']['$role-v2'] == $connections and it['smcr']['tx-bytes'] ==
	it['smcr']['rx-bytes'] == $connections * 100000" stats
"$smc" dev

# Where there are no AF_SMC sockets, the program has TCP's.
lab-barrier done
lab-smc unload || failures=$((failures + 1))
mkdir -p /run/modprobe.d
echo 'install smc /bin/false' >/run/modprobe.d/no-smc.conf
"$smc_run" python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
c.sendall(b"x")
assert s.accept()[0].recv(1) == b"x"' || failures=$((failures + 1))
"$smc_run" 2>/dev/null
(($? == 2)) || failures=$((failures + 1))
"$smc_run" sh -c 'exit 5' 2>/dev/null
(($? == 5)) || failures=$((failures + 1))

echo "smc_run(8): $failures failures"
exit $((failures != 0))
