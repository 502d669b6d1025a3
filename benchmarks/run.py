#!/usr/bin/env python3
"""Benchmarks of Tenon against LibTorch and PyTorch, interleaved in one run.

examples:
  ./dev bench                         everything, 7 rounds, a table on the screen
  ./dev bench --rounds 11 --write     more rounds; writes the table into benchmarks/README.md
  ./dev bench --filter classic        some works only
  ./dev bench --no-peers              Tenon alone
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent

# Work, what it is called in the table, the peer, the ratio to reach.
ROWS = [
    ("add_16", "`a + b`, 16 floats, no gradient", "libtorch", 8),
    ("add_16_grad", "`a + b`, 16 floats, with gradient", "libtorch", 8),
    ("mul_sum_backward", "mul + sum + backward, 4 floats", "libtorch", 10),
    ("mlp_step", "MLP 64-64-10, batch 32, SGD step", "libtorch", 4),
    ("classic_step/8", "classic network, batch 8, SGD step", "pytorch", 4),
    ("classic_step/64", "classic network, batch 64, SGD step", "pytorch", 2.5),
    ("classic_step/512", "classic network, batch 512, SGD step", "pytorch", 1.3),
    ("classic_step/8", "classic network, batch 8, SGD step", "libtorch", None),
    ("classic_step/64", "classic network, batch 64, SGD step", "libtorch", None),
    ("classic_step/512", "classic network, batch 512, SGD step", "libtorch", None),
    ("classic_forward/8", "classic network, batch 8, forward", "libtorch", None),
    ("classic_forward/64", "classic network, batch 64, forward", "libtorch", None),
    ("classic_forward/512", "classic network, batch 512, forward", "libtorch", None),
    ("add_1m", "add, 1 M floats", "libtorch", 1),
    ("million/exp", "exp, 1 M floats", "libtorch", 3),
    ("million/gelu", "gelu, 1 M floats", "libtorch", 3),
    ("million/softmax", "softmax, 1 M floats", "libtorch", 2),
    ("million/layer_norm", "layer_norm, 1 M floats", "libtorch", 2),
    ("matmul_1024/f32", "matmul 1024³, f32", "libtorch", 0.95),
    ("matmul_1024/bf16", "matmul 1024³, bf16", "libtorch", 0.95),
    ("conv_3x3", "conv 3×3, 64→64, 56×56, batch 8", "libtorch", 0.95),
    ("resnet18_step", "ResNet-18, training step, 8×64×64", "libtorch", 1.3),
    ("resnet18_forward/8/64", "ResNet-18, inference, 8×64×64", "libtorch", 1.3),
    ("resnet18_forward/1/224", "ResNet-18, inference, 1×224×224", "libtorch", 1.3),
    ("char_gpt_step", "char-GPT, training step, 8×64", "libtorch", 1.3),
    ("char_gpt_forward", "char-GPT, inference, 8×64", "libtorch", 1.3),
    ("lstm_step", "LSTM tagger, training step, 16×64", "libtorch", 1.3),
    ("lstm_forward/1", "LSTM tagger, inference, 1×64", "libtorch", 1.3),
    ("lstm_forward/16", "LSTM tagger, inference, 16×64", "libtorch", 1.3),
]


def fail(message):
    sys.exit(f"bench: {message}")


def run_google_benchmark(program, pattern, environment, min_time):
    """Seconds of each work of one program, run once."""
    command = [str(program), "--benchmark_format=json", f"--benchmark_min_time={min_time}", f"--benchmark_filter={pattern}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{program} failed: {done.stderr.strip()[-500:]}")
    if not done.stdout.strip():
        return {}
    return {b["name"].removesuffix("/real_time"): b["real_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[b["time_unit"]]
            for b in json.loads(done.stdout)["benchmarks"]}


def peer_environment(peers):
    """The libraries that the wrapper of peers/install puts on the path."""
    wrapper = (peers / "python").read_text()
    path = re.search(r'LD_LIBRARY_PATH="(.*)"', wrapper).group(1)
    shown = subprocess.run(["bash", "-c", f'echo "{path}"'], capture_output=True, text=True, check=True).stdout.strip()
    return {**os.environ, "LD_LIBRARY_PATH": shown}


def build_libtorch(peers, out, environment):
    """Compiles peers/libtorch_*.cpp against the wheel, once."""
    sources = sorted(HERE.glob("peers/libtorch_*.cpp"))
    if out.exists() and out.stat().st_mtime > max(source.stat().st_mtime for source in (*sources, HERE / "models.hpp")):
        return
    print("compiling the LibTorch peer (three minutes)", file=sys.stderr)
    script = "import torch, pathlib; print(pathlib.Path(torch.__file__).parent); print(int(torch.compiled_with_cxx11_abi()))"
    root, abi = subprocess.run([str(peers / "python"), "-c", script], capture_output=True, text=True, check=True).stdout.split()
    command = ["g++", "-std=c++20", "-O2", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *map(str, sources), "-o", str(out),
               f"-I{root}/include", f"-I{root}/include/torch/csrc/api/include", f"-L{root}/lib", f"-Wl,-rpath,{root}/lib",
               "-ltorch_cpu", "-lc10", "-ltorch", "-lbenchmark", "-lpthread", "-Wl,--allow-shlib-undefined"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"cannot compile the LibTorch peer:\n{done.stderr[-1500:]}")


def timed(command, environment=None):
    """Wall seconds and peak resident MiB of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        fail(f"{command[0]} ended with status {status}")
    return seconds, usage.ru_maxrss / 1024


