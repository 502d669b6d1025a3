#!/usr/bin/env python3
"""The simulator compiles every source that the vendors' compilers get, and only the portability header knows vendors.

usage: sources_test.py SOURCE_ROOT BUILD_ROOT
"""
import json
import pathlib
import re
import sys

ROOT, BUILD = map(pathlib.Path, sys.argv[1:])
GPU = ROOT / "plugins/gpu"
PORTABLE = {"portable.hpp", "portable_device.hpp", "portable_matrix.hpp"}
VENDOR = re.compile(r"\b(TENON_GPU_SIM|__HIP\w*|__CUDA\w*|__NVCC__|cuda[A-Z]\w*|hip[A-Z]\w*|threadIdx|blockIdx|__global__|__shared__|__syncthreads)\b")


def compiled():
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    return {(pathlib.Path(c["directory"]) / c["file"]).resolve() for c in commands if "-DTENON_GPU_SIM" in c["command"]}


def main():
    simulated = compiled()
    kernels = [path for path in sorted(GPU.glob("**/*.cpp")) if "GPU_KERNEL" in path.read_text()]
    faults = [f"{path.relative_to(ROOT)} has kernels and is not built by the simulator" for path in kernels
              if path.resolve() not in simulated]
    listed = (GPU / "meson.build").read_text()
    families = (GPU.parent / "families.def").read_text()
    faults += [f"{path.relative_to(ROOT)} is neither in plugins/gpu/meson.build nor in plugins/families.def" for path in kernels
               if f"'{path.relative_to(GPU)}'" not in listed and f"GPU({path.stem})" not in families]
    for path in sorted(GPU.glob("**/*.[ch]pp")):
        if path.name in PORTABLE or path.parent.name == "sim":
            continue
        faults += [f"{path.relative_to(ROOT)} names {word}" for word in sorted(set(VENDOR.findall(path.read_text())))]
    print("\n".join(faults) or f"{len(kernels)} files with kernels, all built by the simulator; none names a vendor")
    return 1 if faults or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
