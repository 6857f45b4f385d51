#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tracepoints and messages of the kernel, in one guest with both ends of its connections. Events
# that the in-tree module has, too, have the same names and fields in either:
#
#   run_guest.sh -n 1 [--smc tree] + script tools/testing/selftests/smc/guest/trace.sh

# shellcheck source=script.sh
source "$LAB_REPO/tools/testing/selftests/smc/guest/script.sh"

tracing=/sys/kernel/tracing
events=$tracing/events/smc
guide=$LAB_REPO/Documentation/debugging.rst

# fields EVENT: its own ones, in their order, as TYPE NAME.
fields() {
	sed -nE '/common_/d; s/^\tfield:(.*);\toffset.*/\1/p' "$events/$1/format" | paste -sd,
}

# This module's links have one field more, which comes last.
formats() {
	local why=
	[[ $LAB_SMC != ours ]] || why=',__data_loc char[] why'
	[[ $(fields smc_switch_to_fallback) == \
		'const void * sk,const void * clcsk,u64 net_cookie,int fallback_rsn' ]] &&
	[[ $(fields smc_tx_sendmsg) == \
		'const void * smc,u64 net_cookie,size_t len,__data_loc char[] name' ]] &&
	[[ $(fields smc_rx_recvmsg) == "$(fields smc_tx_sendmsg)" ]] &&
	[[ $(fields smcr_link_down) == "const void * lnk,const void * lgr,u64 net_cookie,int state,\
__data_loc char[] name,void * location$why" ]]
}

# connection FAMILY [COMMAND...]: a client of AF_SMC and a server of FAMILY have a connection, over
# which 1000 bytes go. After COMMAND, if there is one, it breaks, else both ends close it.
connection() {
	echo >"$tracing/trace"
	python3 - "$LAB_IP4_0" "$@" <<-'END'
		import errno, socket, subprocess, sys
		AF_SMC = 43
		address, family, *command = sys.argv[1:]
		# Python knows no address of AF_SMC.
		def tcp_like(family):
		    made = socket.socket(family, socket.SOCK_STREAM)
		    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=made.detach())
		listener = tcp_like(int(family))
		listener.bind((address, 0))
		listener.listen()
		client = tcp_like(AF_SMC)
		client.connect(listener.getsockname())
		peer = listener.accept()[0]
		client.sendall(bytes(1000))
		assert len(peer.recv(1000, socket.MSG_WAITALL)) == 1000
		if command:
		    subprocess.run(command, check=True)
		    try:
		        peer.recv(1)
		        sys.exit("the connection has not broken")
		    except OSError as e:
		        assert e.errno == errno.ENETDOWN, e
		client.close()
		assert command or peer.recv(1) == b""
		peer.close()
	END
}

# Streams and groups may end a while after close().
traced() { await 60 grep -qE "$1" "$tracing/trace"; }
logged() { dmesg | grep -qE "] smc: $1"; }

data() {
	traced 'smc_tx_sendmsg: .* len=1000 dev='"$1" &&
		traced 'smc_rx_recvmsg: .* len=1000 dev='"$1" &&
		traced 'smc_handshake_start: .* role=client' &&
		traced 'smc_handshake_start: .* role=server' &&
		traced 'smc_handshake_end: .* role=client path='"$1"' err=0 reason=0' &&
		traced 'smc_handshake_end: .* role=server path='"$1"' err=0 reason=0'
}

close() {
	traced 'smc_publish: .* conn_flags=0x[1-9a-f]' &&
		traced 'smc_update: .* conn_flags=0x[1-9a-f]' &&
		traced 'smc_stream_state: .* path=up app=attached err=0' &&
		traced 'smc_stream_state: .* path=over app=(gone|orphan) err=0'
}

# As the guide has it.
fallback() {
	local trigger=$events/smc_switch_to_fallback/trigger
	local histogram=hist:keys=common_pid.execname,fallback_rsn status

	grep -qF "$histogram" "$guide" && echo "$histogram" >"$trigger" && connection 2 &&
		traced 'smc_switch_to_fallback: .* fallback_rsn=[1-9]' &&
		! grep -q 'smc_tx_sendmsg' "$tracing/trace" &&
		grep -qE 'fallback_rsn: +[1-9].* hitcount: +[1-9]' \
			"$events/smc_switch_to_fallback/hist"
	status=$?
	echo "!$histogram" >"$trigger"
	return "$status"
}

