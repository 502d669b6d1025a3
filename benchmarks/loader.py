#!/usr/bin/env python3
"""What finding and loading plugins costs: a scan of 20 small plugins, and a program's first result through the CPU plugin.

cold: no library was seen before, so each is tried in a child process. warm: the verdicts are in the cache. unprobed:
TENON_PROBE=off. Every figure is the median over fresh processes. Files are in the page cache.

usage: loader.py [--build DIR] [--json] [--repeat N]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLUGINS = 20
REFUSED = 5

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tenon/plugin.h"
static tn_str str(const char* text) { return (tn_str){text, strlen(text)}; }
static tn_status* count(void* self, uint32_t* n, tn_str* reason) { (void)self, (void)reason; *n = 1; return NULL; }
static tn_status* info(void* self, uint32_t i, tn_device_info* out) { (void)self, (void)i, (void)out; return NULL; }
static const tn_device_table device = {.struct_size = sizeof device, .count = count, .info = info};
__attribute__((constructor)) static void mark(void) {
  FILE* file = getenv("OPENED") ? fopen(getenv("OPENED"), "a") : NULL;
  if (file) fprintf(file, "%d\n", (int)getpid()), fclose(file);
}
static tn_status* start(const tn_host* host, void* plugin, tn_str directory, void** state) {
  (void)directory, (void)state;
  if (FAULTY) abort();
  const tn_device_type type = {.struct_size = sizeof type, .name = str(ID), .device = &device};
  return host->register_device_type(plugin, &type);
}
TN_EXPORT tn_status* tn_plugin_query(uint32_t major, uint32_t minor, const tn_plugin** out) {
  static tn_plugin table = {.struct_size = sizeof table, .abi_major = TN_ABI_MAJOR, .abi_minor = TN_ABI_MINOR, .start = start};
  (void)major, (void)minor;
  table.id = str(ID), table.version = str("1");
  *out = &table;
  return NULL;
}
"""


def make(folder, count, faulty):
    folder.mkdir()
    for i in range(count):
        name = f"{'faulty' if faulty else 'small'}{i}"
        command = ["cc", "-shared", "-fPIC", "-O1", "-fvisibility=hidden", f'-DID="{name}"', f"-DFAULTY={int(faulty)}",
                   f"-I{ROOT}/core/include", "-x", "c", "-", "-o", str(folder / f"{name}.so")]
        subprocess.run(command, input=SOURCE, text=True, check=True)
        card = {"id": name, "version": "1", "abi": {"major": 1, "minor": 0}, "library": f"{name}.so"}
        (folder / f"{name}.tenon.json").write_text(json.dumps(card))


def run(program, **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TENON_")} | environment
    start = time.perf_counter()
    done = subprocess.run([str(program)], env=env, check=True, capture_output=True, text=True)
    return (time.perf_counter() - start) * 1000, done.stdout


def median(repeat, measure):
    return round(statistics.median(measure(i) for i in range(repeat)), 2)


def scans(build, work, repeat):
    make(work / "good", PLUGINS, False)
    make(work / "bad", REFUSED, True)
    time.sleep(2.5)  # a file changed just now is known by its hash only
    scan = build / "benchmarks/scan"

    def one(cache, places="good", **more):
        out = json.loads(run(scan, XDG_CACHE_HOME=str(work / cache), TENON_PLUGIN_PATH=str(work / places), **more)[1])
        assert places == "bad" or out["loaded"] >= PLUGINS, out
        return out

    cold = median(repeat, lambda i: one(f"cold{i}")["ms"])
    warm = median(repeat, lambda i: one("cold0")["ms"])
    unprobed = median(repeat, lambda i: one("cold0", TENON_PROBE="off")["ms"])
    opened = work / "opened"
    process = subprocess.Popen([str(scan)], env={**os.environ, "XDG_CACHE_HOME": str(work / "bad-cache"),
                                                 "TENON_PLUGIN_PATH": str(work / "bad"), "OPENED": str(opened)},
                               stdout=subprocess.PIPE, text=True)
    refused = json.loads(process.communicate()[0])["refused"]
    by = opened.read_text().split()
    assert len(by) == REFUSED, by
    return {"plugins": PLUGINS, "cold_scan_ms": cold, "warm_scan_ms": warm, "unprobed_scan_ms": unprobed,
            "refused": refused, "refused_opened_in_host": by.count(str(process.pid))}


def first_results(build, work, repeat):
    program = build / "benchmarks/first_result"
    run(program, XDG_CACHE_HOME=str(work / "first"))

    def one(cache, **more):
        return run(program, XDG_CACHE_HOME=str(work / cache), **more)[0]

    # Side by side, so that whatever else the machine does falls on both.
    warm, unprobed = [], []
    for _ in range(4 * repeat):
        warm.append(one("first"))
        unprobed.append(one("first", TENON_PROBE="off"))
    return {"first_result_cold_ms": median(repeat, lambda i: one(f"first{i}")),
            "first_result_warm_ms": round(statistics.median(warm), 2),
            "first_result_unprobed_ms": round(statistics.median(unprobed), 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenon-loader-") as folder:
        work = pathlib.Path(folder)
        figures = scans(options.build, work, options.repeat) | first_results(options.build, work, options.repeat)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:26} {value}")


if __name__ == "__main__":
    main()
