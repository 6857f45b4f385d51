#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [SECONDS]: Debian's trinity in a guest, as a user without rights, in namespaces of its own:
# the calls that sockets take, on sockets of AF_SMC; then on those of IP, which tcp2smc makes SMC.
# Trinity's own -P SMC crashes: it gets sockets of AF_SMC where it asks for those of IPv4.
# Each takes a third of the time. It fails if none of trinity's bytes went by SMC. The lab checks
# afterwards that the module can be unloaded, and looks for leaks and for complaints of the kernel.

seconds=${1:-60}
folder=/run/trinity
here=(ip netns exec trinity)
calls=(socket socketpair bind connect listen accept accept4 getsockname getpeername shutdown
	sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg setsockopt getsockopt
	read write readv writev pread64 pwrite64 preadv2 pwritev2 splice tee vmsplice sendfile
	poll ppoll select epoll_create1 epoll_ctl epoll_wait epoll_pwait
	ioctl fcntl dup dup2 dup3 newfstat fsync ftruncate
	io_uring_setup io_uring_enter io_uring_register)

# written: what trinity's sockets have sent by SMC-D
written() { "${here[@]}" sed -n 's/^ism_write_bytes //p' /proc/net/smc_stat; }

# once NAME DOMAIN [VARIABLE=VALUE]...: with limits beyond which trinity's calls fail, instead of taking
# the guest's memory. When the first process of its namespace is gone, so are all others.
once() {
	local name=$1 domain=$2 before status bytes
	shift 2
	before=$(written)
	lab-log "trinity: $name"
	(
		cd "$folder" && rm -f trinity.socketcache || exit
		ulimit -f 2048 -v 1000000 -c 0
		"${here[@]}" unshare --pid --fork --kill-child --mount-proc \
			setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs \
			timeout --signal=INT --kill-after=20 $((seconds / 3 + 1)) \
			env LD_PRELOAD="$folder/connected.so" "$@" \
			trinity -q -q -l off -C 4 -P "$domain" \
			--enable-fds=sockets,pipes,epoll,memfd -V "$folder/victim" \
			"${calls[@]/#/-c}"
	) </dev/null >"$folder/$name" 2>&1
	status=$?
	bytes=$(($(written) - before))
	grep -aE 'seed|syscalls|Ran ' "$folder/$name" | tail -n 4 | sed "s/^/# $name: /"
	echo "# $name: status $status, $bytes bytes by SMC"
	((bytes > 0))
}

# fuzz NAME ...: as once. A trinity that crashed before it sent anything says nothing of the module.
fuzz() {
	local try
	for try in 1 2 3 4 5; do
		once "$@" && return
		tail -n 20 "$folder/$1"
		echo "# $1: nothing was sent by SMC, try $try"
	done
	return 1
}

lab-smc load && ip netns add trinity && ip -n trinity link set lo up || exit
mkdir -p "$folder/victim" && : >"$folder/victim/file" &&
	cp "$LAB_BUILD/selftests/trinity_connected.so" "$folder/connected.so" &&
	chown -R nobody "$folder" || exit
# A program that feeds itself garbage may well crash; that is not the kernel's fault.
sysctl -q debug.exception-trace=0
failed=0
fuzz SMC INET AS_SMC=1 || failed=1
"${here[@]}" sysctl -q net.smc.tcp2smc=1
fuzz TCP INET || failed=1
fuzz TCP6 INET6 || failed=1
ip netns del trinity || failed=1
exit "$failed"
