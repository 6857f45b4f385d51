#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# smc(8) against whichever smc module the guest has:
# tools/lab/lab run [--smc tree] tools/smc/test.sh

smc=${SMC:-$LAB_BUILD/tools/smc/smc}
failures=0

fail() {
	echo "not ok: $*"
	failures=$((failures + 1))
}

# refused STATUS TEXT COMMAND...: it exits with STATUS and says TEXT.
refused() {
	local status=$1 text=$2 out
	shift 2
	out=$("$smc" "$@" 2>&1)
	(($? == status)) || fail "smc $*: status is not $status: $out"
	[[ $out == *$text* ]] || fail "smc $*: '$out' does not say '$text'"
}

# shows TEXT COMMAND...: it succeeds and prints exactly TEXT.
shows() {
	local text=$1 out
	shift
	out=$("$smc" "$@" 2>&1) || fail "smc $*: $out"
	[[ $out == "$text" ]] || fail "smc $*: '$out' instead of '$text'"
}

# json EXPRESSION COMMAND...: true of what it prints with -j, as "it".
json() {
	local expression=$1 out
	shift
	out=$("$smc" -j "$@" 2>&1) || fail "smc -j $*: $out"
	python3 -c "
import json, sys
it = json.loads(sys.argv[1])
sys.exit(not ($expression))" "$out" || fail "smc -j $*: not $expression: $out"
}

done_by() { "$smc" "$@" || fail "smc $*"; }

# The kernel would load the module by itself.
mkdir -p /run/modprobe.d
echo 'install smc /bin/false' >/run/modprobe.d/no-smc.conf
refused 3 'is the smc module loaded?' eid
refused 3 'is the smc module loaded?' pnet
refused 3 'is the smc module loaded?' sock
rm /run/modprobe.d/no-smc.conf
lab-smc load || exit

# The in-tree module has fewer words for what is too long.
long_eid='at most 32' long_pnetid='1 to 16 letters'
[[ $LAB_SMC == ours ]] || long_eid='out of range' long_pnetid='Invalid argument'

refused 2 'subcommand'
refused 2 'EID is required' eid add
refused 2 "smc: there is no command 'nonsense'" nonsense
refused 2 "smc: unknown option '--nonsense'" --nonsense
refused 2 'nonsense' eid nonsense
for option in --help --version; do
	"$smc" "$option" >/dev/null || fail "smc $option: status $?"
	! "$smc" "$option" >/dev/full 2>&1 || fail "smc $option: success on a full device"
done
[[ $LAB_SMC != ours || $("$smc" --version) == "smc $(</sys/module/smc/version)" ]] ||
	fail "smc --version is not the module's"

shows '' eid
done_by eid add FIRST
done_by eid add SECOND.LAN-1
shows $'FIRST\nSECOND.LAN-1' eid
json 'it == [{"eid": "FIRST"}, {"eid": "SECOND.LAN-1"}]' eid show
refused 1 'File exists' eid add FIRST
refused 1 'Invalid argument' eid add lower
refused 1 "$long_eid" eid add 123456789012345678901234567890123
done_by eid add THIRD
done_by eid add 12345678901234567890123456789012
refused 1 'out of range' eid add FIFTH
done_by eid del FIRST
refused 1 'such' eid del FIRST
shows $'SECOND.LAN-1\nTHIRD\n12345678901234567890123456789012' eid
done_by eid flush
shows '' eid

shows '' pnet
done_by pnet add NET1 dev eth0
done_by pnet add NET2 ib rxe7 port 2
done_by pnet add NET3 dev later0 ib rxe8
json 'it == [
	{"pnetid": "NET1", "dev": "eth0"}, {"pnetid": "NET2", "ib": "rxe7", "port": 2},
	{"pnetid": "NET3", "dev": "later0"}, {"pnetid": "NET3", "ib": "rxe8", "port": 1}]' pnet
refused 1 'File exists' pnet add NET9 dev eth0
refused 1 'Invalid argument' pnet add NET-9 dev lo
refused 1 "$long_pnetid" pnet add 12345678901234567 dev lo
refused 1 'Invalid argument' pnet add NET9 ib rxe9 port 3
refused 2 'port' pnet add NET9 ib rxe9 port x
refused 2 'port without ib' pnet add NET9 dev lo port 1
refused 2 'missing' pnet add NET9 dev
refused 2 'twice' pnet add NET9 dev lo dev lo
refused 2 'want dev' pnet add NET9 nonsense lo
done_by pnet del NET3
refused 1 '' pnet del NET3
done_by pnet flush
shows '' pnet

