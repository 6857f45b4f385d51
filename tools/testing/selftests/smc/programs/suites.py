#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""suites.py OUT SECONDS SUITE...: run suites of tests.

A suite is one of Python's own, or a program beside this one that says in lines what becomes of its
tests: "began TEST", then "passed TEST", "skipped TEST" or "failed TEST", blank, why. Each is a
process of its own that may take SECONDS. OUT gets a line of JSON for every test as it begins and as
it ends, and one for the end of the suite, so that what hangs or crashes is seen to have done so.
"""

import json
import pathlib
import subprocess
import sys
import unittest


class Recorder(unittest.TestResult):
    """Writes what becomes of each test."""

    def __init__(self, out):
        super().__init__()
        self.out = out

    def tell(self, test, outcome, why=""):
        name = test.id().removeprefix("test.")
        print(json.dumps({"test": name, "outcome": outcome, "why": why}),
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


def run_program(program, name, out):
    """Run what is no suite of Python's. Return: its exit status."""
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as suite:
        for line in suite.stdout:
            outcome, test, *why = line.rstrip().split(maxsplit=2)
            print(json.dumps({"test": f"{name}.{test}", "outcome": outcome, "why": "".join(why)}),
                  file=out, flush=True)
    return suite.returncode


def run_suite(name, out):
    from test import support

    # Nothing that needs the Internet or much of the machine. The "network" of test_socketserver is
    # loopback.
    support.use_resources = ["network"] if name == "test_socketserver" else []
    suite = unittest.defaultTestLoader.loadTestsFromName(f"test.{name}")
    suite.run(Recorder(out))
    return 0


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
        name = sys.argv[3]
        program = pathlib.Path(__file__).resolve().with_name(name)
        with open(sys.argv[2], "a", encoding="utf-8") as out:
            sys.exit(run_program(program, name, out) if program.exists() else run_suite(name, out))
    path, seconds = sys.argv[1], int(sys.argv[2])
    for name in sys.argv[3:]:
        print(f"# {name}", flush=True)
        end = end_of(name, path, seconds)
        print(f"# {name}: {end}", flush=True)
        with open(path, "a", encoding="utf-8") as out:
            print(json.dumps({"suite": name, "end": end}), file=out)


main()
