"""Each public header, alone: C headers as strict C11 and as C++20, C++ headers of the SDK as C++20, with gcc and clang.

usage: headers_test.py SCHEMAS_H
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
C = [(["gcc"], ["-x", "c", "-std=c11"]), (["clang"], ["-x", "c", "-std=c11"])]
CXX = [(["g++"], ["-x", "c++", "-std=c++20"]), (["clang++"], ["-x", "c++", "-std=c++20"])]
LIBCXX = (["clang++", "-stdlib=libc++"], ["-x", "c++", "-std=c++20"])


def faults(path, include, variants):
    """What compilers say of a program that includes the header twice and nothing else."""
    name = path.relative_to(include)
    folders = [f"-I{ROOT / 'core/include'}", f"-I{include}"]
    for compiler, options in variants:
        done = subprocess.run([*compiler, *options, *WARNINGS, *folders, "-"], input=f'#include "{name}"\n#include "{name}"\nextern int not_empty;\n',
                              text=True, stderr=subprocess.PIPE)
        if done.returncode:
            yield f"{name} with {' '.join(compiler)} {options[-1]}:\n{done.stderr[:600]}"


def main(schemas):
    missing = [c for c in ("clang", "clang++") if shutil.which(c) is None]
    if missing:
        print(f"{', '.join(missing)} missing: only gcc is tried")
    c, cxx, libcxx = ([v for v in variants if shutil.which(v[0][0])] for variants in (C, CXX, [LIBCXX]))
    if libcxx and subprocess.run([*LIBCXX[0], *LIBCXX[1], "-fsyntax-only", "-include", "span", "/dev/null"], capture_output=True).returncode:
        print("libc++ missing (Debian: libc++-dev): only libstdc++ is tried")
        libcxx = []
    core, sdk = ROOT / "core/include", ROOT / "sdk/include"
    found, tried = [], 0
    for include, path in [*((core, p) for p in sorted(core.rglob("*.h"))), (schemas.parents[1], schemas)]:
        found += faults(path, include, c + cxx)
        tried += len(c + cxx)
    for path in sorted(sdk.rglob("*.h")):
        found += faults(path, sdk, c + cxx)
        tried += len(c + cxx)
    for path in sorted(sdk.rglob("*.hpp")):
        found += faults(path, sdk, cxx + libcxx)
        tried += len(cxx + libcxx)
    print("\n".join(found) or f"{tried} compilations of headers alone, without a warning")
    return 1 if found or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
