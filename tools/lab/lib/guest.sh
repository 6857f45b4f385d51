# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# One guest: its directory $RUN/gN (also the guest's /lab), its environment, its
# QEMU. In the directory: console.log, output, dmesg, out/ for the script's files.

# guest_env GUEST: the file that tells the guest about itself.
guest_env() {
	local guest=$1 n lan pair
	local LAB_NODE=$guest LAB_KERNEL=${LAB_KERNELS[guest]} LAB_SMC=${LAB_SMCS[guest]}
	local LAB_INTERACTIVE=$OPT_tty LAB_ON_PORT=8383 LAB_OUT=/lab/out
	local LAB_OURS_DIR=$LAB_BUILD/modules SMC_CACHE=$LAB_CACHE
	declare -p LAB_COMMAND
	for n in LAB_NODE LAB_NODES LAB_KERNEL LAB_SMC LAB_LANS LAB_MTU LAB_INTERACTIVE LAB_ON_PORT \
		LAB_OUT LAB_BUILD LAB_OURS_DIR SMC_CACHE LAB_DIR LAB_REPO LAB_ALLOW_DMESG LAB_ROWS LAB_COLUMNS; do
		printf 'export %s=%q\n' "$n" "${!n}"
	done
	for ((n = 0; n < LAB_NODES; n++)); do
		printf 'export LAB_IP4_%d=10.83.0.%d LAB_IP6_%d=fd83::%d\n' \
			"$n" $((n + 1)) "$n" $((n + 1))
	done
	for pair in "${OPT_env[@]}"; do
		printf 'export %s=%q\n' "${pair%%=*}" "${pair#*=}"
	done
}

# guest_keep: directories under /tmp that a guest must still see.
guest_keep() {
	local dir
	for dir in "$LAB_REPO" "$(dirname "${LAB_COMMAND[0]:-/}")" "$LAB_BUILD"; do
		[[ $dir/ == /tmp/* && -d $dir ]] && printf '%s\n' "$dir"
	done | sort -u
}

# guest_prepare GUEST: everything that QEMU needs.
guest_prepare() {
	local guest=$1 dir=$RUN/g$1 home release fifo words
	# Without symbolic links, as the guest can not follow them before its root is there.
	home=$(realpath "$(kernel_home "${LAB_KERNELS[guest]}")") || exit
	release=$(kernel_release "${LAB_KERNELS[guest]}") || exit
	mkdir -p "$dir/out" "$RUN/io/g$guest"
	initrd_build "${LAB_KERNELS[guest]}" || die "cannot make an initrd"
	guest_env "$guest" >"$dir/env"
	for fifo in {ctl,out,console,monitor}.{in,out}; do
		mkfifo "$RUN/io/g$guest/$fifo"
	done
	words=(
		console=ttyS0 loglevel=7 printk.time=1 panic=-1 oops=panic
		sysrq_always_enabled unknown_nmi_panic
		# Emulation on a busy host is slow; what takes this long hangs.
		watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60
		workqueue.watchdog_thresh=60
		# A vCPU that has to wait for the host looks like a TSC gone wrong.
		tsc=reliable
		# The lab tests function; these cost time and change none.
		# Not apparmor=0: the kernel takes SELinux instead, which costs every packet more.
		mitigations=off audit=0 no_timer_check
		"$LAB_KERNEL_OPTIONS"
		"lab.init=$LAB_DIR/guest/init" "lab.modules=$home/lib/modules/$release"
	)
	while read -r dir; do
		words+=("lab.keep=$dir")
	done < <(guest_keep)
	printf '%s\n' "${words[*]}" >"$RUN/io/g$guest/cmdline"
}

# guest_qemu GUEST: replaces the calling shell by the QEMU of a guest. Console and
# monitor go to files, so that they are whole whatever becomes of the host side;
# Ctrl-A b on the console's input is a serial BREAK, and so the SysRq key.
guest_qemu() {
	local guest=$1 io=$RUN/io/g$1 lan memory=$OPT_memory kernel=${LAB_KERNELS[$1]}
	local args
	if [[ ! $memory ]]; then
		memory=1024
		[[ $kernel != debug ]] || memory=2560
	fi
	mapfile -t args < <(accel_options "$LAB_ACCEL")
	# Of the processors in a socket, a kernel without ACPI finds one.
	args+=(
		-name "g$guest" -nodefaults -no-user-config -display none -no-reboot
		-pidfile "$io/pid" -smp "$OPT_cpus,sockets=$OPT_cpus" -m "$memory"
		-kernel "$(kernel_image "$(kernel_home "$kernel")")"
		-initrd "$(initrd_file "$kernel")"
		-append "$(<"$io/cmdline")"
		-chardev "pipe,id=console,path=$io/console,mux=on,logfile=$RUN/g$guest/console.log"
		-serial chardev:console
		-chardev "pipe,id=monitor,path=$io/monitor,logfile=$io/monitor.log"
		-mon chardev=monitor,mode=readline
		-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap
		-device virtio-9p-pci,fsdev=root,mount_tag=root
		-fsdev "local,id=lab,path=$RUN/g$guest,security_model=none"
		-device virtio-9p-pci,fsdev=lab,mount_tag=lab
		-device virtio-serial-pci,max_ports=4
		-chardev "pipe,id=ctl,path=$io/ctl" -device virtserialport,chardev=ctl,name=lab.ctl
		-chardev "pipe,id=out,path=$io/out" -device virtserialport,chardev=out,name=lab.out
	)
	((guest > 0 || !OPT_tty)) ||
		args+=(-chardev stdio,id=tty,signal=off -device virtconsole,chardev=tty)
	for ((lan = 0; lan < LAB_LANS; lan++)); do
		args+=(
			-netdev "tap,id=lan$lan,ifname=t$guest.$lan,script=no,downscript=no"
			-device "$(printf 'virtio-net-pci,netdev=lan%d,romfile=,mac=52:54:83:00:%02x:%02x,host_mtu=%d' \
				"$lan" "$lan" $((guest + 1)) "$LAB_MTU")"
		)
	done
	[[ ! $LAB_QEMU ]] || args+=(-L "$LAB_QEMU/usr/share/qemu" -L "$LAB_QEMU/usr/share/seabios")
	exec "${LAB_QEMU:+$LAB_QEMU/usr/bin/}qemu-system-x86_64" "${args[@]}"
}
