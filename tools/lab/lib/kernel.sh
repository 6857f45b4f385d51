# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Kernels by name: their release, their home (the directory with vmlinux or
# vmlinuz, and lib/modules/RELEASE) and the directory that modules build against.

# kernel_series NAME: what the releases of a Debian series start with.
kernel_series() {
	case $1 in
	6.12 | 6.1) echo "$1." ;;
	*) return 1 ;;
	esac
}

# kernel_series_newest NAME: its newest release in the archive. Debian's own series has the package
# without a number.
kernel_series_newest() {
	local prefix package meta
	prefix=$(kernel_series "$1") || return
	for meta in "linux-image-$1-amd64" linux-image-amd64; do
		package=$(archive_depends "$meta")
		package=${package#linux-image-}
		[[ $package != "$prefix"* ]] || { printf '%s\n' "$package"; return; }
	done
	return 1
}

kernel_series_release() { kernel_series_newest "$1" || die "no $1 kernel in this Debian"; }

# kernel_is_offered NAME: whether this Debian has it at all. Debian 13 has no 6.1.
kernel_is_offered() { ! kernel_series "$1" >/dev/null || kernel_series_newest "$1" >/dev/null; }

kernel_home() {
	local release
	if kernel_series "$1" >/dev/null; then
		release=$(kernel_series_release "$1") || exit
		printf '%s/series/%s\n' "$LAB_CACHE" "$release"
		return
	fi
	case $1 in
	debug) debug_home ;;
	*/*) realpath -e -- "$1" 2>/dev/null || die "no such kernel directory: $1" ;;
	*) die "unknown kernel '$1': 6.12, 6.1, debug or a directory (dir/)" ;;
	esac
}

# kernel_release NAME: what uname -r says in a guest with this kernel.
kernel_release() {
	local home modules
	if kernel_series "$1" >/dev/null; then
		kernel_series_release "$1"
		return
	fi
	home=$(kernel_home "$1") || exit
	modules=("$home"/lib/modules/*/)
	((${#modules[@]} == 1)) && [[ -d ${modules[0]} ]] ||
		die "$1: not exactly one release in $home/lib/modules" \
			"(tools/lab/lab fetch $1)"
	basename "${modules[0]}"
}

# kernel_kdir NAME: where "make -C DIR M=..." builds modules for it.
kernel_kdir() {
	local home release dir
	home=$(kernel_home "$1") || exit
	release=$(kernel_release "$1") || exit
	for dir in "$home/linux" "$home/usr/src/linux-headers-$release" \
		"$home/lib/modules/$release/build" "/usr/src/linux-headers-$release"; do
		[[ -e $dir/Makefile ]] || continue
		printf '%s\n' "$dir"
		return
	done
	die "no headers for $release (tools/lab/lab fetch $1)"
}

# kernel_image HOME: the file to boot.
kernel_image() {
	local image
	for image in "$1/vmlinux" "$1/vmlinuz"; do
		[[ -f $image ]] || continue
		printf '%s\n' "$image"
		return
	done
	die "$1: neither vmlinux nor vmlinuz"
}

# kernel_extract VMLINUZ: the ELF image inside, by the offsets of the x86 boot
# protocol. The last four bytes of the payload are its unpacked size.
kernel_extract() {
	local sectors offset length unpack
	sectors=$(od -An -tu1 -j $((0x1f1)) -N1 "$1")
	read -r offset length < <(od -An -tu4 -j $((0x248)) -N8 "$1")
	offset=$(((sectors + 1) * 512 + offset))
	case $(od -An -tx1 -j "$offset" -N4 "$1") in
	' fd 37 7a 58') unpack='xz -dc'; need xz xz-utils ;;
	' 28 b5 2f fd') unpack='zstd -dc'; need zstd zstd ;;
	*) return 1 ;;
	esac
	# Not tail before head: ended by SIGPIPE, it would have failed.
	head -c $((offset + length - 4)) "$1" | tail -c +$((offset + 1)) | $unpack
}

# kernel_headers RELEASE VERSION HOME NEW: what modules are built with, into NEW, which becomes HOME.
# Installing Debian's package would install the kernel, too, and the host would boot it.
kernel_headers() {
	local release=$1 version=$2 home=$3 new=$4 headers=linux-headers-$1 package kbuild
	kbuild=$(apt-cache show "$headers=$version" | grep -om1 'linux-kbuild-[^ ,]*')
	[[ $kbuild ]] || die "$headers depends on no linux-kbuild"
	for package in "$headers" "${headers%-amd64}-common" "$kbuild"; do
		# All ABIs of a series share this one. It is newer while the next kernel's is not there.
		[[ $package != "$kbuild" ]] || version=$(archive_version "$kbuild")
		archive_unpack "$package" "$version" "$new/$package" &&
			mkdir -p "$new/usr" && cp -a "$new/$package/usr/." "$new/usr/" &&
			rm -r "$new/$package" || return
	done
	rm -r "$new/usr/share"
	sed -i "s|/usr/src/|$home/usr/src/|" "$new/usr/src/$headers/Makefile"
}

# A guest under emulation would spend seconds on unpacking its kernel and
# modules, so unpack them once, here.
kernel_fetch_series() {
	local release home new version
	release=$(kernel_series_release "$1") || exit
	home=$(kernel_home "$1") || exit
	[[ ! -e $home/done ]] || return 0
	need depmod kmod
	version=$(archive_version "linux-image-$release")
	[[ $version ]] || die "linux-image-$release is not in the archive"

	new=$home.new
	archive_unpack "linux-image-$release" "$version" "$new" &&
		rm -rf "$new/usr" && kernel_headers "$release" "$version" "$home" "$new" ||
		die 'if the archive has moved on: apt-get update'
	say "unpacking $release"
	find "$new/lib/modules" -name '*.ko.xz' -print0 | xargs -0r -P "$(nproc)" -n 64 xz -d
	depmod -b "$new" "$release" || die "depmod failed for $release"
	mv "$new/boot/vmlinuz-$release" "$new/vmlinuz"
	kernel_extract "$new/vmlinuz" >"$new/vmlinux" || die "no kernel in the image of $release"
	rm -rf "$new/boot" "$home"
	touch "$new/done"
	mv "$new" "$home"
}

# kernel_fetch NAME: make sure that the kernel is there.
kernel_fetch() {
	local home make
	home=$(kernel_home "$1") || exit
	[[ ! -e $home/done ]] || return 0
	if kernel_series "$1" >/dev/null; then
		make=(kernel_fetch_series "$1")
	elif [[ $1 == debug ]]; then
		make=(debug_build)
	else
		kernel_image "$home" >/dev/null || exit
		kernel_release "$1" >/dev/null
		return
	fi
	locked "$(basename "$home")" "${make[@]}"
}
