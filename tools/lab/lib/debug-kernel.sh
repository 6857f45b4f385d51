# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The debug kernel: Debian's linux-source with debug.config, built once per
# source version, fragment and choice of what is instrumented.

LAB_DEBUG_SOURCE=linux-source-6.12

# Version of the source package, the installed one before the archive's.
debug_source_version() {
	local version
	version=$(dpkg-query -W -f '${Version}' "$LAB_DEBUG_SOURCE" 2>/dev/null) ||
		version=$(archive_version "$LAB_DEBUG_SOURCE")
	[[ $version ]] || die "no version of $LAB_DEBUG_SOURCE known to apt"
	printf '%s\n' "$version"
}

debug_home() {
	local version hash
	version=$(debug_source_version) || exit
	hash=$({ cat "$LAB_DIR/debug.config"; declare -f debug_instrument; } | sha256sum | cut -c1-12)
	printf '%s/debug/%s-%s\n' "$LAB_CACHE" "$version" "$hash"
}

# debug_tarball DIR: path of the source tarball, downloaded into DIR if need be.
debug_tarball() {
	local tarball=usr/src/$LAB_DEBUG_SOURCE.tar.xz
	if [[ -f /$tarball ]]; then
		printf '/%s\n' "$tarball"
		return
	fi
	archive_unpack "$LAB_DEBUG_SOURCE" "$(debug_source_version)" "$1" || return
	printf '%s/%s\n' "$1" "$tarball"
}

# debug_check_config CONFIG: name the lines of the fragment that kconfig dropped.
debug_check_config() {
	local config=$1 line name lost=()
	while read -r line; do
		[[ $line == CONFIG_* ]] || continue
		name=${line%%=*}
		if [[ $line == *=n ]]; then
			! grep -q "^$name=" "$config" || lost+=("$line")
		else
			grep -qxF "$line" "$config" || lost+=("$line")
		fi
	done <"$LAB_DIR/debug.config"
	((${#lost[@]} == 0)) || die "debug.config: no effect: ${lost[*]}"
}

# debug_instrument: of all code in the current directory, have KASAN and UBSAN look only at what
# connections run through, and at what is called with pointers to them. Other code is built faster
# without, and runs faster; bad calls of it are found by the checks of the allocators and of lists.
debug_instrument() {
	local near='^(drivers/(infiniband|net)|fs/fuse|kernel/(dma|futex|locking|rcu|time))/|^(fs|kernel)/Makefile$'
	find arch/x86/{entry,events,kernel,lib,mm,pci} block certs crypto drivers fs init ipc kernel security \
		-name Makefile | grep -vE "$near" |
		xargs sed -i '$a KASAN_SANITIZE := n\nUBSAN_SANITIZE := n'
}

# The tree stays for building modules against it; the sources of the in-tree smc
# go, so that nobody working on this module reads them by accident.
debug_build() {
	local home work tarball
	home=$(debug_home) || exit
	[[ ! -e $home/done ]] || return 0
	need bc bc; need bison bison; need flex flex; need gcc gcc; need make make

	rm -rf "$home"
	mkdir -p "$home"
	say "building the debug kernel in $home (some ten minutes, log in build.log)"
	work=$home/unpack
	tarball=$(debug_tarball "$work") || die "no $LAB_DEBUG_SOURCE"
	mkdir "$home/linux"
	tar -xf "$tarball" -C "$home/linux" --strip-components=1 ||
		die "cannot unpack $tarball"
	rm -rf "$work"
	touch "$home/unpacked"
	(
		cd "$home/linux" || exit
		export KBUILD_BUILD_USER=lab KBUILD_BUILD_HOST=lab
		export KBUILD_BUILD_TIMESTAMP='1970-01-01'
		# Modules built for one debug.config must not load with another.
		export LOCALVERSION=-${home##*-}
		make -s KCONFIG_ALLCONFIG="$LAB_DIR/debug.config" allnoconfig
		debug_check_config .config
		debug_instrument || exit
		# LLVM's plugin for binutils, where it is installed, is slow to load for each file.
		make -s -j"$(nproc)" NM='nm --plugin=none' vmlinux modules &&
			make -s INSTALL_MOD_PATH="$home" modules_install
	) >"$home/build.log" 2>&1 || {
		tail -n 20 "$home/build.log" >&2
		die "building the debug kernel failed, see $home/build.log"
	}
	find "$home/linux/net/smc" -name '*.[ch]' -delete
	ln "$home/linux/vmlinux" "$home/vmlinux"
	touch "$home/done"
}
