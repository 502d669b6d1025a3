#!/usr/bin/env python3
"""Measures what docs/sdk/figures.md states, and writes it.

usage: figures.py --build BUILD_FOLDER --out docs/sdk/figures.md [--only NAME]

Each figure is a function below that returns its rows. A figure that could not be taken is stated with the reason, and the
exit status is 1.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SMALLEST = ROOT / "examples/plugins/smallest.c"
REPETITIONS = 30


class Missing(Exception):
    pass


def run(*words, check=True, **variables):
    """The output of a command."""
    done = subprocess.run([str(w) for w in words], cwd=ROOT, env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if check and done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise Missing(f"{pathlib.Path(str(words[0])).name}: {last[0]}")
    return done.stdout


def program(build, name):
    path = build / name
    if not path.exists():
        raise Missing(f"{name} is not built")
    return path


def smallest_plugin(build):
    """The test trains the classic network on it and compares the loss curve with that of the CPU."""
    test = program(build, "tests/examples_plugins_test")
    run(test, "--gtest_filter=*TheSmallestBackendTrains*", TENON_PLUGIN_PATH=str(build / "plugins/cpu"))
    lines = SMALLEST.read_text().splitlines()
    code = [line for line in lines if line.strip() and not line.startswith("/*")]
    with tempfile.TemporaryDirectory() as folder:  # as `tenon devices` sees it
        os.symlink(program(build, "tests/examples/example_smallest.so"), f"{folder}/smallest.so")
        card = {"id": "org.example.smallest", "version": "1.0.0", "abi": {"major": 1}, "library": "smallest.so"}
        pathlib.Path(folder, "smallest.tenon.json").write_text(json.dumps(card))
        ops = json.loads(run(program(build, "tools/tenon"), "ops", "--json", TENON_PLUGIN_PATH=folder))
    if not ops or "smallest:0" not in ops[0]["providers"]:
        raise Missing("the smallest plugin was not found by `tenon ops`")
    kernels = sum(op["providers"]["smallest:0"] == "org.example.smallest" for op in ops)
    return [("Lines of the smallest plugin that trains the classic network", f"{len(lines)}",
             f"[`examples/plugins/smallest.c`](../../examples/plugins/smallest.c), {len(code)} without comments and blank lines; its "
             "loss curve is the CPU's"),
            ("Kernels it needed", f"{kernels}", "every op runs through its decomposition or the host; each kernel added makes it faster")]


def call_overhead(build):
    """Medians of alternating runs, so that changes in the machine's speed affect all of them."""
    report = json.loads(run(program(build, "benchmarks/bench_abi_call"), "--benchmark_format=json", "--benchmark_min_time=0.05",
                            f"--benchmark_repetitions={REPETITIONS}", "--benchmark_enable_random_interleaving=true"))
    times = {}
    for row in report["benchmarks"]:
        if row["run_type"] == "iteration":
            times.setdefault(row["run_name"], []).append(row["cpu_time"])
    median = {name: statistics.median(values) for name, values in times.items()}
    spread = {name: statistics.quantiles(values, n=4) for name, values in times.items()}
    quartiles = {name: f"{median[name]:.1f} ({low:.1f}–{high:.1f})" for name, (low, _, high) in spread.items()}
    return [("Call overhead across the ABI over a direct call, ns (at most 15)", f"{median['across_the_abi'] - median['direct']:.1f}",
             f"16 floats added: {quartiles['direct']} ns as a direct call, {quartiles['across_the_abi']} ns as a plugin's kernel through "
             f"`tn_call`; medians and quartiles of {REPETITIONS} interleaved runs of `bench_abi_call`. The whole op `x + y`, with "
             f"dispatch and a new tensor: {quartiles['whole_op']} ns")]


def cold_scan(build):
    found = json.loads(run(sys.executable, "benchmarks/loader.py", "--build", build, "--json"))
    return [(f"Cold scan of {found['plugins']} plugins, ms", f"{found['cold_scan_ms']:.0f}",
             f"each library probed in a child process; {found['warm_scan_ms']:.1f} ms once verdicts are cached. "
             f"{found['refused']} refused, of which {found['refused_opened_in_host']} were ever opened in the host")]


def conformance(build):
    def check(plugin):
        found = json.loads(run(program(build, "tools/tenon"), "check", plugin, "--json", check=False))
        if found["failed"]:
            raise Missing(f"{found['failed']} cases failed; tenon check {plugin}")
        return found

    # A device whose kernels are the host's, and one with its own memory, where most ops fall back to the host.
    cpu, template = check("cpu"), check(program(build, "sdk/template/tenon_template.so"))
    injected, survived = (cpu[key] + template[key] for key in ("injected", "survived"))
    return [("Cases in the conformance suite", f"{template['cases']:,}",
             f"`tenon check` of the template, {template['seconds']:.0f} s; of the CPU plugin {cpu['cases']:,}, with {cpu['skipped']} "
             "skipped for a reason that the report gives"),
            ("Allocation failures injected and survived", f"{injected:,} / {survived:,}",
             "each allocation of each op and of a training step, on the CPU and on the template, refused once and for good: a typed "
             "error, no leak, and the same work is right afterwards")]


def broken_plugins(build):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # one of the tests continues as a user without rights
        report = pathlib.Path(folder) / "report.json"
        run(program(build, "tests/core_plugin_test"), f"--gtest_output=json:{report}", TMPDIR=folder)
        found = json.loads(report.read_text())
    tried = int(found["broken_plugins_tried"])
    return [("Broken plugins tried and survived", f"{tried} / {tried}",
             "through discovery and by explicit path: a status that names plugin and reason, and the others load")]


def header_mutants(build):
    found = json.loads(run(sys.executable, "sdk/abi/abi.py", "mutants", "--json"))
    same = f"; {found['equivalent']} more change nothing" if found.get("equivalent") else ""
    return [("Header mutants caught", f"{found['caught']} of {found['mutants']}",
             f"fields reordered, widened, removed, constants changed: the lock of `sdk/abi/` names each{same}")]


FIGURES = [smallest_plugin, call_overhead, cold_scan, conformance, broken_plugins, header_mutants]


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(prog="./dev figures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the page to write")
    parser.add_argument("--only", metavar="NAME", help="print one figure, write nothing: " + ", ".join(f.__name__ for f in FIGURES))
    options = parser.parse_args()
    chosen = [f for f in FIGURES if options.only in (None, f.__name__)]
    if not chosen:
        parser.error(f"no figure '{options.only}': " + ", ".join(f.__name__ for f in FIGURES))

    rows, missing = [], 0
    for figure in chosen:
        print(f"{figure.__name__} …", file=sys.stderr, flush=True)
        try:
            rows += figure(options.build.resolve())
        except (Missing, OSError, ValueError, KeyError, TypeError) as reason:
            missing += 1
            rows.append((figure.__name__.replace("_", " "), "not taken", f"{type(reason).__name__}: {reason}"))
    table = ["| figure | value | what was measured |", "|---|---|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)]
    if options.only:
        print("\n".join(table))
    else:
        options.out.write_text("# Figures\n\nWritten by `./dev figures`, which measures them all; times are those of this machine: "
                               f"{machine()}.\n\n" + "\n".join(table) + "\n")
        print(f"wrote {options.out}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
