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
# limits a matter of luck.
run_take_turn() {
	local processors=$(($(nproc) + 1))
	((processors > 2)) || processors=3
	if ((LAB_NODES == 1 || (LAB_NODES == 2 && OPT_cpus == 1))); then
		run_take_processor "$processors" && return
		say 'waiting for another run of the lab to end'
		until run_take_processor "$processors"; do
			sleep 1
		done
	else
		run_take_pair "$processors"
	fi
}

# run_lock_processor NUMBER FLOCK-OPTION...: held as long as this run lives.
run_lock_processor() {
	local fd
	exec {fd}>"$LAB_CACHE/.lock.turn$1"
	flock "${@:2}" "$fd" && return
	exec {fd}>&-
	return 1
}

# run_take_processor PROCESSORS: any that is free, rather one that is in no pair.
run_take_processor() {
	local number
	for ((number = $1 - 1; number >= 0; number--)); do
		run_lock_processor "$number" -n && return
	done
	return 1
}

# run_take_pair PROCESSORS: a pair that is free, or one that this run waits for: it keeps the first
# while it waits for the second, so that guests alone do not overtake it for ever. All take the
# even one first, so none of them waits for another that waits for it.
run_take_pair() {
	local pairs=$(($1 / 2)) pair
	for ((pair = 0; pair < pairs; pair++)); do
		run_lock_processor $((2 * pair)) -n || continue
		run_lock_processor $((2 * pair + 1)) -n && return
		break
	done
	say 'waiting for another run of the lab to end'
	((pair < pairs)) || {
		pair=$((RANDOM % pairs))
		run_lock_processor $((2 * pair))
	}
	run_lock_processor $((2 * pair + 1))
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
