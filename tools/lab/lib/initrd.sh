# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The initrd: busybox, guest/initrd-init, and the modules it takes to mount the
# root and to have a network.

LAB_INITRD_MODULES=(virtio_pci virtio_net virtio_console 9pnet_virtio 9p overlay)

# initrd_file KERNEL: where this run has the initrd of a kernel.
initrd_file() { printf '%s/io/initrd.%s\n' "$RUN" "${1//\//_}"; }

# initrd_build KERNEL: make it, unless another guest's is there already.
initrd_build() {
	local file home release tree module path rc
	file=$(initrd_file "$1")
	[[ ! -e $file ]] || return 0
	tree=$file.d
	home=$(kernel_home "$1") || exit
	release=$(kernel_release "$1") || exit
	need busybox busybox-static; need cpio cpio
	mkdir -p "$tree/bin" "$tree/modules"
	cp "$(command -v busybox)" "$tree/bin/busybox"
	cp "$LAB_DIR/guest/initrd-init" "$tree/init"
	for module in "${LAB_INITRD_MODULES[@]}"; do
		modprobe -d "$home" -S "$release" --show-depends "$module" ||
			die "$1 has no module $module"
	done | while read -r _ path _; do
		[[ $path == /* ]] || continue # built in
		module=${path##*/}
		[[ ! -e $tree/modules/$module ]] || continue
		cp "$path" "$tree/modules/"
		printf '%s\n' "$module"
	done >"$tree/modules.order"
	mv "$tree/modules.order" "$tree/modules/order"
	(cd "$tree" && find . | cpio --quiet -o -H newc) >"$file"
	rc=$?
	rm -rf "$tree"
	return "$rc"
}
