#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""suites.py OUT SECONDS SUITE...: run some of Python's own test suites.

Each suite is a process of its own that may take SECONDS. OUT gets a line of JSON for every
test as it begins and as it ends, and one for the end of the suite, so that what hangs or crashes
is seen to have done so.
"""

import json
import subprocess
import sys
import unittest


class Recorder(unittest.TestResult):
    """Writes what becomes of each test."""

    def __init__(self, out):
        super().__init__()
        self.out = out

    def tell(self, test, outcome, why=""):
        print(json.dumps({"test": test.id(), "outcome": outcome, "why": why}),
              file=self.out, flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.tell(test, "began")

    def addSuccess(self, test):
        self.tell(test, "passed")

    def addError(self, test, err):
        self.tell(test, "failed", self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        self.tell(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        self.tell(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.tell(test, "passed")

    def addUnexpectedSuccess(self, test):
        self.tell(test, "failed", "unexpected success")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.tell(test, "failed", self._exc_info_to_string(err, test))


def run_suite(name, out):
    from test import support

    # Nothing that needs the Internet or much of the machine. What test_socketserver calls the
    # network is loopback.
    support.use_resources = ["network"] if name == "test_socketserver" else []
    suite = unittest.defaultTestLoader.loadTestsFromName(f"test.{name}")
    suite.run(Recorder(out))


def end_of(name, path, seconds):
    """Run a suite in a process. "done", or how else that ended."""
    try:
        status = subprocess.run([sys.executable, __file__, "--one", path, name], timeout=seconds,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, check=False).returncode
    except subprocess.TimeoutExpired:
        return f"not done after {seconds} s"
    if status < 0:
        return f"killed by signal {-status}"
    return f"exit status {status}" if status else "done"


def main():
    if sys.argv[1] == "--one":
        with open(sys.argv[2], "a", encoding="utf-8") as out:
            run_suite(sys.argv[3], out)
        return
    path, seconds = sys.argv[1], int(sys.argv[2])
    for name in sys.argv[3:]:
        print(f"# {name}", flush=True)
        end = end_of(name, path, seconds)
        print(f"# {name}: {end}", flush=True)
        with open(path, "a", encoding="utf-8") as out:
            print(json.dumps({"suite": name, "end": end}), file=out)


main()
