#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a guest: what "make install" does makes modprobe and the kernel choose this module, and
# keeps the kernel's smc_diag from complaining about it, but leaves it to the in-tree module:
# tools/lab/lab run tools/install/test.sh

release=$(uname -r)
updates=/lib/modules/$release/updates
smc=${SMC:-$LAB_REPO/build/tools/smc/smc}

fail() {
	echo "not ok: $*"
	exit 1
}

# loaded_by WHAT COMMAND...: the command loads this module, which is then unloaded.
loaded_by() {
	local what=$1
	shift
	"$@" >/run/said 2>&1 || fail "$what: $(cat /run/said)"
	[[ $(cat /sys/module/smc/version 2>/dev/null) ]] || fail "$what did not load this module"
	[[ ! -d /sys/module/smc_diag ]] || fail "$what loaded smc_diag, too"
	rmmod smc || fail 'cannot unload'
}

# The lab's own precaution against loading any smc.
rm -f /etc/modprobe.d/lab.conf
# The modules of the guest are read-only.
mkdir /run/modules && mount -t tmpfs modules /run/modules && mkdir /run/modules/{upper,work} &&
	mount -t overlay -o "lowerdir=${updates%/*},upperdir=/run/modules/upper,workdir=/run/modules/work" \
		modules "${updates%/*}" || fail 'no overlay'
install -D -m 644 "$LAB_OURS_DIR/$release/smc.ko" "$updates/smc.ko"
install -D -m 644 "$LAB_REPO/tools/install/modprobe.conf" /lib/modprobe.d/smc.conf
depmod || fail depmod

[[ $(modinfo -n smc) -ef $updates/smc.ko ]] || fail "modprobe prefers $(modinfo -n smc)"
loaded_by 'modprobe smc' modprobe smc
loaded_by 'modprobe smc_diag' modprobe smc_diag
loaded_by 'a dump of link groups' "$smc" group
loaded_by 'a socket of family AF_SMC' python3 -c 'import socket; socket.socket(43, socket.SOCK_STREAM, 0)'
loaded_by 'a socket of protocol IPPROTO_SMC' \
	python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)'
# As on a kernel that the module was not installed for.
rm "$updates/smc.ko" && depmod || fail depmod
modprobe smc_diag || fail "the kernel's smc_diag does not load"
[[ -d /sys/module/smc_diag && ! -e /sys/module/smc/version ]] || fail "not the kernel's modules"
rmmod smc_diag smc || fail "cannot unload the kernel's modules"

lab-check-dmesg || fail 'the kernel complained'
! dmesg | grep -i 'unknown symbol' || fail 'a module did not fit'
echo 'ok: installed'
