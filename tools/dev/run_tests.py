#!/usr/bin/env python3
"""Builds and runs the tests of the Meson project, and counts single cases of GoogleTest and pytest.

Tests on slow software devices (suite `sampled`: lavapipe, the simulator) run one in eight pairs of op and dtype, chosen by the
commit, unless --whole is given. The last line is always `N passed, N failed, N skipped`; the exit status is 0 only if none failed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from dataclasses import dataclass, field

import run_ninja

SAMPLE = 8  # in the suite `sampled` one in this many pairs of op and dtype runs
SKIP_STATUS = 77  # the exit status of a plain program that was skipped


@dataclass
class Outcome:
    name: str
    passed: int = 0
    failures: list = field(default_factory=list)
    skips: list = field(default_factory=list)
    seconds: float = 0.0
    output: str = ""


def introspect(build, what):
    return json.loads((build / "meson-info" / f"intro-{what}.json").read_text())


def in_suite(test, name):
    return any(suite.split(":")[-1] == name for suite in test["suite"])


def is_pytest(test):
    return in_suite(test, "pytest")


def select(tests, name, suite=None, without=None):
    """The tests to run and the GoogleTest filter for them."""
    if suite:
        tests = [t for t in tests if in_suite(t, suite)]
    if without:
        tests = [t for t in tests if not in_suite(t, without)]
    if not name:
        return tests, None
    by_program = [t for t in tests if name.lower() in t["name"].lower()]
    if by_program:
        return by_program, None
    cases = [t for t in tests if t["protocol"] == "gtest" or is_pytest(t)]
    return cases, name if any(c in name for c in "*?:") else f"*{name}*"


def beside_pytorch(tests, python):
    """Runs pytest's tests twice: first without comparisons with PyTorch, then only those, with the Python that has it. Tests of the
    suite `alone` compare nothing and import what that Python lacks.
    """
    for test in tests:
        if not is_pytest(test) or in_suite(test, "alone"):
            yield test
            continue
        yield {**test, "cmd": [*test["cmd"], "-m", "not pytorch"]}
        yield {**test, "cmd": [str(python), *test["cmd"][1:], "-m", "pytorch"], "pytorch": True,
               "name": test["name"].replace("python", "pytorch", 1)}


def commit():
    """Seeds the sample, so that the same commit tests the same."""
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=pathlib.Path(__file__).parent, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.strip() or "release"


def sample(tests, salt):
    """Makes the commands of slow devices draw a sample."""
    for test in tests:
        if in_suite(test, "sampled"):
            test["cmd"] = [*test["cmd"], "--sample", f"{SAMPLE}:{salt}"]


def build_programs(build, tests, jobs):
    known = introspect(build, "targets")
    targets = {t["id"]: t["filename"] for t in known}
    wanted = {f for t in tests for dep in t["depends"] for f in targets.get(dep, [])}
    wanted |= {f for t in known if t["name"] == "python_package" for f in t["filename"]}  # links modules that are new
    paths = sorted(os.path.relpath(f, build) for f in wanted)
    if paths and run_ninja.run(["-C", build, "-j", jobs, *paths]):  # without a target ninja would build everything
        sys.exit("error: the build failed (see above); no test was run")


def count_cases(report, outcome):
    for suite in json.loads(report.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            name = f"{suite['name']}.{case['name']}"
            if case.get("failures"):
                outcome.failures.append(name)
            elif case.get("result") == "SKIPPED":
                outcome.skips.append((name, skip_reason(outcome.output, name)))
            elif case.get("status") == "RUN":
                outcome.passed += 1


def count_pytest_cases(report, outcome):
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failures.append(name)
        elif skipped is not None:
            outcome.skips.append((name, skipped.get("message", "")))
        else:
            outcome.passed += 1


def skip_reason(output, name):
    """The report lacks the message of GTEST_SKIP, but it is printed before the result."""
    found = re.search(rf": Skipped\n((?:(?!\[ RUN ).*\n)*?)\[  SKIPPED \] {re.escape(name)}\b", output)
    return " ".join(found[1].split()) if found else ""


def count_lines(output, outcome):
    """A program that died wrote no report; its output shows how far it came."""
    outcome.passed += len(re.findall(r"^\[       OK \] ", output, re.M))
    outcome.failures += re.findall(r"^\[  FAILED  \] (\S+?),? .*\(\d+ ms\)$", output, re.M)
    running = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
    outcome.failures.append(f"{running[-1] if running else outcome.name} (the program ended there)")


def run_one(build, test, pattern, slow):
    outcome = Outcome(test["name"])
    start = time.monotonic()
    gtest = test["protocol"] == "gtest"
    with tempfile.TemporaryDirectory(prefix="tenon-test-") as folder:
        os.chmod(folder, 0o755)  # some tests continue as a user without rights
        report = pathlib.Path(folder) / "report.json"
        command = list(test["cmd"])
        if gtest:
            command += [f"--gtest_output=json:{report}", "--gtest_color=no"]
            command += [f"--gtest_filter={pattern}"] if pattern else []
        if is_pytest(test):
            report = pathlib.Path(folder) / "report.xml"
            command += [f"--junitxml={report}"] + (["-k", pattern.strip("*")] if pattern else [])
        # Two programs run at once, so threads that spin while waiting would steal the other's core. The loader's cache stays in the build
        # tree.
        env = {"OMP_WAIT_POLICY": "passive", **os.environ, "XDG_CACHE_HOME": str(build.resolve() / "test-cache"),
               **test["env"], "TMPDIR": folder}
        if "PATH" in test["env"]:  # Meson only gives what is put before the existing value
            env["PATH"] += os.pathsep + os.environ["PATH"]
        try:
            done = subprocess.run(command, cwd=test["workdir"] or build, env=env, text=True, errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  timeout=test["timeout"] * slow)
            status, outcome.output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as expired:
            text = expired.stdout or b""
            status, outcome.output = -1, text if isinstance(text, str) else text.decode(errors="replace")
            outcome.output += f"\n(stopped after {test['timeout'] * slow} s)"
        if gtest and report.exists():
            count_cases(report, outcome)
            if status and not outcome.failures:
                outcome.failures.append(f"{outcome.name} (all cases passed, then exit status {status})")
        elif is_pytest(test) and report.exists():
            count_pytest_cases(report, outcome)
            if test.get("pytorch"):  # tests that compare with an installed PyTorch must not be skipped
                outcome.failures += [f"{name} (skipped: {reason})" for name, reason in outcome.skips]
                outcome.skips = []
            # 5: no case has that name, which is an error only if all programs were asked
            if status not in (0, 1, 5) or (status == 5 and not pattern and not test.get("pytorch")) or (status == 1 and not outcome.failures):
                outcome.failures.append(f"{outcome.name} (exit status {status})")
        elif gtest:
            count_lines(outcome.output, outcome)
        elif status == SKIP_STATUS:
            outcome.skips.append((outcome.name, outcome.output.strip().splitlines()[-1]))
        elif status:
            outcome.failures.append(outcome.name)
        else:
            outcome.passed = 1
    outcome.seconds = time.monotonic() - start
    return outcome


def run_all(build, tests, pattern, jobs, slow):
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        # Starts with those that may take longest, so that no core is idle at the end.
        ordered = sorted(tests, key=lambda t: -t["timeout"])
        for future in concurrent.futures.as_completed([pool.submit(run_one, build, t, pattern, slow) for t in ordered]):
            outcome = future.result()
            outcomes.append(outcome)
            if outcome.failures:
                print(outcome.output)
            if outcome.passed or outcome.failures or outcome.skips:
                word = "FAILED" if outcome.failures else "ok"
                print(f"{word:6} {outcome.name:32} {outcome.passed:6} cases {outcome.seconds:7.1f} s", flush=True)
    return outcomes


def main():
    parser = argparse.ArgumentParser(prog="./dev test", description=__doc__)
    parser.add_argument("name", nargs="?", help="part of a test program's name, or a GoogleTest filter")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    parser.add_argument("--slow", type=float, default=1.0, help="multiply every time limit by this (for sanitizers)")
    parser.add_argument("--whole", action="store_true", help="run every case on slow devices, too, instead of a sample")
    parser.add_argument("--pytorch", type=pathlib.Path, metavar="DIR", help="also run the tests that compare with PyTorch, with DIR/python")
    parser.add_argument("--suite", help="run only tests of this Meson suite")
    parser.add_argument("--without", metavar="SUITE", help="leave out the tests of this Meson suite")
    options = parser.parse_args()

    if run_ninja.run(["-C", options.build, "-j", options.jobs, "build.ninja"]):
        sys.exit("error: the build could not be configured (see above)")
    tests = introspect(options.build, "tests")
    if options.pytorch:
        tests = list(beside_pytorch(tests, options.pytorch.absolute() / "python"))
    tests, pattern = select(tests, options.name, options.suite, options.without)
    if not options.whole:
        sample(tests, commit())
    build_programs(options.build, tests, options.jobs)
    outcomes = run_all(options.build, tests, pattern, options.jobs, options.slow)

    for outcome in outcomes:
        for name, reason in outcome.skips:
            print(f"skipped {name}: {reason or 'no reason given'}")
    for outcome in outcomes:
        for name in outcome.failures:
            print(f"failed  {name}")
    passed = sum(o.passed for o in outcomes)
    failed = sum(len(o.failures) for o in outcomes)
    skipped = sum(len(o.skips) for o in outcomes)
    if passed + failed + skipped == 0:
        print(f"error: no test matches '{options.name or ''}'", file=sys.stderr)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or passed + skipped == 0 else 0)


if __name__ == "__main__":
    main()
