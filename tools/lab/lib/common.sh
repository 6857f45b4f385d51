# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Variables and functions that all parts of the lab share: places, and complaints.

LAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
LAB_REPO=$(cd "$LAB_DIR/../.." && pwd -P)
LAB_CACHE=${SMC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/smc-lab}

PATH=$PATH:/usr/sbin:/sbin

say() { printf 'lab: %s\n' "$*" >&2; }

die() {
	say "$*"
	exit 2
}

# need COMMAND PACKAGE: stop with the package's name when a command is missing.
need() {
	command -v "$1" >/dev/null || die "$1 is missing: apt-get install $2"
}

# locked NAME COMMAND...: run a command while no other lab in this cache runs
# one under the same name.
locked() {
	local name=$1 fd rc=0
	shift
	mkdir -p "$LAB_CACHE"
	exec {fd}>"$LAB_CACHE/.lock.$name"
	flock "$fd"
	"$@" {fd}>&- || rc=$?
	exec {fd}>&-
	return "$rc"
}
