"""Each header that is installed, alone: C headers as strict C99, C11 and as C++20 without exceptions, C++ headers of the SDK as C++20, with
gcc and clang; the C++ headers of programs with g++, and all of them together with both, under the warnings that programs set for themselves.

usage: headers_test.py BUILD_FOLDER
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/dev"))
import install  # noqa: E402  what ./dev install runs

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wcast-qual", "-Wundef", "-Wdouble-promotion",
            "-Werror", "-fsyntax-only"]
OF_CXX = ["-Wold-style-cast", "-Wnon-virtual-dtor", "-Woverloaded-virtual"]
C = [([compiler], ["-x", "c", f"-std={standard}"]) for compiler in ("gcc", "clang") for standard in ("c99", "c11")]
CXX = [(["g++"], ["-x", "c++", "-std=c++20"]), (["clang++"], ["-x", "c++", "-std=c++20"])]
BARE = ["-fno-exceptions", "-fno-rtti"]
# What is only compiled where it is used.
USE = """
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


def link_headers(build, folder):
    """Makes the include folder of an installation out of links; the files of each header's source, by the name that programs include."""
    sources = {}
    for section in install.introspect(build, "install_plan").values():
        for source, about in section.items():
            top = pathlib.PurePath(about["destination"].replace("{includedir}", "."))
            if not about["destination"].startswith("{includedir}"):
                continue
            source = pathlib.Path(source)
            files = [p for p in source.rglob("*") if p.is_file()] if source.is_dir() else [source]
            sources.update({str(top / (p.relative_to(source) if source.is_dir() else "")): p for p in files})
    for name, source in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(source)
    return {name: source for name, source in sources.items() if source.suffix in (".h", ".hpp") and "detail" not in source.parts}


def complaint(name, text, include, compiler, options):
    """What a compiler says of the program `text`."""
    warnings = [*WARNINGS, *(OF_CXX if "c++" in options else [])]
    done = subprocess.run([*compiler, *options, *warnings, f"-I{include}", "-"], input=text, text=True, stderr=subprocess.PIPE)
    return f"{name} with {' '.join([*compiler, *options[2:]])}:\n{done.stderr[:600]}" if done.returncode else None


def works(compiler, options, header):
    return not subprocess.run([*compiler, *options, "-fsyntax-only", "-include", header, "/dev/null"], capture_output=True).returncode


def programs(headers, include):
    """Each as the arguments of complaint()."""
    missing = [c for c in ("clang", "clang++") if shutil.which(c) is None]
    if missing:
        print(f"{', '.join(missing)} missing: only gcc is tried")
    c, cxx, libcxx = ([v for v in variants if shutil.which(v[0][0])] for variants in (C, CXX, [LIBCXX]))
    if libcxx and not works(*LIBCXX, "span"):
        print("libc++ missing (Debian: libc++-dev): only libstdc++ is tried")
        libcxx = []
    if not works(*CXX[0], "utf8proc.h"):
        print("utf8proc missing (Debian: libutf8proc-dev): its headers are not tried")
        headers = {name: source for name, source in headers.items() if not name.startswith("tenon/text")}
    of_programs = []
    for name, source in sorted(headers.items()):
        in_sdk = ROOT / "sdk" in source.parents
        if source.suffix == ".hpp" and not in_sdk:
            of_programs.append(name)
        bare = [(compiler, [*options, *BARE]) for compiler, options in cxx]
        variants = c + bare if source.suffix == ".h" else cxx + libcxx if in_sdk else CXX[:1]
        for variant in variants:  # twice, and nothing else
            yield name, f'#include "{name}"\n#include "{name}"\nextern int not_empty;\n', include, *variant
    together = "".join(f'#include "{name}"\n' for name in of_programs)
    for variant in cxx:
        yield "a program", together + USE, include, *variant


def main(build):
    with tempfile.TemporaryDirectory(prefix="tenon-headers-") as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        headers = link_headers(build, pathlib.Path(folder))
        said = list(pool.map(lambda program: complaint(*program), programs(headers, folder)))
    found = [text for text in said if text]
    print("\n".join(found) or f"{len(headers)} headers, {len(said)} compilations without a warning")
    return 1 if found or not said else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
