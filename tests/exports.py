"""Checks what shared libraries export and need: libtenon exports `tn_*` only and needs the C and C++ runtime only; a plugin exports
its one entry and uses nothing of libtenon. No symbol is unique for the process, and none of a third party's gets out.

usage: exports.py LIBTENON [PLUGIN...]
"""

import pathlib
import re
import subprocess
import sys


def symbols(library, *options):
    text = subprocess.run(["nm", "-D", *options, library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()}


def needed(library):
    text = subprocess.run(["readelf", "-dW", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))


def unique(library):
    """STB_GNU_UNIQUE symbols, which the dynamic linker shares between libraries that are loaded apart."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split()[-1] for line in text.splitlines() if line.split()[-2:-1] == ["u"]]


RUNTIME = re.compile(r"(libstdc\+\+|libc\+\+|libc\+\+abi|libunwind|libm|libgcc_s|libc|libpthread|libdl|libatomic|ld-linux-[\w-]+"
                     r"|lib(clang_rt\.)?([alt]|ub)san\S*)\.so.*")
THIRD_PARTY = re.compile(r"N(3fmt|5boost|8nlohmann|3hwy|4dnnl|6google)|^(dnnl|sgemm|mkldnn)")


def main(core, plugins):
    faults = [f"{core}: exports {name}" for name in sorted(symbols(core, "--defined-only")) if not name.startswith("tn_")]
    if not any(name.startswith("tn_") for name in symbols(core, "--defined-only")):
        faults.append(f"{core}: exports no tn_* symbol")
    faults += [f"{core}: needs {name}; a host may carry its own" for name in sorted(needed(core)) if not RUNTIME.fullmatch(name)]
    faults += [f"{core}: {name} comes from outside" for name in sorted(symbols(core, "--undefined-only")) if THIRD_PARTY.search(name)]
    faults += [f"{library}: {name} is unique for the process" for library in [core, *plugins] for name in unique(library)]
    for plugin in plugins:
        exported = symbols(plugin, "--defined-only")
        if exported != {"tn_plugin_query"}:
            faults.append(f"{plugin}: exports {sorted(exported)[:8]} instead of tn_plugin_query alone")
        faults += [f"{plugin}: needs {name} of the core" for name in sorted(symbols(plugin, "--undefined-only"))
                   if name.startswith("tn_")]
        faults += [f"{plugin}: needs {name}" for name in needed(plugin) if name.startswith("libtenon")]
    print("\n".join(faults) or f"{pathlib.Path(core).name} and {len(plugins)} plugins export what they should")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
