#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# smc_run(8) with a program that knows TCP only, and what smc(8) shows of its
# connection: tools/lab/lab run -n 2 tools/smc_run/test.sh
#
# With the argument 4 for IPv4 only, for the in-tree module, which knows SMC-R version 2
# over IPv4 only: tools/lab/lab run -n 2 --smc 1=tree tools/smc_run/test.sh 4
#
# In one guest, the other end is in a network namespace there, and SMC-D leads to it; also
# with the sysctl tcp2smc instead of smc_run(8): tools/lab/lab run tools/smc_run/test.sh

smc=$LAB_BUILD/tools/smc/smc
smc_run=$LAB_BUILD/tools/smc_run/smc_run
port=7100
failures=0
by=("$smc_run")

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

# To be in step with the other end without any timing, each holds its end open at
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

# barrier NAME
barrier() {
	local fifo=/run/$1.$port
	((LAB_NODES == 1)) || { lab-barrier "$1"; return; }
	mkfifo "$fifo" 2>/dev/null
	# The open of one end waits for the open of the other.
	if ((LAB_NODE == 1)); then : <"$fifo"; else : >"$fifo"; fi
}

# run PROGRAM ADDRESS FAMILY: as a coprocess with SMC.
run() { coproc PROGRAM { exec "${by[@]}" python3 -c "$1" "$2" "$port" "$3"; }; }

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

# one FAMILY ADDRESS-OF-NODE-1
one() {
	if ((LAB_NODE == 1)); then
		run "$server" "$2" "$1"
		expect ready
		barrier listening
		expect 'served 100000'
	else
		barrier listening
		run "$client" "$2" "$1"
		expect same
	fi
	json "[s.get('group', {}).get('role') for s in it if s.get('mode') == '$path' and s['state'] == 'established'
		and ('[$2]:$port' if $1 == 10 else '$2:$port') in (s['local'], s['peer'])
		and s['connection']['rmbe'] >= 16384 and s['connection']['peer-rmbe'] >= 16384] ==
		[$shown_role]" sock
	json "[(g['path'], g.get('role'), g['conns'], g['v2']['peer-host'], g['v2']['eid'])
		for g in it if g['conns']] ==
		[('$path', $shown_role, 1, '$peer', 'SMC-RUN.TEST')]" group
	[[ $path == SMC-D ]] ||
		json "[(l['device'], l['port'], l['netdev'], l['state']) for l in it if l['conns']] ==
			[('rxe0', 1, 'eth0', 'active')]" link
	for object in sock group link; do "$smc" $object; done
	barrier shown
	end
	port=$((port + 1))
}

# stats KEY: of connections that each moved 100000 bytes either way.
stats() {
	local connections=$((port - 7100))
	json "it['$1']['$role-v2'] == $connections and it['$1']['tx-bytes'] ==
		it['$1']['rx-bytes'] == $connections * 100000" stats
}

# The node of the other end, in a network namespace.
other_end() {
	ip netns add other &&
		ip link add veth0 type veth peer name veth0 netns other &&
		ip addr add 10.84.0.1/24 dev veth0 &&
		ip addr add fd84::1/64 dev veth0 nodad &&
		ip link set veth0 up &&
		ip -n other addr add 10.84.0.2/24 dev veth0 &&
		ip -n other addr add fd84::2/64 dev veth0 nodad &&
		ip -n other link set veth0 up || return
	LAB_NODE=1 ip netns exec other /bin/bash "$0" &
	other=$!
}

# within: all of this node, with SMC-D.
within() {
	local node
	one 2 10.84.0.2
	one 10 fd84::2
	for node in 0 1; do
		if ((LAB_NODE == node)); then
			echo 1 >/proc/sys/net/smc/tcp2smc
			by=()
		fi
		one 2 10.84.0.2
	done
	one 10 fd84::2
	stats smcd
}

((LAB_NODE)) && role=server || role=client
if ((LAB_NODES == 1)); then
	# Nothing tells the roles of SMC-D's ends.
	path=SMC-D peer=$(hostname) shown_role=None
	if ((LAB_NODE == 0)); then
		lab-smc load && "$smc" eid add SMC-RUN.TEST && other_end || exit
	fi
	within
	if ((LAB_NODE == 0)); then
		wait "$other" || failures=$((failures + 1))
	fi
	echo "smc_run(8) as $role: $failures failures"
	exit $((failures != 0))
fi

path=SMC-R peer=g$((1 - LAB_NODE)) shown_role="'$role'"
lab-rxe eth0 && lab-smc load || exit
"$smc" eid add SMC-RUN.TEST && "$smc" pnet add NET1 dev eth0 ib rxe0 || exit

one 2 "$LAB_IP4_1"
[[ ${1:-} == 4 ]] || one 10 "$LAB_IP6_1"

json "[(d['name'], d['port1']['netdev'], d['port1']['pnetid'], d['port1']['active'])
	for d in it if d['path'] == 'SMC-R'] == [('rxe0', 'eth0', 'NET1', True)]" dev
[[ $LAB_SMC != ours ]] || json "[d['pci-id'] for d in it if d['path'] == 'SMC-D'] == ['loopback']" dev
stats smcr
"$smc" dev

# Without AF_SMC sockets, the program gets TCP sockets.
lab-barrier "done"
lab-smc unload || failures=$((failures + 1))
mkdir -p /run/modprobe.d
echo 'install smc /bin/false' >/run/modprobe.d/no-smc.conf
"$smc_run" python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
c.sendall(b"x")
assert s.accept()[0].recv(1) == b"x"' || failures=$((failures + 1))
# The kernel is asked for the family once, or twice where IPv6 might be what it lacks.
strace -f -e trace=socket -o /run/sockets "$smc_run" python3 -c '
import socket
for _ in range(9):
    socket.socket(socket.AF_INET6)' || failures=$((failures + 1))
asked=$(grep -c 'AF_SMC' /run/sockets)
((asked == 2)) || { echo "not ok: asked for AF_SMC $asked times"; failures=$((failures + 1)); }
# Making a socket does not eat what the program has not asked dlerror() for.
"$smc_run" python3 -c '
import ctypes, socket
libc = ctypes.CDLL(None)
dlopen, dlerror = libc.dlopen, libc.dlerror
dlerror.restype = ctypes.c_char_p
assert not dlopen(b"/no/such/library", 2)
socket.socket()
assert b"/no/such/library" in (dlerror() or b"")' || failures=$((failures + 1))
"$smc_run" 2>/dev/null
(($? == 2)) || failures=$((failures + 1))
"$smc_run" sh -c 'exit 5' 2>/dev/null
(($? == 5)) || failures=$((failures + 1))

echo "smc_run(8): $failures failures"
exit $((failures != 0))
