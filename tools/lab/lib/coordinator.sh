# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Starts the guests and leads them through a run: a loop over events, lines
# "GUEST VERB ARGUMENTS" written by the guests' agents (guest/agent) and, when a
# QEMU has ended ("GUEST gone STATUS"), by the process that waited for it.

LAB_GRACE_S=60     # for the others to end once a guest has failed
LAB_DUMP_S=60      # for a hung guest to show its state
LAB_COLLECT_S=600  # for the last look, with kmemleak's two scans
LAB_NMI_S=15       # for the panic that an NMI provokes
LAB_STOP_S=10      # for QEMU to end on SIGTERM

declare -a GUESTS=()    # process that runs each guest
declare -a STATE=()     # of each guest: run, ended, dumped, collected, vanished, gone
declare -a CONTROL=() CONSOLE=() MONITOR=() # descriptors of each guest's inputs
declare -A BARRIER=()   # guests waiting at each barrier: "0 2"
declare -a FAILURES=()
DEADLINE=0 EVENTS=0 CLOCK=0

coordinator_fail() {
	FAILURES+=("$*")
	say "$*"
	((!DEADLINE || DEADLINE <= SECONDS + LAB_GRACE_S)) || DEADLINE=$((SECONDS + LAB_GRACE_S))
}

# coordinator_tell GUEST LINE
coordinator_tell() { printf '%s\n' "$2" >&"${CONTROL[$1]}"; }

coordinator_start() {
	local guest io
	mkfifo "$RUN/io/events"
	exec {EVENTS}<>"$RUN/io/events"
	coordinator_clock &
	CLOCK=$!
	for ((guest = 0; guest < LAB_NODES; guest++)); do
		io=$RUN/io/g$guest
		exec {CONTROL[guest]}<>"$io/ctl.in" {CONSOLE[guest]}<>"$io/console.in" \
			{MONITOR[guest]}<>"$io/monitor.in"
		STATE[guest]=run
		coordinator_guest "$guest" &
		GUESTS[guest]=$!
	done
}

# The clock of the event loop. (A "read -t" could time out in the middle of a
# line, and lose it.)
coordinator_clock() {
	while sleep 1; do
		echo '- tick' >&"$EVENTS"
	done
}

# coordinator_guest GUEST: run its QEMU and the readers of its channels. The
# descriptors held here keep the readers from an end of file before QEMU has
# opened the other end, or for ever if it never does. Console and monitor have
# log files; their channels are only kept from filling up.
coordinator_guest() {
	local guest=$1 io=$RUN/io/g$1 status ctl out console monitor readers
	exec {ctl}<>"$io/ctl.out" {out}<>"$io/out.out" \
		{console}<>"$io/console.out" {monitor}<>"$io/monitor.out"
	: >"$RUN/g$guest/console.log"
	coordinator_readers "$guest" {ctl}>&- {out}>&- {console}>&- {monitor}>&- &
	readers=$!
	coordinator_qemu "$guest" {ctl}>&- {out}>&- {console}>&- {monitor}>&-
	status=$?
	exec {ctl}>&- {out}>&- {console}>&- {monitor}>&-
	wait "$readers"
	echo "$guest gone $status" >&"$EVENTS"
}

# coordinator_qemu GUEST: the emulation fails in rare cases while a guest boots. QEMU crashes when
# PCI devices are mapped, it lets a processor run into an int3 that the kernel has patched away, or
# a processor of the guest gets no timer interrupts. Nothing under test has run in the guest by
# then, so it is booted again.
coordinator_qemu() {
	local guest=$1 attempt qemu status failure
	for attempt in 1 2 3; do
		failure=died
		(guest_qemu "$guest") <&"$LAB_STDIN" 2>"$RUN/io/g$guest/qemu.log" &
		qemu=$!
		coordinator_boot "$guest" "$qemu" || failure=stalled
		wait "$qemu" 2>/dev/null
		status=$?
		[[ $failure == stalled ]] || coordinator_died_at_boot "$guest" "$status" || break
		! coordinator_booted "$guest" || break
		say "g$guest: $failure at boot (attempt $attempt)"
		((attempt < 3)) || break
		cp "$RUN/g$guest/console.log" "$RUN/g$guest/console.$attempt"
		: >"$RUN/g$guest/console.log"
	done
	return "$status"
}

# coordinator_booted GUEST: does its agent run, and so maybe the script?
coordinator_booted() { grep -q 'lab: the agent runs' "$RUN/g$1/console.log"; }

# coordinator_died_at_boot GUEST STATUS: later than that, a panic may be for the user to see.
coordinator_died_at_boot() {
	(($2 == 128 + 11)) || grep -q 'Kernel panic' "$RUN/g$1/console.log" || return
	! grep -q 'Run /init' "$RUN/g$1/console.log"
}

# coordinator_boot GUEST QEMU: wait until the guest has booted or died. If its kernel reports a
# stall before, kill it and fail. No limit of time would tell a guest that stalls from one that the
# host keeps waiting. The kernel reports a stall after a minute or more without any progress, and the
# verdict would fail the run for that report, so booting again hides no run that passes.
coordinator_boot() {
	local stalls='rcu: INFO|soft lockup|hard LOCKUP|workqueue lockup|INFO: task .* blocked'
	while kill -0 "$2" 2>/dev/null; do
		! coordinator_booted "$1" || return 0
		! grep -qE "$stalls" "$RUN/g$1/console.log" || { kill -KILL "$2"; return 1; }
		sleep 1
	done
}

