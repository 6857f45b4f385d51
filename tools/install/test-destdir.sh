#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-destdir.sh BUILD: where "make install" puts what was built in BUILD for 6.12, as packages
# want it, and that "make uninstall" takes it away again.

cd "$(dirname "$(realpath "$0")")/../.." || exit
build=$(realpath "${1:?usage: test-destdir.sh BUILD}")
release=$(tools/lab/lab release 6.12) || exit
root=$(mktemp -d) || exit
trap 'rm -rf "$root"' EXIT

fail() {
	echo "not ok: $*"
	exit 1
}

make_() {
	make KVER=6.12 O="$build" -o module -o tools "$@" >"$root/log" 2>&1 ||
		fail "make $*: $(tail -n 20 "$root/log")"
}

# expect_files DIR: exactly the files named by standard input are below it.
expect_files() {
	diff <(sort) <(cd "$1" && find . -type f | sort) || fail "these are not the files in $1"
}

# is_stripped FILE
is_stripped() { ! readelf -S "$1" | grep -q '\.debug_info'; }

make_ install DESTDIR="$root/plain" PREFIX=
expect_files "$root/plain" <<-END
	./bin/smc
	./bin/smc_run
	./lib/modprobe.d/smc.conf
	./lib/modules/$release/updates/smc.ko
	./lib/smc/libsmc-preload.so
	./share/bash-completion/completions/smc
	./share/man/man7/smc.7
	./share/man/man8/smc.8
	./share/man/man8/smc_run.8
END
is_stripped "$root/plain/bin/smc" || fail 'debug information is installed'
make_ uninstall DESTDIR="$root/plain" PREFIX=/nowhere
[[ -e $root/plain/bin/smc ]] || fail 'uninstall removes what is elsewhere'
make_ uninstall DESTDIR="$root/plain" PREFIX=
expect_files "$root/plain" </dev/null
make_ uninstall DESTDIR="$root/plain" PREFIX=

folders=(DESTDIR="$root/named" BINDIR=/b LIBDIR=/l/x MANDIR=/m COMPLETIONDIR=/c
	MODPROBEDIR=/p KMODDIR=/k STRIP=)
make_ install "${folders[@]}"
expect_files "$root/named" <<-END
	./b/smc
	./b/smc_run
	./c/smc
	./k/$release/updates/smc.ko
	./l/x/smc/libsmc-preload.so
	./m/man7/smc.7
	./m/man8/smc.8
	./m/man8/smc_run.8
	./p/smc.conf
END
! is_stripped "$root/named/b/smc" || fail 'STRIP= takes debug information away'
make_ uninstall "${folders[@]}"
expect_files "$root/named" </dev/null

# smc_run finds its library where LIBDIR says.
folders=(DESTDIR=/ BINDIR="$root/b" LIBDIR="$root/l/x" MANDIR="$root/m" COMPLETIONDIR="$root/c"
	MODPROBEDIR="$root/p" KMODDIR="$root/k")
make_ install "${folders[@]}"
"$root/b/smc_run" true || fail 'smc_run does not find its library'
mv "$root/l" "$root/elsewhere"
! "$root/b/smc_run" true 2>/dev/null || fail 'smc_run does not need its library'

# completes WORDS WORD...: bash would complete the last word to these.
completes() {
	COMP_WORDS=("$root/b/smc" "${@:2}") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_smc
	[[ ${COMPREPLY[*]} == "$1" ]] || fail "'smc ${*:2}' is completed to '${COMPREPLY[*]}'"
}

# shellcheck source=tools/smc/completion.bash
source "$root/c/smc"
completes 'sock' so
completes 'show add del flush' pnet ''
completes '--json' --j
completes 'add' -j eid a
completes 'lo' pnet add NET1 dev lo
completes '' eid add ''
completes 'show' dev ''