json 'it == {"enabled": False}' limit
done_by limit on
json 'it == {"enabled": True}' limit
done_by limit off
json 'it == {"enabled": False}' limit
refused 1 'not supported' seid on

json "it['version'] == 2 and it['release'] == 1 and it['host'] == '$(hostname)'" info
json 'it == []' group
json 'it == []' link
[[ $LAB_SMC != ours || $("$smc" dev) == *$'\nSMC-D  loopback '* ]] || fail 'name of the SMC-D device'
json 'it["smcr"]["client-v2"] == 0 and "1M" in it["smcd"]["tx-sizes"]' stats
[[ $LAB_SMC != ours ]] || json 'set(it["links"]) == {"added", "lost", "stalled", "conns-moved",
	"repeated-writes", "repeated-bytes", "groups-lost"} and not any(it["links"].values())' stats
json 'it == []' sock
[[ $LAB_SMC != ours ]] || { shows '' blackhole; json 'it == []' blackhole show; done_by blackhole flush; }

# A TCP server knows no SMC: the connection falls back and says so.
coproc python3 -u -c '
import socket, struct, sys, ctypes
server = socket.create_server(("127.0.0.1", 0))
client = socket.socket(43, socket.SOCK_STREAM, 0)
address = struct.pack("=H", 2) + struct.pack("!H4s8x", server.getsockname()[1], b"\x7f\0\0\1")
libc = ctypes.CDLL(None, use_errno=True)
print(libc.connect(client.fileno(), address, len(address)), server.getsockname()[1])
sys.stdin.read()'
read -r status port <&"${COPROC[0]}"
((status == 0)) || fail 'no connection to a TCP server'
json "[(s['mode'], s['peer'], s['fallback']['code']) for s in it] == [
	('TCP', '127.0.0.1:$port', '0x03010000')]" sock
json 'it["client-total"] == 1 and it["reasons"] == [{"role": "client",
	"code": "0x03010000", "reason": "the peer does not offer SMC", "count": 1}]' fallbacks
"$smc" sock
"$smc" fallbacks
# shellcheck disable=SC1083,SC2093
exec {COPROC[1]}>&-
wait

# A network namespace has a PNET table of its own, and the host's EIDs.
done_by eid add HOST.WIDE
ip netns add other
ip netns exec other ip link add inner0 type dummy
within() { ip netns exec other "$smc" -j "$@" | tr -d ' \n'; }
within pnet add INNER dev inner0
[[ $(within pnet) == '[{"pnetid":"INNER","dev":"inner0"}]' ]] || fail 'pnet of a namespace'
[[ $(within eid) == '[{"eid":"HOST.WIDE"}]' ]] || fail 'eid of a namespace'
! ip netns exec other "$smc" pnet add INNER ib rxe0 2>/dev/null ||
	fail 'an RDMA port in a namespace'
shows '' pnet
ip netns del other
done_by eid flush

# Looking is for everybody, changing is not.
user() { setpriv --reuid 65534 --clear-groups "$smc" "$@" 2>&1; }
user eid >/dev/null || fail 'eid for users'
[[ $(user eid add MINE) == *'not permitted' ]] || fail 'eid add by a user'
[[ $(user pnet flush) == *'not permitted' ]] || fail 'pnet flush by a user'
shows '' eid

# Entries follow a network device under its names.
ip link add early0 type dummy
done_by pnet add NET4 dev early0
if [[ $LAB_SMC == ours ]]; then
	ip link set early0 name late0
	json 'it == [{"pnetid": "NET4", "dev": "late0"}]' pnet
	ip link del late0
	ip link add late0 type dummy
	refused 1 'has a PNET ID already' pnet add NET5 dev late0
fi

