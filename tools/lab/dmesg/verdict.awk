# SPDX-License-Identifier: GPL-2.0
#
# Prints what in a kernel log matches an expression of the file "fatal" and none
# of the file "noise" or of $ALLOW (newline-separated), with some lines that
# follow it. A report between "cut here" and "end trace" is judged as one: it is
# excused if one of its lines is, because the others (its call trace) look like
# anybody's; for the same reason an excused line covers a call trace right below.
# Exit status 1 if anything was printed.

function load(file, list,    line, n) {
	while ((getline line <file) > 0)
		if (line != "" && line !~ /^#/)
			list[++n] = line
	close(file)
	return n
}

function matches(line, list, n,    i) {
	for (i = 1; i <= n; i++)
		if (line ~ list[i])
			return 1
	return 0
}

function judge(    i) {
	if (excused)
		covered = COVER
	if (guilty && !excused) {
		failed = 1
		context = CONTEXT
	}
	if (context > 0)
		for (i = 1; i <= held; i++)
			print report[i]
	context--
	covered--
	held = guilty = excused = in_report = 0
}

BEGIN {
	COVER = 9
	CONTEXT = 40
	bads = load(fatal, bad)
	oks = load(noise, ok)
	n = split(ENVIRON["ALLOW"], extra, "\n")
	for (i = 1; i <= n; i++)
		if (extra[i] != "")
			ok[++oks] = extra[i]
}

{ sub(/\r$/, "") }

# The lab itself causes the lines that follow.
/lab: dump of a hang follows/ { exit }

# SysRq shows the tasks of a guest that hangs, and their traces mean nothing.
/sysrq: Show / { traces_asked = 1 }

/-\[ cut here \]-/ {
	judge()
	in_report = 1
}

{
	report[++held] = $0
	if (matches($0, ok, oks))
		excused = 1
	else if (matches($0, bad, bads) && !(/Call Trace:/ && (covered > 0 || traces_asked)))
		guilty = 1
	if (!in_report || /-\[ end trace /)
		judge()
}

END {
	judge()
	exit failed
}
