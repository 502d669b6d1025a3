"""Two plugins on one device: who wins, and what TENON_DISABLE changes, as `tenon explain` and `tenon ops` tell it.

usage: priority.py TENON LIBRARY    (a library that adds a softmax of priority 100 to the host)
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TENON, LIBRARY = map(pathlib.Path, sys.argv[1:])
FAULTS = []


def tenon(folder, disable, *words):
    env = {**os.environ, "TENON_PLUGIN_PATH": str(folder), "TENON_DISABLE": disable}
    done = subprocess.run([str(TENON), *words], env=env, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def expect(condition, what, text):
    if not condition:
        FAULTS.append(f"{what}, but:\n{text}")


def kernels(text):
    """The lines of kernels: (place, plugin, what is said of it)."""
    return [(m[1], m[2], m[0]) for m in re.finditer(r"^  (\d\.|-) +kernel of plugin '([^']*)'.*$", text, re.M)]


def explain(folder):
    text, _ = tenon(folder, "", "explain", "softmax")
    rows = kernels(text)
    expect([r[:2] for r in rows] == [("1.", "test.faster"), ("2.", "cpu"), ("3.", "cpu")], "test.faster comes before cpu", text)
    expect("priority 100" in rows[0][2] and rows[0][2].endswith("comes first"), "it says why", text)
    expect(rows[-1][2].endswith("lower priority"), "and why not", text)

    for disable in ("test.faster/softmax", "test.faster/*", "*/softmax,", "nobody/nothing,test.faster/softmax"):
        text, _ = tenon(folder, disable, "explain", "softmax")
        rows = kernels(text)
        expect(("-", "test.faster") in [r[:2] for r in rows], f"{disable} switches test.faster off", text)
        expect(all(r[2].endswith("disabled by TENON_DISABLE") for r in rows if r[0] == "-"), "it says so", text)
        both = disable.startswith("*/")
        expect([r[1] for r in rows if r[0] == "1."] == ([] if both else ["cpu"]), f"{disable} leaves the rest", text)
    text, _ = tenon(folder, "*/softmax", "explain", "softmax")
    expect("no kernel is available" in text, "nothing is left", text)
    text, _ = tenon(folder, "cpu/*", "explain", "softmax")
    expect([r[1] for r in kernels(text) if r[0] == "1."] == ["test.faster"], "only the CPU plugin is off", text)


def providers(folder):
    for disable, wanted in (("", "test.faster"), ("test.faster/softmax", "cpu")):
        text, _ = tenon(folder, disable, "ops", "--json")
        got = {row["name"]: row["providers"]["cpu:0"] for row in json.loads(text)}
        expect(got["softmax"] == wanted and got["add"] == "cpu", f"softmax is run by {wanted}", got["softmax"])


def warnings(folder):
    for disable, wanted in (("test.faster/sofmax", 'did you mean "test.faster/softmax"?'),
                            ("cpusoftmax", 'did you mean "cpu/softmax"?'),
                            ("qqqqqqqqqqqqq/zzzzzzzzzzzzz", "PLUGIN/OP is expected")):
        _, err = tenon(folder, disable, "explain", "add")
        expect(f'TENON_DISABLE: "{disable}' in err and wanted in err, f"{disable} is warned of", err)
    _, err = tenon(folder, "test.faster/softmax,,cpu/add", "explain", "add")
    expect("TENON_DISABLE" not in err, "what fits is not warned of", err)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(LIBRARY, folder / "faster.so")
        card = {"id": "test.faster", "version": "1.0", "abi": {"major": 1, "minor": 0}, "library": "faster.so"}
        (folder / "faster.tenon.json").write_text(json.dumps(card))
        explain(folder)
        providers(folder)
        warnings(folder)
    print("\n".join(FAULTS) or "who wins, and what is disabled, is told as it is")
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
