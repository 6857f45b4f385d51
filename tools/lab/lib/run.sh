# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# One run of the lab: namespaces of its own, guests, verdict.

# run_supervised INTERACTIVE ARGS...: the outer half of "lab run" and "lab shell". The
# run proper gets its own namespaces for processes, mounts and network, so that
# however it ends nothing of it stays: no process, no tap, no temporary file.
run_supervised() {
	local isolate=() child tty='' status
	(($(id -u) == 0)) || isolate+=(--map-root-user)
	run_needs
	run_fetch
	mkdir -p "$LAB_CACHE/run"
	isolate+=(--mount --net --pid --fork --kill-child --mount-proc)
	isolate=(setpriv --pdeathsig KILL unshare "${isolate[@]}")
	if ((OPT_tty)); then
		tty=$(stty -g 2>/dev/null)
		read -r LAB_ROWS LAB_COLUMNS < <(stty size 2>/dev/null || echo 24 80)
		export LAB_ROWS LAB_COLUMNS
	else
		# Not in the terminal's foreground group: ctrl-C is ours to handle.
		isolate=(setsid "${isolate[@]}")
	fi
	exec {LAB_STDIN}<&0
	export LAB_STDIN LAB_ACCEL LAB_QEMU LAB_KERNEL_OPTIONS
	"${isolate[@]}" "$LAB_DIR/lab" isolated "$@" &
	child=$!
	trap 'kill -KILL "$child"; run_interrupted=1' INT TERM HUP
	run_interrupted=0
	wait "$child" 2>/dev/null
	status=$?
	((!run_interrupted)) || wait "$child" 2>/dev/null
	[[ ! $tty ]] || stty "$tty" 2>/dev/null
	((!run_interrupted)) || { say interrupted; return 130; }
	return "$status"
}

run_needs() {
	need qemu-system-x86_64 qemu-system-x86
	need busybox busybox-static
	need cpio cpio
	need modprobe kmod
	need unshare util-linux
	need ip iproute2
	[[ -r /dev/net/tun && -w /dev/net/tun ]] ||
		die 'no access to /dev/net/tun (modprobe tun, or ask for permission)'
}

run_fetch() {
	local kernel
	while read -r kernel; do
		kernel_fetch "$kernel" || exit
	done < <(printf '%s\n' "${LAB_KERNELS[@]}" | sort -u)
	LAB_ACCEL=$(accel_choose "${LAB_KERNELS[0]}") || exit
	LAB_QEMU=$(emulator_choose "$LAB_ACCEL")
	LAB_KERNEL_OPTIONS=$(accel_kernel_options "$LAB_ACCEL") || die 'cannot measure the TSC'
}

# run_take_turn: wait until the machine has processors for this run: two for guests that talk to
# each other, one for a guest alone, and for two guests of one processor each, since one mostly
# waits for the other. There is one more to have than the machine has, as all of them wait now and
# then. More guests than it can emulate make every run slower than one after the other, and time
# limits a matter of luck. A run that waits for its second processor lets no other pass.
run_take_turn() {
	local processors=${LAB_PROCESSORS:-$(($(nproc) + 1))} wanted=2 turn
	((processors > 2)) || processors=3
	((LAB_NODES > 2 || (LAB_NODES == 2 && OPT_cpus > 1))) || wanted=1
	mkdir -p "$LAB_CACHE/turns"
	exec {turn}>"$LAB_CACHE/turns/next" || die "cannot take turns in $LAB_CACHE/turns"
	flock -n "$turn" || {
		say 'waiting for another run of the lab to begin'
		flock "$turn"
	}
	run_take_processors "$wanted" "$processors"
	exec {turn}>&-
}

# run_take_processors WANTED OF
run_take_processors() {
	local wanted=$1 waits=0
	while ((wanted)); do
		if run_take_processor "$2"; then
			wanted=$((wanted - 1))
			continue
		fi
		((waits++)) || say 'waiting for another run of the lab to end'
		sleep 1
	done
}

# run_take_processor OF: held as long as this run lives. Fails if none is free.
run_take_processor() {
	local number fd
	for ((number = 0; number < $1; number++)); do
		exec {fd}>"$LAB_CACHE/turns/processor$number" || die "no turns in $LAB_CACHE/turns"
		flock -n "$fd" && return
		exec {fd}>&-
	done
	return 1
}

# run_isolated: the inner half.
run_isolated() {
	local guest status=0
	run_take_turn
	RUN=$LAB_CACHE/run
	mount -t tmpfs -o mode=755 lab "$RUN" || die "cannot mount a tmpfs on $RUN"
	mkdir "$RUN/io"
	ip link set lo up
	network_up
	for ((guest = 0; guest < LAB_NODES; guest++)); do
		guest_prepare "$guest" || exit
	done

	coordinator_start
	coordinator_run
	coordinator_stop
	verdict_run || status=1
	run_keep "$status"
	return "$status"
}

# run_keep STATUS: what the guests leave goes where -o says; without -o, it is
# kept only if the run failed.
run_keep() {
	local dir=$OPT_outdir
	if [[ ! $dir ]]; then
		(($1)) || return 0
		dir=$LAB_BUILD/lab/$(date +%Y%m%d-%H%M%S)-$SRANDOM
	fi
	mkdir -p "$dir" && cp -r "$RUN"/g* "$dir/" || { say "cannot write to $dir"; return; }
	say "consoles, kernel logs and output of the guests: $dir"
}
