# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The choice between KVM and emulation. The existence of /dev/kvm proves little: on some
# machines a guest hangs under KVM. So boot a guest, and remember the verdict until the
# host boots again.

LAB_KVM_PROBE_S=15

# CPU models: see Documentation/lab.rst, "CPU model and machine".
accel_options() {
	case $1 in
	kvm) printf '%s\n' -accel kvm -cpu host ;;
	tcg) accel_emulate thread=multi ;;
	icount) accel_emulate thread=single -icount shift=0,sleep=off ;;
	*) die "LAB_ACCEL=$1: kvm, tcg or icount" ;;
	esac
}

# accel_emulate THREADS OPTION...
accel_emulate() {
	local model=Haswell-noTSX,-erms,-cx16,-invpcid,-pcid,-x2apic,-tsc-deadline
	printf '%s\n' -accel "tcg,$1" -cpu "${LAB_CPU:-$model}" "${@:2}"
}

# The probe guest has a kernel and no root: it is alive if it gets as far as the
# panic about that.
accel_kvm_boots() {
	local home
	[[ -r /dev/kvm && -w /dev/kvm ]] || return
	home=$(kernel_home "$1") || exit
	timeout -k 1 "$LAB_KVM_PROBE_S" qemu-system-x86_64 -accel kvm -cpu host \
		-m 512 -nodefaults -no-user-config -display none -no-reboot \
		-kernel "$(kernel_image "$home")" -append 'console=ttyS0 panic=-1' \
		-serial stdio </dev/null 2>/dev/null | grep -q 'Kernel panic'
}

# accel_choose KERNEL: print kvm or tcg.
accel_choose() {
	local cache key
	if [[ ${LAB_ACCEL:-} ]]; then
		printf '%s\n' "$LAB_ACCEL"
		return
	fi
	cache=$LAB_CACHE/accel.$(id -u)
	key=$(cat /proc/sys/kernel/random/boot_id; qemu-system-x86_64 --version | head -n 1)
	if [[ ! -f $cache || $(head -n -1 "$cache") != "$key" ]]; then
		if accel_kvm_boots "$1"; then
			printf '%s\nkvm\n' "$key"
		else
			printf '%s\ntcg\n' "$key"
		fi >"$cache"
		say "accelerator: $(tail -n 1 "$cache") (remembered until the next boot)"
	fi
	tail -n 1 "$cache"
}

# accel_kernel_options ACCELERATOR: what the guest's kernel is to be told. Under emulation on a
# busy host it may measure a tenth of its TSC's frequency, which is the host's, and then its clock
# runs ten times too fast.
accel_kernel_options() {
	local dir khz
	[[ $1 == tcg ]] || return 0
	need cc gcc
	dir=$(mktemp -d -p "$LAB_CACHE") || return
	cc -O2 -o "$dir/tsc" "$LAB_DIR/tsc.c" && khz=$("$dir/tsc") && echo "tsc_early_khz=$khz"
	rm -r "$dir"
	[[ $khz ]]
}