coordinator_readers() {
	local guest=$1 io=$RUN/io/g$1 log=$RUN/g$1/console.log
	cat "$io/console.out" >/dev/null &
	cat "$io/monitor.out" >/dev/null &
	sed -u "s/^/$guest /" "$io/ctl.out" >&"$EVENTS" &
	tee "$RUN/g$guest/output" <"$io/out.out" | sed -u "s/^/[g$guest] /" &
	if ((OPT_verbose)); then
		tail -f --pid="$!" "$log" | sed -u "s/^/[g$guest console] /" &
	fi
	wait
}

# coordinator_await STATES SECONDS: handle events until all guests are in one of
# these states; fails when that takes too long (0: takes what it takes).
coordinator_await() {
	local states=" $1 " guest verb args
	DEADLINE=$(($2 ? SECONDS + $2 : 0))
	while ! coordinator_all "$states"; do
		((!DEADLINE || SECONDS < DEADLINE)) || return 1
		read -r -u "$EVENTS" guest verb args
		coordinator_event "$guest" "$verb" "$args"
	done
}

# coordinator_all STATES: is every guest in one of them?
coordinator_all() {
	local state
	for state in "${STATE[@]}"; do
		[[ $1 == *" $state "* ]] || return 1
	done
}

coordinator_event() {
	local guest=$1 verb=$2 args=$3
	case $verb in
	barrier) coordinator_barrier "$guest" "$args" ;;
	exit)
		STATE[guest]=ended
		((args == 0)) || coordinator_fail "g$guest: the script ended with status $args"
		coordinator_barriers_lost "$guest"
		;;
	vanish)
		STATE[guest]=vanished
		coordinator_kill TERM "$guest"
		coordinator_barriers_lost "$guest"
		;;
	dumped | collected) STATE[guest]=$verb ;;
	gone) coordinator_gone "$guest" "$args" ;;
	esac
}

coordinator_gone() {
	local guest=$1 was=${STATE[$1]}
	STATE[guest]=gone
	[[ $was != vanished ]] || return 0
	coordinator_fail "g$guest: the guest died (QEMU's status $2)"
	tail -n 5 "$RUN/io/g$guest/qemu.log" >&2
	coordinator_barriers_lost "$guest"
}

# A guest that has ended can not come to a barrier any more.
coordinator_barrier() {
	local guest=$1 name=$2 other waiting
	for other in "${!STATE[@]}"; do
		[[ ${STATE[other]} == run ]] && continue
		coordinator_tell "$guest" "barrier $name lost $(coordinator_absent "$other")"
		return
	done
	BARRIER[$name]+="${BARRIER[$name]:+ }$guest"
	read -ra waiting <<<"${BARRIER[$name]}"
	((${#waiting[@]} == LAB_NODES)) || return 0
	unset "BARRIER[$name]"
	for other in "${waiting[@]}"; do
		coordinator_tell "$other" "barrier $name ok"
	done
}

# coordinator_barriers_lost GUEST: nobody can wait for it any longer.
coordinator_barriers_lost() {
	local name guest
	for name in "${!BARRIER[@]}"; do
		for guest in ${BARRIER[$name]}; do
			coordinator_tell "$guest" "barrier $name lost $(coordinator_absent "$1")"
		done
		unset "BARRIER[$name]"
	done
}

coordinator_absent() {
	local why='its script has ended'
	[[ ${STATE[$1]} != gone ]] || why='the guest has died'
	[[ ${STATE[$1]} != vanished ]] || why='it has vanished'
	echo "g$1 does not come, $why"
}

# coordinator_in STATE: the guests in this state.
coordinator_in() {
	local guest
	for guest in "${!STATE[@]}"; do
		[[ ${STATE[guest]} == "$1" ]] && echo "$guest"
	done
}

coordinator_run() {
	local guest
	coordinator_await 'ended vanished gone' "$OPT_limit" ||
		coordinator_hung run "the script has not ended${FAILURES[*]:+ since the failure}"
	for guest in $(coordinator_in ended); do
		coordinator_tell "$guest" finish
	done
	coordinator_await 'collected dumped vanished gone' "$LAB_COLLECT_S" ||
		coordinator_hung ended 'the kernel log can not be had'
}

# coordinator_hung STATE WHAT: have the guests that are stuck in this state show
# tasks and sockets: by their agent, or if that does not answer by SysRq over
# the serial line, and then by an NMI, which panics.
coordinator_hung() {
	local guest key others=' run ended dumped collected vanished gone '
	others=${others/ $1 / }
	for guest in $(coordinator_in "$1"); do
		coordinator_fail "g$guest: hang: $2 after $SECONDS s"
		coordinator_tell "$guest" dump
	done
	coordinator_await "$others" "$LAB_DUMP_S" && return
	for guest in $(coordinator_in "$1"); do
		say "g$guest: the agent does not answer: SysRq, then an NMI"
		for key in w t l; do
			printf '\001b%s' "$key" >&"${CONSOLE[guest]}"
			sleep 1
		done
		printf 'info registers -a\nnmi\n' >&"${MONITOR[guest]}"
	done
	coordinator_await "$others" "$LAB_NMI_S"
}

# QEMU ends at once on SIGTERM, whatever its guest does, unless it is broken.
coordinator_stop() {
	local guest alive=()
	for guest in "${!STATE[@]}"; do
		[[ ${STATE[guest]} == gone ]] || alive+=("$guest")
	done
	for guest in "${alive[@]}"; do
		coordinator_kill TERM "$guest"
	done
	{
		sleep "$LAB_STOP_S"
		for guest in "${alive[@]}"; do
			coordinator_kill KILL "$guest"
		done
	} &
	wait "${GUESTS[@]}"
	kill "$!" "$CLOCK"
}

# coordinator_kill SIGNAL GUEST
coordinator_kill() { kill "-$1" "$(<"$RUN/io/g$2/pid")" 2>/dev/null; }
