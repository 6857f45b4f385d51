#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a guest: what "make install" installs works from where it is. modprobe and the kernel choose
# this module; the kernel's smc_diag does not complain about it, but is left to the in-tree module.
# "make uninstall" leaves the file tree as it was: tools/lab/lab run tools/install/test.sh
# test-destdir.sh has the tests that need no kernel.

release=$(uname -r)
updates=/lib/modules/$release/updates
cd "$LAB_REPO" || exit

fail() {
	echo "not ok: $*"
	exit 1
}

# make_ ARG...: what was built for this kernel is installed, or removed.
make_() {
	make KVER=6.12 O="$LAB_BUILD" "$@" >/run/make.log 2>&1 ||
		fail "make $*: $(tail -n 20 /run/make.log)"
}

# The module and the tools have been built already, as the first "make install" finds out.
make_more() { make_ -o module -o tools "$@"; }

# tree: all that installing may change. "make uninstall PREFIX=" has nothing to look for in ~.
tree() {
	find /usr/local /lib/modprobe.d /lib/smc /bin/smc* /share ~/bin ~/lib -maxdepth 3 \
		\( -type d -printf '%p %y %m\n' -o -printf '%p %y %m %s\n' \) 2>/dev/null
	find "${updates%/*}" -name 'modules.*' -printf '%p %s\n' -o -path '*updates*' -printf '%p %s\n'
}

unchanged() { tree | sort | diff /run/before - || fail "$*: the tree is not as it was"; }

# loaded_by WHAT COMMAND...: the command loads this module, which is then unloaded.
loaded_by() {
	local what=$1
	shift
	"$@" >/run/said 2>&1 || fail "$what: $(cat /run/said)"
	[[ $(cat /sys/module/smc/version 2>/dev/null) ]] || fail "$what did not load this module"
	[[ ! -d /sys/module/smc_diag ]] || fail "$what loaded smc_diag, too"
	rmmod smc || fail 'cannot unload'
}

# is_stripped FILE
is_stripped() { ! readelf -S "$1" | grep -q '\.debug_info'; }

# The lab's own precaution against loading any smc.
rm -f /etc/modprobe.d/lab.conf
# The modules of the guest are read-only, and depmod takes minutes for all of them: these will do.
mkdir /run/modules && mount -t tmpfs modules /run/modules &&
	modprobe --show-depends smc_diag |
	sed -n "s,^insmod ${updates%/*}/\([^ ]*\).*,\1,p" |
		(cd "${updates%/*}" && xargs cp --parents -t /run/modules modules.order modules.builtin*) &&
	mount --bind /run/modules "${updates%/*}" || fail 'no modules'
depmod || fail depmod
# Folders that install makes stay.
mkdir -p ~/bin ~/lib/smc /usr/local/{bin,lib} /usr/local/share/man/man{7,8} \
	/usr/local/share/bash-completion/completions || fail 'no folders'
touch ~/bin/smc ~/bin/smc_run ~/lib/smc/precious || fail 'no home'
tree | sort >/run/before

make_ install
! grep -q '^ *CC ' /run/make.log || fail 'what was built has been compiled again'
for file in bin/smc bin/smc_run lib/smc/libsmc-preload.so share/man/man{7/smc.7,8/smc.8,8/smc_run.8} \
	share/bash-completion/completions/smc; do
	[[ -s /usr/local/$file ]] || fail "no $file"
done
is_stripped /usr/local/bin/smc && is_stripped /usr/local/lib/smc/libsmc-preload.so ||
	fail 'debug information is installed'
[[ $(modinfo -n smc) -ef $updates/smc.ko ]] || fail "modprobe prefers $(modinfo -n smc)"
loaded_by 'modprobe smc' modprobe smc
loaded_by 'modprobe smc_diag' modprobe smc_diag
loaded_by 'a dump of link groups' /usr/local/bin/smc group
loaded_by 'a socket of family AF_SMC' python3 -c 'import socket; socket.socket(43, socket.SOCK_STREAM, 0)'
loaded_by 'a socket of protocol IPPROTO_SMC' \
	python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)'
loaded_by 'a program under smc_run' /usr/local/bin/smc_run \
	python3 -c 'import socket; socket.socket()'

make_ uninstall
unchanged 'make uninstall'
make_ uninstall PREFIX=
unchanged 'make uninstall PREFIX='
# As on a kernel that the module was not installed for.
make_more install
rm -r "$updates" && depmod || fail depmod
modprobe smc_diag || fail "the kernel's smc_diag does not load"
[[ -d /sys/module/smc_diag && ! -e /sys/module/smc/version ]] || fail "not the kernel's modules"
rmmod smc_diag smc || fail "cannot unload the kernel's modules"
make_ uninstall
unchanged 'make uninstall without a module'

lab-check-dmesg || fail 'the kernel complained'
! dmesg | grep -i 'unknown symbol' || fail 'a module did not fit'
echo 'ok: installed'
