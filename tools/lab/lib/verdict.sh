# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Judging a kernel log, on the host as in a guest.

# verdict_dmesg FILE ALLOW: print the complaints in a log; fails if there are any.
# ALLOW is a newline-separated list of expressions that excuse one.
verdict_dmesg() {
	ALLOW=$2 awk -v fatal="$LAB_DIR/dmesg/fatal" -v noise="$LAB_DIR/dmesg/noise" \
		-f "$LAB_DIR/dmesg/verdict.awk" "$1"
}

# verdict_show GUEST WHAT SED: the beginning of WHAT.txt that a guest left, if any.
verdict_show() {
	local file=$RUN/g$1/$2.txt
	[[ ! -s $file ]] || sed "$3" "$file" | sed "s/^/[g$1 $2] /" | head -n 80
}

# verdict_run: judge a run after its guests are gone, and say so.
verdict_run() {
	local guest file complaints
	for ((guest = 0; guest < LAB_NODES; guest++)); do
		for file in console.log dmesg; do
			file=$RUN/g$guest/$file
			[[ -f $file ]] || continue
			complaints=$(verdict_dmesg "$file" "$LAB_ALLOW_DMESG") && continue
			sed "s/^/[g$guest kernel] /" <<<"$complaints" | head -n 80
			FAILURES+=("g$guest: the kernel complained, see above")
			break
		done
		verdict_show "$guest" hang '/^== kernel stacks/Q'
		verdict_show "$guest" kmemleak ''
	done
	if ((${#FAILURES[@]} == 0)); then
		say "passed in $SECONDS s"
		return
	fi
	say "FAILED after $SECONDS s:"
	printf 'lab:   %s\n' "${FAILURES[@]}" >&2
	return 1
}