def spread(values):
    return f"{statistics.median(values):.3g} ({min(values):.3g}–{max(values):.3g})"


def show_seconds(value):
    for unit, scale in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if value < 1000 * scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g} s"


def table(samples, startup, peaks, rounds):
    lines = ["| work | peer | Tenon | peer's time | ratio: median (low–high) | wanted | |", "|---|---|---|---|---|---|---|"]
    for name, title, peer, wanted in ROWS:
        ours, theirs = samples["tenon"].get(name), samples[peer].get(name)
        if not ours or not theirs:
            continue
        ratios = [t / o for o, t in zip(ours, theirs)]
        verdict = "" if wanted is None else ("met" if statistics.median(ratios) >= wanted else "**short**")
        lines.append(f"| {title} | {peer} | {show_seconds(statistics.median(ours))} | {show_seconds(statistics.median(theirs))} "
                     f"| {spread(ratios)} | {'' if wanted is None else f'{wanted}×'} | {verdict} |")
    if startup["pytorch"]:
        for index, (title, wanted, show) in enumerate((("start to first result", 20, show_seconds), ("resident memory", 8, lambda v: f"{v:.0f} MiB"))):
            ours, theirs = ([run[index] for run in startup[who]] for who in ("tenon", "pytorch"))
            ratios = [t / o for o, t in zip(ours, theirs)]
            verdict = "met" if statistics.median(ratios) >= wanted else "**short**"
            lines.append(f"| {title} | `import torch` | {show(statistics.median(ours))} | {show(statistics.median(theirs))} "
                         f"| {spread(ratios)} | {wanted}× | {verdict} |")
    flops, bandwidth = (statistics.median(peaks[k]) for k in ("peak_flops", "peak_bandwidth"))
    lines.append("")
    lines.append(f"Medians of {rounds} interleaved rounds, {os.cpu_count()} cores. Measured in the same run: "
                 f"{flops / 1e9:.0f} GFLOP/s f32, {bandwidth / 1e9:.1f} GB/s read.")
    return "\n".join(lines)


def run_peak(program):
    done = subprocess.run([str(program), "--benchmark_format=json", "--benchmark_min_time=0.2"], capture_output=True, text=True, check=True)
    return {b["name"].split("/")[0]: b["rate"] for b in json.loads(done.stdout)["benchmarks"]}


def measure(options, build, peers):
    samples = {"tenon": {}, "libtorch": {}, "pytorch": {}}
    startup, peaks = {"tenon": [], "pytorch": []}, {"peak_flops": [], "peak_bandwidth": []}
    environment = peer_environment(peers) if peers else None
    libtorch = build / "benchmarks/bench_libtorch"
    if peers:
        build_libtorch(peers, libtorch, environment)
    for round_number in range(options.rounds):
        print(f"\rround {round_number + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
        results = {"tenon": run_google_benchmark(build / "benchmarks/bench_tenon", options.filter, None, options.min_time)}
        startup["tenon"].append(timed([str(build / "benchmarks/first_result")]))
        if peers:
            results["libtorch"] = run_google_benchmark(libtorch, options.filter, environment, options.min_time)
            startup["pytorch"].append(timed([str(peers / "python"), "-c", "import torch"]))
            if re.search(options.filter, "classic_step/8"):
                done = subprocess.run([str(peers / "python"), str(HERE / "peers/torch_bench.py")], capture_output=True, text=True, check=True)
                results["pytorch"] = json.loads(done.stdout)
        for who, times in results.items():
            for name, seconds in times.items():
                samples[who].setdefault(name, []).append(seconds)
        for name, rate in run_peak(build / "benchmarks/bench_peak").items():
            peaks[name].append(rate)
    print(file=sys.stderr)
    return samples, startup, peaks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build directory")
    parser.add_argument("--peers", help="virtual environment for peers/install, created or updated as needed")
    parser.add_argument("--no-peers", action="store_true", help="measure Tenon alone")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--min-time", type=float, default=0.1, help="seconds per benchmark and round")
    parser.add_argument("--filter", default=".", help="regular expression that selects benchmarks")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md")
    options = parser.parse_args()
    build = pathlib.Path(options.build)
    if not (build / "benchmarks/bench_tenon").exists():
        fail(f"no benchmarks in {build}; configure with -Dbenchmarks=enabled and build")
    peers = None if options.no_peers or not options.peers else pathlib.Path(options.peers)
    if peers:
        subprocess.run([str(HERE / "peers/install"), str(peers)], check=True)
    samples, startup, peaks = measure(options, build, peers)
    if not peers:
        for name, times in samples["tenon"].items():
            print(f"{name:24} {show_seconds(statistics.median(times)):>10}  ({show_seconds(min(times))} … {show_seconds(max(times))})")
        return
    text = table(samples, startup, peaks, options.rounds)
    print(text)
    if options.write:
        readme = HERE / "README.md"
        parts = re.split(r"<!-- (?:table|end) -->", readme.read_text())
        readme.write_text(f"{parts[0]}<!-- table -->\n{text}\n<!-- end -->{parts[2]}")


if __name__ == "__main__":
    main()
