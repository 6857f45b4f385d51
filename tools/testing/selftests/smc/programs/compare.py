#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""compare.py GUEST TCP SMC KNOWN SUITE...: what the tests did over TCP and over SMC sockets.

GUEST is the exit status of the guest. A test counts as failed when it ended over SMC in another
way than over TCP, unless it passed or KNOWN names it, and, but for Python's, when it failed over
both; one of Python's that did is shown and counts as skipped. A suite counts as failed, unless
KNOWN names it, when its process did not come to its end in a run or no test of it passed: it died
alike in both. The last line is the tally, and the exit status 1 if something failed.
"""

import json
import pathlib
import sys


class Run:
    """The outcome of each test, and how the process of each suite ended."""

    def __init__(self, path):
        self.tests, self.why, self.ends = {}, {}, {}
        for line in pathlib.Path(path).read_text().splitlines():
            record = json.loads(line)
            if "suite" in record:
                self.ends[record["suite"]] = record["end"]
            # A subtest's failure is the test's.
            elif self.tests.get(record["test"]) != "failed":
                self.tests[record["test"]] = record["outcome"]
                self.why[record["test"]] = record["why"]
        # One that began and has no end hung or crashed.
        self.tests = {t: "never ended" if o == "began" else o for t, o in self.tests.items()}

    def fault(self, suite):
        """The fault of a suite as a whole, or None."""
        end = self.ends.get(suite, "not run")
        if end != "done":
            return end
        if not any(o == "passed" for t, o in self.tests.items() if t.startswith(f"{suite}.")):
            return "no test passed"
        return None


def known_names(path):
    """Lines of KNOWN: a test or a suite, blank, the reason."""
    lines = pathlib.Path(path).read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def count_fault(name, fault, known, tally):
    """One that KNOWN excuses is skipped. Return: whether it is none of those."""
    if name in known:
        tally["skipped"] += 1
        print(f"known: {name}: {fault}: {known[name]}")
        return False
    tally["failed"] += 1
    print(f"not ok: {name}: {fault}")
    return True


def compare_tests(tcp, smc, known, tally):
    for test, before in sorted(tcp.tests.items()):
        after = smc.tests.get(test, "not run")
        if after == "passed":
            tally["passed"] += 1
            if before != after:
                print(f"better over SMC: {test}: {before} over TCP")
            if test in known:
                print(f"known no more: {test} passed")
        elif before == after and (before == "skipped" or test.startswith("test_")):
            tally["skipped"] += 1
            if before != "skipped":
                print(f"alike: {test}: {before} over both")
        elif count_fault(test, f"{before} over TCP, {after} over SMC", known, tally):
            print("".join(f"    {line}\n" for line in smc.why.get(test, "").splitlines()), end="")


def compare_suites(tcp, smc, suites, known, tally):
    for suite in suites:
        faults = [f"{fault} over {way}" for way, run in (("TCP", tcp), ("SMC", smc))
                  if (fault := run.fault(suite))]
        if not faults:
            if suite in known:
                print(f"known no more: {suite} came to its end")
        else:
            count_fault(suite, ", ".join(faults), known, tally)


def main():
    guest, suites, known = sys.argv[1], sys.argv[5:], known_names(sys.argv[4])
    tcp, smc = Run(sys.argv[2]), Run(sys.argv[3])
    tally = {"passed": 0, "failed": 0, "skipped": 0}
    compare_tests(tcp, smc, known, tally)
    compare_suites(tcp, smc, suites, known, tally)
    if guest != "0":
        tally["failed"] += 1
        print("not ok: the guest, see above")
    print(", ".join(f"{count} {what}" for what, count in tally.items()))
    sys.exit(tally["failed"] > 0)


main()