# The bounds of the sysctls: each line is a name, its default, values taken and refused.
while [[ $LAB_SMC == ours ]] && read -r name default taken refused; do
	file=/proc/sys/net/smc/$name
	[[ $(<"$file") == "$default" ]] || fail "$name: default is not $default"
	for value in ${taken//,/ }; do
		echo "$value" >"$file" && [[ $(<"$file") == "$value" ]] || fail "$name=$value"
	done
	for value in ${refused//,/ }; do
		! echo "$value" 2>/dev/null >"$file" || fail "$name=$value was taken"
	done
	echo "$default" >"$file"
	[[ $(unshare -n cat "$file") == "$default" ]] || fail "$name in a new namespace"
done <<-END
	wmem 131072 16384,1073741823 16383,1073741824,-1
	rmem 131072 16384,1073741823 16383,1073741824,-1
	smcd 1 0,1 2,-1
	smcd_rmem 262144 16384,1073741823 16383,1073741824,-1
	spin_usec 400 0,1000 1001,-1
	autocorking_size 65536 0,4294967295 -1
	smcr_buf_type 0 1,2 3,-1
	smcr_testlink_time 30 0,3600 -1,999999999999
	smcr_max_conns_per_lgr 255 16,255 15,256
	smcr_max_links_per_lgr 2 1,2 0,3
	smcr_max_links_foreign 1 1,2 0,3
	smcr_tos 0 104,255 -1,256
	limit_smc_hs 0 1,0 2,-1
	tcp_keepalive_time 30 0,1,7200 -1,999999999999
	blackhole_timeout 3600 0,1,86400 -1,999999999999
	tcp2smc 0 1,0,1 2,-1
END
# Sysctls whose defaults depend on the host, or that no other namespace has: a name, what a new
# namespace has of it, values taken and refused.
while [[ $LAB_SMC == ours ]] && read -r name elsewhere taken refused; do
	file=/proc/sys/net/smc/$name
	default=$(<"$file")
	((default > 0)) || fail "$name: default is $default"
	for value in ${taken//,/ }; do
		echo "$value" >"$file" && [[ $(<"$file") == "$value" ]] || fail "$name=$value"
	done
	echo "$default" >"$file"
	for value in ${refused//,/ }; do
		! echo "$value" 2>/dev/null >"$file" || fail "$name=$value was taken"
	done
	[[ $(<"$file") == "$default" ]] || fail "$name: changed by what is refused"
	there=$(unshare -n sh -c "cat $file 2>/dev/null || echo none")
	[[ $there == "${elsewhere/same/$default}" ]] || fail "$name in a new namespace: $there"
done <<-END
	max_orphans none 0,4294967295 -1,4294967296
	mem_limit same 0,1,2147483647 -1,2147483648
	host_mem_limit none 0,1,2147483647 -1,2147483648
	smcd_scope none 0,1,2,3 -1,4
END
# Both limits of memory begin with a quarter of it, which MemTotal has in KiB.
if [[ $LAB_SMC == ours ]]; then
	total=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
	for name in mem_limit host_mem_limit; do
		bytes=$(($(</proc/sys/net/smc/$name) * $(getconf PAGESIZE)))
		((bytes / 1024 * 100 / total == 24 || bytes / 1024 * 100 / total == 25)) ||
			fail "$name: $bytes bytes of $total KiB"
	done
fi

# The probe of tcp2smc comes when a namespace first wants it, and goes with the module.
probes() { grep -c tcp_init_sock /sys/kernel/debug/kprobes/list; }
if [[ $LAB_SMC == ours ]]; then
	tcp2smc=/proc/sys/net/smc/tcp2smc
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	lab-smc unload && lab-smc load || fail 'unload and load'
	[[ $(probes) == 0 ]] || fail 'a probe that nobody wants'
	unshare -n sh -c "echo 1 >$tcp2smc"
	[[ $(probes) == 1 ]] || fail 'no probe for a namespace'
	echo 1 >"$tcp2smc"
	echo 0 >"$tcp2smc"
	[[ $(probes) == 1 ]] || fail 'a probe that users move'
	# It is not said to be on while probes do nothing.
	for switch in /proc/sys/kernel/ftrace_enabled /sys/kernel/debug/kprobes/enabled; do
		echo 0 >"$switch"
		! echo 1 2>/dev/null >"$tcp2smc" || fail "tcp2smc though $switch is 0"
		[[ $(<"$tcp2smc") == 0 ]] || fail "tcp2smc is 1 though $switch is 0"
		echo 1 >"$switch"
		echo 1 >"$tcp2smc" || fail "no tcp2smc though $switch is 1"
		echo 0 >"$tcp2smc"
	done
	echo 1 >"$tcp2smc"
	lab-smc unload || fail 'unload with tcp2smc on'
	[[ $(probes) == 0 ]] || fail 'a probe without a module'
fi

echo "smc(8): $failures failures"
exit $((failures != 0))
