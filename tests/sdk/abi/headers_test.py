"""Each public header, alone: C headers as strict C99, C11 and as C++20, C++ headers of the SDK as C++20, with gcc and clang; and the C++
headers of programs together, under the warnings that programs set for themselves.

usage: headers_test.py SCHEMAS_H
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wcast-qual", "-Wundef", "-Wdouble-promotion",
            "-Werror", "-fsyntax-only"]
OF_CXX = ["-Wold-style-cast", "-Wnon-virtual-dtor", "-Woverloaded-virtual"]
C = [([compiler], ["-x", "c", f"-std={standard}"]) for compiler in ("gcc", "clang") for standard in ("c99", "c11")]
CXX = [(["g++"], ["-x", "c++", "-std=c++20"]), (["clang++"], ["-x", "c++", "-std=c++20"])]
# What is only compiled where it is used.
PROGRAM = """
#include "tenon/tenon.hpp"
#include "tenon/amp.hpp"
#include "tenon/graph.hpp"
#include "tenon/io.hpp"
#include "tenon/nn.hpp"
#include "tenon/onnx.hpp"
#include "tenon/optim.hpp"
using namespace tenon;
template <class... T>
void elements(const Tensor& x) {
  (static_cast<void>(x.item<T>()), ...);
  (static_cast<void>(x.to_vector<T>()), ...);
  (static_cast<void>(tensor(std::vector<T>(3), {}, DType::F64)), ...);
}
void train(Tensor x) {
  elements<bool, uint8_t, int32_t, int64_t, uint64_t, float, double, F16, BF16, F8E4M3, std::complex<float>>(x);
  x = 2.f * x + 1u;
  x[{Slice(0, 2), None, Ellipsis}] = 2.0;
  nn::Sequential net(nn::Linear(2, 3), nn::ReLU());
  nn::ModuleList<nn::Linear> list;
  list.push(nn::Linear(3, 3));
  optim::SGD sgd(net.parameters(), {.lr = 1});
  optim::AdamW adam(list.parameters(), {});
  optim::StepLR schedule(sgd, 2);
  net(x).topk(2).values.exp_().sum().backward();
  sgd.step();
  adam.step();
  schedule.step();
  io::save_safetensors("net", nn::clone(net).state_dict());
}
"""
LIBCXX = (["clang++", "-stdlib=libc++"], ["-x", "c++", "-std=c++20"])


def complaints(name, text, folders, variants):
    """What compilers say of the program `text`."""
    for compiler, options in variants:
        warnings = [*WARNINGS, *(OF_CXX if "c++" in options else [])]
        done = subprocess.run([*compiler, *options, *warnings, *(f"-I{folder}" for folder in folders), "-"], input=text, text=True,
                              stderr=subprocess.PIPE)
        if done.returncode:
            yield f"{name} with {' '.join(compiler)} {options[-1]}:\n{done.stderr[:600]}"


def faults(path, include, variants):
    """The same of a program that includes the header twice and nothing else."""
    name = path.relative_to(include)
    return complaints(name, f'#include "{name}"\n#include "{name}"\nextern int not_empty;\n', [ROOT / "core/include", include], variants)


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
    generated = [schemas.parents[1], schemas.parents[2] / "cpp", schemas.parents[3] / "libs/amp/include"]
    found += complaints("a program", PROGRAM, [ROOT / "core/include", ROOT / "core/cpp", *sorted(ROOT.glob("libs/*/include")), *generated], cxx)
    tried += len(cxx)
    print("\n".join(found) or f"{tried} compilations without a warning")
    return 1 if found or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