# Without a path both ends agree on TCP.
declined() {
	sysctl -q net.smc.smcd=0 && connection 43 && traced 'smc_clc: .* sent DECLINE len=' &&
		traced 'smc_clc: .* received DECLINE len=' &&
		traced 'smc_handshake_end: .* role=client path=none err=0 reason=0x[1-9a-f]' &&
		traced 'smc_handshake_end: .* role=server path=none err=0 reason=0x[1-9a-f]'
}

# A device of RDMA belongs to eth0, and packets to this guest take lo: one network has both.
by_rdma() {
	lab-rxe eth0 && "$smc" pnet add LOCAL dev lo && "$smc" pnet add LOCAL ib rxe0
}

first_contact() {
	local message state

	for message in PROPOSAL ACCEPT CONFIRM; do
		traced "smc_clc: .* sent $message len=" &&
			traced "smc_clc: .* received $message len=" || return
	done
	# INIT, RTR, RTS
	for state in 1 2 3; do
		traced "smcr_link_state: .* state=$state dev=rxe0" || return
	done
	traced 'smc_lgr_state: .* path=rdma state=new' &&
		traced 'smc_lgr_state: .* path=rdma state=active'
}

# By the device's removal: 100 is ENETDOWN, and 6 the queue pair's state ERR.
loss() {
	connection 43 rdma link delete rxe0 &&
		traced 'smcr_link_down: .* state=1 dev=rxe0 .* why=its device is removed$' &&
		traced 'smc_lgr_state: .* path=rdma state=dead .* err=100' &&
		traced 'smcr_link_state: .* state=6 dev=rxe0' &&
		traced 'smc_stream_state: .* path=lost app=attached'
}

messages() {
	logged 'rxe0: device added' && logged "rxe0: new link group with ::ffff:$LAB_IP4_0" &&
		logged "rxe0: lost link group with ::ffff:$LAB_IP4_0, 1 connections: -ENETDOWN: \
its device is removed" &&
		logged 'rxe0: device removed'
}

# The program in the guide: all that is between the quotes.
program() { sed -n "/bpftrace -e '/,/'\$/p" "$guide" | sed "s/.*bpftrace -e '//; s/'\$//"; }

run_program() {
	local out=$LAB_OUT/bpftrace tracer status

	: >"$out"
	# It says that it attaches its probes before it does.
	bpftrace -e "$(program) interval:s:1 { printf(\"attached\\n\"); }" >"$out" 2>&1 &
	tracer=$!
	await 120 grep -q attached "$out" && connection 43 && connection 2
	status=$?
	# A signal that comes before it handles signals is lost.
	while kill -INT "$tracer" 2>/dev/null; do
		sleep 1
	done
	wait "$tracer"
	((status == 0)) && grep -qE '^@usecs\[0, 1\]:' "$out" && grep -qE '^@usecs\[1, 1\]:' "$out" &&
		grep -qE '^@fallbacks\[.*, [1-9]' "$out"
}

lab-smc load || exit
echo 'KTAP version 1'
[[ $LAB_SMC == ours ]] && echo 1..10 || echo 1..1
formats
report 1 events and fields of the in-tree module
[[ $LAB_SMC == ours ]] || exit "$failed"
echo 1 >"$events/enable"
connection 43 && data ism
report 2 a handshake and data
close
report 3 the end of a stream
fallback
report 4 a fallback with its reason
run_program
report 5 the program of the guide, by bpftrace
declined
report 6 a handshake that ends with TCP
by_rdma && connection 43 && data rdma
report 7 a handshake and data by RDMA
first_contact
report 8 a link group and its link
loss
report 9 the loss of a link
messages
report 10 messages of the kernel
cp "$tracing/trace" "$LAB_OUT/"
echo 0 >"$events/enable"
exit "$failed"
