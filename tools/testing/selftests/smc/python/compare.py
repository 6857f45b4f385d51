#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py TCP SMC KNOWN SUITE...: what Python's tests did over TCP and over SMC sockets.

A test counts as failed when it passed over TCP and not over SMC, unless KNOWN names it, and a
suite when no test of it passed in a run: it died alike in both. The last line is the tally.
"""

import json
import pathlib
import sys


def outcomes(path):
    """What became of each test; one that began and never ended hung or crashed."""
    found, why = {}, {}
    for line in pathlib.Path(path).read_text().splitlines():
        record = json.loads(line)
        test, outcome = record["test"], record["outcome"]
        # A subtest's failure is the test's.
        if found.get(test) == "failed":
            continue
        found[test] = outcome
        why[test] = record["why"]
    return {t: "never ended" if o == "began" else o for t, o in found.items()}, why


def known_tests(path):
    """Lines of KNOWN: a test, blank, the reason."""
    lines = pathlib.Path(path).read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def passed_none(suite, found):
    """Whether no test of the suite passed; what dies early may have no record at all."""
    return not any(o == "passed" for t, o in found.items() if t.startswith(f"test.{suite}."))


def main():
    tcp, _ = outcomes(sys.argv[1])
    smc, why = outcomes(sys.argv[2])
    known = known_tests(sys.argv[3])
    passed = failed = skipped = 0
    for test, before in sorted(tcp.items()):
        after = smc.get(test, "not run")
        if before == "skipped" and after == "skipped":
            skipped += 1
        elif before == after or after == "passed":
            passed += 1
            if before != after:
                print(f"better over SMC: {test}: {before} over TCP")
        elif test in known:
            skipped += 1
            print(f"known: {test}: {after}: {known[test]}")
        else:
            failed += 1
            print(f"not ok: {test}: {before} over TCP, {after} over SMC")
            print("".join(f"    {line}\n" for line in why.get(test, "").splitlines()), end="")
    for test in sorted(known.keys() & smc.keys()):
        if smc[test] == "passed":
            print(f"known no more: {test} passed")
    for suite in sys.argv[4:]:
        for way, found in ("TCP", tcp), ("SMC", smc):
            if passed_none(suite, found):
                failed += 1
                print(f"not ok: {suite}: no test passed over {way}")
    failed += not passed
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)


main()
