"""Checks what shared libraries export: libtenon `tn_*` only; a plugin its one entry and no use of libtenon.

usage: exports.py LIBTENON [PLUGIN...]
"""

import pathlib
import subprocess
import sys


def symbols(library, *options):
    text = subprocess.run(["nm", "-D", *options, library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()}


def main(core, plugins):
    faults = [f"{core}: exports {name}" for name in sorted(symbols(core, "--defined-only")) if not name.startswith("tn_")]
    if not any(name.startswith("tn_") for name in symbols(core, "--defined-only")):
        faults.append(f"{core}: exports no tn_* symbol")
    for plugin in plugins:
        exported = symbols(plugin, "--defined-only")
        if exported != {"tn_plugin_query"}:
            faults.append(f"{plugin}: exports {sorted(exported)[:8]} instead of tn_plugin_query alone")
        faults += [f"{plugin}: needs {name} of the core" for name in sorted(symbols(plugin, "--undefined-only"))
                   if name.startswith("tn_")]
    print("\n".join(faults) or f"{pathlib.Path(core).name} and {len(plugins)} plugins export what they should")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
