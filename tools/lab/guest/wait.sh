# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts in guests to source: waiting for what comes by itself.

# until_true TEXT COMMAND...: wait for a condition, for a minute at most.
until_true() {
	local text=$1 end=$((SECONDS + 60))
	shift
	until "$@"; do
		((SECONDS < end)) || { echo "waited in vain: $text"; return 1; }
		sleep 0.1
	done
}

# listens PORT: whether a TCP server is there.
listens() { [[ $(ss -Hltn "sport = :$1") ]]; }
