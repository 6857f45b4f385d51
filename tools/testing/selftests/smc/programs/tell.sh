# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For suites to source: what suites.py is told of their tests.

# try TEST COMMAND...: what the command says is told if it fails; status 4 is a test that skips
# itself, as with the kernel's.
try() {
	local test=$1 said status
	shift
	echo "began $test"
	said=$("$@" 2>&1)
	status=$?
	case $status in
	0) echo "passed $test" ;;
	4) echo "skipped $test" ;;
	*) echo "failed $test status $status: $(tail -n 5 <<<"$said" | tr '\n' '|')" ;;
	esac
}
