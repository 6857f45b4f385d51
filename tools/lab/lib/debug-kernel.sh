# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The debug kernel: Debian's linux-source with debug.config and, if LAB_DEBUG_MORE=1,
# debug-more.config. It is built once per source version, fragments, pch-gcc.cc, and functions below
# that say of what and how.

LAB_DEBUG_SOURCE=linux-source-6.12

# Version of the source package, the installed one before the archive's.
debug_source_version() {
	local version
	version=$(dpkg-query -W -f '${Version}' "$LAB_DEBUG_SOURCE" 2>/dev/null) ||
		version=$(archive_version "$LAB_DEBUG_SOURCE")
	[[ $version ]] || die "no version of $LAB_DEBUG_SOURCE known to apt"
	printf '%s\n' "$version"
}

# debug_config: both fragments, with the last line of each option alone.
debug_config() {
	{
		cat "$LAB_DIR/debug.config"
		[[ ${LAB_DEBUG_MORE:-0} != 1 ]] || cat "$LAB_DIR/debug-more.config"
	} | tac | awk -F = '!/^CONFIG_/ || !seen[$1]++' | tac
}

debug_home() {
	local version hash
	version=$(debug_source_version) || exit
	hash=$({
		debug_config
		cat "$LAB_DIR/pch-gcc.cc"
		declare -f debug_unpack debug_prepare debug_make
	} | sha256sum | cut -c1-12)
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

# debug_unpack TARBALL DIR: unpack the half of the source that this kernel needs. Unpacking all of
# it takes as long as compiling a hundred files. kconfig also reads the Kconfig files of other
# processors and drivers, so these are unpacked. The in-tree smc is left out as well, so that nobody
# working on this module reads it by accident. Its options stay, because they switch on TCP's SMC
# option.
debug_unpack() {
	local left_out=() dir
	for dir in 'arch/[!x]*' sound net/smc \
		drivers/{accel,clk,crypto,gpu,iio,media,mtd,pinctrl,scsi,staging,usb,video} \
		drivers/net/{ethernet,wireless}; do
		left_out+=("--exclude=*-source-*/$dir/*.[chS]")
	done
	left_out+=('--exclude=*-source-*/arch/[!x]*/*.dts*' '--exclude=*-source-*/Documentation/*.[rty]*'
		'--exclude=*-source-*/tools/perf/*' '--exclude=*-source-*/tools/testing/*')
	tar -x --use-compress-program='xz -T0' -f "$1" -C "$2" --strip-components=1 --wildcards \
		"${left_out[@]}" && sed -i '/^obj-/d' "$2/net/smc/Makefile"
}

# debug_check_config FRAGMENTS CONFIG: name the lines of the fragments that kconfig dropped.
debug_check_config() {
	local fragments=$1 config=$2 line name lost=()
	while read -r line; do
		[[ $line == CONFIG_* ]] || continue
		name=${line%%=*}
		if [[ $line == *=n ]]; then
			! grep -q "^$name=" "$config" || lost+=("$line")
		else
			grep -qxF "$line" "$config" || lost+=("$line")
		fi
	done <"$fragments"
	((${#lost[@]} == 0)) || die "no effect: ${lost[*]}"
}

# debug_prepare: the source in the current directory will check what connections run through.
# - KASAN and UBSAN look only there, and at what is called with pointers to it. Other code is built
#   faster without, and runs faster; bad calls of it are found by the checks of the allocators and of
#   lists.
# - Code that runs before the kernel has its page tables relies on what only -O2 does.
# - Lockdep selects the tracing of events, which is code in every subsystem and traces nothing here.
# - The script that writes the names of processor features starts thousands of programs. Without
#   names, /proc/cpuinfo has no flags.
debug_prepare() {
	local near='^(drivers/(infiniband|net)|fs/fuse|kernel/(dma|futex|locking|rcu|time))/|^(fs|kernel)/Makefile$'
	find arch/x86/{entry,events,kernel,lib,mm,pci} block certs crypto drivers fs init ipc kernel security \
		-name Makefile | grep -vE "$near" |
		xargs sed -i '$a KASAN_SANITIZE := n\nUBSAN_SANITIZE := n' &&
		echo 'subdir-ccflags-y += -O2' >>arch/x86/Kbuild &&
		sed -i '/^config PREEMPTIRQ_TRACEPOINTS/,/^$/{/select TRACING$/d}' kernel/trace/Kconfig &&
		cat >arch/x86/kernel/cpu/mkcapflags.sh <<-'EOF'
			cat >"$1" <<-'FLAGS'
				#include <asm/cpufeatures.h>
				#include <asm/vmxfeatures.h>
				const char *const x86_cap_flags[NCAPINTS * 32];
				const char *const x86_bug_flags[NBUGINTS * 32];
				const char *const x86_vmx_flags[NVMXINTS * 32];
			FLAGS
		EOF
}

# debug_make TARGET...: make TARGETs with fewer passes of the compiler, which take most of its time.
# - objtool takes a tenth of a second of each file. Without it, static calls go by way of their
#   trampolines, and nobody looks whether calls are legal where the kernel is entered.
# - LLVM's plugin for binutils, where it is installed, is slow to load for each file.
# - pch-gcc.cc reads headers from a precompiled one.
debug_make() {
	make -s -j"$(nproc)" CC="$PCH_DIR/gcc" KCFLAGS=-O1 objtool-enabled= NM='nm --plugin=none' "$@"
}

# The tree stays for building modules against it.
debug_build() {
	local home work tarball
	home=$(debug_home) || exit
	[[ ! -e $home/done ]] || return 0
	need bc bc; need bison bison; need flex flex; need g++ g++; need make make

	rm -rf "$home"
	mkdir -p "$home"
	say "building the debug kernel in $home (some five minutes, log in build.log)"
	work=$home/unpack
	tarball=$(debug_tarball "$work") || die "no $LAB_DEBUG_SOURCE"
	mkdir "$home/linux"
	debug_unpack "$tarball" "$home/linux" || die "cannot unpack $tarball"
	rm -rf "$work"
	touch "$home/unpacked"
	debug_config >"$home/config"
	(
		cd "$home/linux" || exit
		export KBUILD_BUILD_USER=lab KBUILD_BUILD_HOST=lab
		export KBUILD_BUILD_TIMESTAMP='1970-01-01'
		# Modules built for one configuration must not load with another.
		export LOCALVERSION=-${home##*-}
		export PCH_DIR=$home/pch
		mkdir "$PCH_DIR" && g++ -std=c++20 -O1 -o "$PCH_DIR/gcc" "$LAB_DIR/pch-gcc.cc" &&
			debug_prepare && make -s KCONFIG_ALLCONFIG="$home/config" allnoconfig &&
			debug_check_config "$home/config" .config &&
			debug_make vmlinux modules &&
			make -s INSTALL_MOD_PATH="$home" modules_install
	) >"$home/build.log" 2>&1 || {
		tail -n 20 "$home/build.log" >&2
		die "building the debug kernel failed, see $home/build.log"
	}
	rm -r "$home/pch"
	ln "$home/linux/vmlinux" "$home/vmlinux"
	touch "$home/done"
}
