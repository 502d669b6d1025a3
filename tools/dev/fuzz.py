#!/usr/bin/env python3
"""Runs fuzzers in turn until stopped; each finding comes with the command that repeats it.

examples:
  ./dev fuzz                           all targets, until Ctrl-C
  ./dev fuzz ops --seconds 60          one target, a minute
  ./dev fuzz ops --op gather --seed 7  one op, from your own seed
  ./dev fuzz --list                    the targets, and what each does

The exit status is 1 if anything was found.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass

import run_ninja

ROOT = pathlib.Path(__file__).resolve().parents[2]
TURN = 120  # seconds that a target runs before the next one gets its turn


@dataclass
class Target:
    """A program of tests/fuzz/ that takes --seed, --seconds and --jobs, reports progress on stderr, prints a line that begins with
    FOUND for each finding, and then ends with status 1."""

    name: str
    about: str
    program: str  # in the build tree
    needs: tuple = ()  # files that it expects there as well

    def programs(self):
        """What ninja must build for it."""
        return [self.program, *self.needs]

    def command(self, options, seed, seconds):
        return [options.build / self.program, "--seed", seed, "--seconds", seconds, "--jobs", options.jobs]


@dataclass
class Ops(Target):
    # The plugins with kernels, and what the core needs to find them.
    needs: tuple = ("tools/probe/tenon-probe", "plugins/cpu/tenon_cpu.so", "plugins/cpu/tenon_cpu.tenon.json")

    def command(self, options, seed, seconds):
        one = ["--op", options.op] if options.op else []
        return [*super().command(options, seed, seconds), *one]


@dataclass
class CAbi(Ops):
    """A script over the library that `program` names."""

    graphs: tuple = ()  # the libraries of graphs and of ONNX models, to call these instead

    def command(self, options, seed, seconds):
        graphs = ["--graphs", *(options.build / each for each in self.graphs)] if self.graphs else []
        return [sys.executable, ROOT / "tests/fuzz/c_abi.py", *super().command(options, seed, seconds), "--rounds", 200, *graphs]

    def programs(self):
        return [*super().programs(), *self.graphs]


@dataclass
class Package(Ops):
    """A script over the Python package, whose extension `program` names."""

    script: str = ""

    def command(self, options, seed, seconds):
        return ["env", f"PYTHONPATH={options.build.resolve() / 'python'}", f"PATH={options.build.resolve() / 'tools'}:{os.environ['PATH']}",
                sys.executable, ROOT / "tests/fuzz" / self.script, "--seed", seed, "--seconds", seconds]


def of_package(name, about, script):
    extension = f"python/tenon/_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    return Package(name, about, extension, (*Ops.needs, "tools/tenon"), script)


@dataclass
class Bytes(Target):
    """A program of tests/fuzz/inputs/ with libFuzzer's own arguments. What it learns is kept in fuzz-NAME/ of the build tree."""

    longest: int = 1024  # the longest input in bytes, at least as long as those of the corpus

    def command(self, options, seed, seconds):
        found = options.build / f"fuzz-{self.name}"
        found.mkdir(exist_ok=True)
        return ["env", f"TENON_PLUGIN_PATH={options.build / 'plugins/cpu'}", "TENON_PROBE=off",  # none lies beside the program
                "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1", options.build / self.program, f"-seed={seed}", f"-max_total_time={seconds}", f"-max_len={self.longest}", "-verbosity=0",
                "-print_final_stats=1", f"-artifact_prefix={found}-", found, ROOT / "tests/fuzz/inputs/corpus" / self.name]


def from_outside(name, about, needs=(), longest=1024):
    return Bytes(name, about, f"tests/fuzz/inputs/fuzz_{name}", needs, longest)


TARGETS = {
    target.name: target
    for target in (
        Ops("ops", "every op with hostile operands behind guard pages, plain and recording", "tests/fuzz/fuzz_ops"),
        CAbi("c_abi", "every function of the C ABI with NULL, garbage and short structs", "core/libtenon.so.1.0.0"),
        CAbi("c_abi_graphs", "every function of tenon/graph.h and tenon/onnx.h likewise", "core/libtenon.so.1.0.0",
             graphs=("libs/graph/libtenon_graph.so.1.0.0", "libs/onnx/libtenon_onnx.so.1.0.0")),
        of_package("python", "every public name of the Python package with hostile arguments", "python_calls.py"),
        of_package("python_files", "every reader of the Python package with changed files", "python_files.py"),
        from_outside("safetensors", "files of weights, by libFuzzer, as all below"),
        from_outside("gguf", "GGUF files, unpacked"),
        from_outside("idx", "IDX files, plain and packed"),
        from_outside("csv", "tables, with every option"),
        from_outside("card", "identity cards of plugins"),
        from_outside("schema", "schemas of ops, which plugins bring"),
        from_outside("graph", "graphs as files hold them", longest=8192),
        from_outside("onnx", "ONNX models"),
        from_outside("einsum", "equations of einsum, computed", Ops.needs),
    )
}


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="which fuzzers; default: all")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("--seconds", type=int, metavar="N", help="stop after about N seconds, split among the targets")
    parser.add_argument("--forever", action="store_true", help="run until Ctrl-C (the default)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first round; each later round adds one (default: 1)")
    parser.add_argument("--op", metavar="NAME", help="only this op (target ops)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target '{unknown[0]}'; there is {', '.join(TARGETS)}")
    if options.seconds is not None and (options.forever or options.seconds < 1):
        parser.error("--seconds takes a number of at least 1, and does not go with --forever")
    if options.op and not options.targets:
        options.targets = ["ops"]
    return options


def run_turn(target, options, seed, seconds):
    """The findings of one turn: its FOUND lines. A fuzzer that fails without naming a finding is one as well."""
    command = [str(word) for word in target.command(options, seed, seconds)]
    findings = []
    with subprocess.Popen(command, text=True, errors="replace", stdout=subprocess.PIPE) as child:
        try:
            for line in child.stdout:
                print(line, end="", flush=True)
                if line.startswith("FOUND"):
                    findings.append(line.rstrip())
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            child.wait()
            raise
    if child.returncode and not findings:
        findings.append(f"FOUND {' '.join(command)} ended with status {child.returncode}")
        print(findings[-1], flush=True)
    return findings


def run_turns(targets, options, clock=time.monotonic):
    """Runs turns until the time is up or somebody stops it."""
    findings, turns, start = [], 0, clock()
    share = TURN if options.seconds is None else max(1, min(TURN, options.seconds // len(targets)))
    try:
        while options.seconds is None or turns == 0 or clock() - start + share <= options.seconds:
            for target in targets:
                print(f"== {target.name}, seed {options.seed + turns}, {share} s", file=sys.stderr, flush=True)
                findings += run_turn(target, options, options.seed + turns, share)
            turns += 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return findings


def main():
    options = parse(sys.argv[1:])
    if options.list:
        for target in TARGETS.values():
            print(f"{target.name:12} {target.about}")
        return 0
    targets = [TARGETS[name] for name in options.targets or TARGETS]
    programs = sorted({program for target in targets for program in target.programs()})
    if run_ninja.run(["-C", options.build, "-j", options.jobs, *programs]):
        sys.exit("error: the build failed (see above); nothing was run")
    findings = run_turns(targets, options)
    print(f"{len(findings)} found" if findings else "nothing found", flush=True)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
