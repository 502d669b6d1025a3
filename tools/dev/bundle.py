#!/usr/bin/env python3
"""Makes one archive that runs on another machine: programs, libraries, plugins, the Python package, their dependencies, benchmarks.

The other machine needs glibc, libstdc++ and zlib, which any recent distribution has, and for Python one of the versions that the
package was built for. It needs no compiler. The archive may be unpacked anywhere and moved.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import install
import run_ninja
from install import Refusal

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITS = {False: 50 << 20, True: 30 << 20}  # bytes of the archive; True: for the CPU and Vulkan alone
# Present on every system that runs Python; everything else is bundled.
OF_THE_SYSTEM = re.compile(r"(ld-linux|libc|libm|libdl|libpthread|librt|libutil|libstdc\+\+|libgcc_s|libz)\b")
# Parts of a prefix that only matter for compiling.
LEFT_OUT = ("include", "lib/cmake", "lib/pkgconfig", "share/tenon", "share/doc/tenon/docs")
BENCHMARKS = ("busy.py", "device.py", "gpt2.py", "python_overhead.py", "sections.py", "sides.py", "transformer.py")
PACKAGE_SKIPS = shutil.ignore_patterns("__pycache__", "meson.build", "*.so")


def run(*command):
    done = subprocess.run([str(c) for c in command], text=True, errors="replace", check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Refusal(f"{command[0]} failed:\n{done.stdout}")
    return done.stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def binaries(folder):
    return sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink() and is_elf(p))


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path))


def soname(path):
    found = re.search(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", path))
    return found[1] if found else path.name


def system_library(name):
    """The path at which this machine's loader finds it."""
    found = re.search(rf"^\s*{re.escape(name)} .*=> (/\S+)$", run("ldconfig", "-p"), re.M)
    if not found:
        raise Refusal(f"{name}, which the bundle needs, is not known to this machine's loader")
    return pathlib.Path(found[1]).resolve()


def gather_libraries(root):
    """Copies into lib/ what binaries need and neither the system nor the bundle has, until nothing is missing."""
    gathered = []
    while True:
        have = {p.name for p in root.rglob("*.so*")}
        missing = {name for path in binaries(root) for name in needed(path) if not OF_THE_SYSTEM.match(name)} - have
        if not missing:
            return gathered
        for name in sorted(missing):
            shutil.copy(system_library(name), root / "lib" / name)
            gathered.append(name)


def own_run_paths(path):
    """Run paths relative to the file itself, because some open libraries later, by name."""
    found = re.search(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", path))
    return [part for part in found[1].split(":") if part.startswith("$ORIGIN")] if found else []


def set_run_paths(root):
    """Lets each file find what it needs in the bundle relative to itself."""
    for path in binaries(root):
        folders = []
        for name in needed(path):
            holders = sorted(root.rglob(name), key=lambda p: (p.parent != root / "lib", p))
            if holders and holders[0].parent not in folders:
                folders.append(holders[0].parent)
        steps = [os.path.relpath(folder, path.parent) for folder in folders]
        places = ["$ORIGIN" if step == "." else f"$ORIGIN/{step}" for step in steps]
        wanted = ":".join(dict.fromkeys([*own_run_paths(path), *places]))
        if wanted:
            run("patchelf", "--set-rpath", wanted, path)
        elif "(RUNPATH)" in run("readelf", "-d", path):
            run("patchelf", "--remove-rpath", path)


def strip(root):
    for path in binaries(root):
        path.chmod(0o755)
        run("strip", "--strip-unneeded", path)


def refresh_cards(root):
    """Updates the hash in each card to that of the file as it now is."""
    for card in sorted(root.rglob("*.tenon.json")):
        run(sys.executable, ROOT / "tools/identity_card.py", "--refresh", card)


def extensions(build):
    """The extension's file, relative to the build folder, whether built or not."""
    return [os.path.relpath(name, build) for target in install.introspect(build, "targets") if target["name"].startswith("_core")
            for name in target["filename"]]


def add_python(build, others, root):
    """Adds the package, with an extension for each version of Python that was built."""
    found = [folder / name for folder in (build, *others) for name in extensions(folder)]
    if not found:
        raise Refusal(f"{build} has no extension for Python: its configuration found no headers or no nanobind")
    shutil.copytree(ROOT / "python/tenon", root / "python/tenon", ignore=PACKAGE_SKIPS)
    for path in found:
        shutil.copy(path, root / "python/tenon")
    return [re.search(r"cpython-3(\d+)", p.name)[1] for p in found]


def add_rest(root):
    for name in BENCHMARKS:
        (root / "benchmarks").mkdir(exist_ok=True)
        shutil.copy(ROOT / "benchmarks" / name, root / "benchmarks")
    if (ROOT / "tools/gpu").is_dir():
        shutil.copytree(ROOT / "tools/gpu", root / "tools/gpu", ignore=PACKAGE_SKIPS)
    for name in ("LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, root)


def copyright_of(path):
    """The copyright text of the Debian package that a file belongs to; None elsewhere."""
    try:
        package = run("dpkg", "-S", path).split(":")[0]
    except (Refusal, FileNotFoundError):
        return None
    text = pathlib.Path(f"/usr/share/doc/{package}/copyright")
    return text if text.exists() else None


def notes(root, versions, gathered):
    """Writes how to use the bundle; beside it the licences of bundled libraries, if the system has their text."""
    (root / "share/doc/tenon").mkdir(parents=True, exist_ok=True)
    for name in gathered:
        if text := copyright_of(system_library(name)):
            shutil.copy(text, root / f"share/doc/tenon/LICENSE.{name.split('.so')[0]}.txt")
    plugins = ", ".join(sorted(p.name for p in (root / "lib/tenon/plugins").iterdir()))
    (root / "README.md").write_text(f"""# Tenon, ready to use

    bin/tenon devices                                  # plugins and devices, and which libraries of vendors they use
    bin/tenon check cpu --group values                 # the conformance suite
    PYTHONPATH=python python3 -c 'import tenon; print(tenon.ones(3) + 1)'
    python3 tools/gpu/hour.py --device cuda:0          # what to run first on a machine with a GPU (tools/gpu/README.md)

Plugins: {plugins}. Python: {', '.join(f'3.{v}' for v in versions)}; NumPy is used where it is installed. Needs glibc, libstdc++ and zlib.
Vendors' libraries (cuBLASLt, cuDNN, NVRTC; a Vulkan loader) are found where they are installed, wheels of PyPI among them.
""")


def assemble(build, others, root):
    """Puts what is built below `root`, as it will be laid out on the other machine."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(install.stage(build, pathlib.Path(folder)), root, symlinks=True, dirs_exist_ok=True)
    for name in LEFT_OUT:
        shutil.rmtree(root / name, ignore_errors=True)
    for stale in [*root.glob("lib/*.so"), *root.rglob("*.a")]:  # for linkers
        stale.unlink()
    versions = add_python(build, others, root)
    strip(root)
    gathered = gather_libraries(root)
    set_run_paths(root)
    refresh_cards(root)
    add_rest(root)
    notes(root, versions, gathered)


def pack(root, archive):
    archive.parent.mkdir(parents=True, exist_ok=True)
    partial = archive.with_name(archive.name + ".partial")
    with tarfile.open(partial, "w:xz", preset=6) as tar:
        tar.add(root, arcname=root.name, filter=lambda info: nobody(info))
    os.replace(partial, archive)
    return archive.stat().st_size


def nobody(info):
    """Makes the archive independent of who creates it."""
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    return info


def make(build, others, archive, only_cpu_and_vulkan):
    with tempfile.TemporaryDirectory(prefix="tenon-bundle-") as folder:
        root = pathlib.Path(folder) / archive.name.removesuffix(".tar.xz")
        root.mkdir()
        assemble(build, others, root)
        size = pack(root, archive)
    limit = LIMITS[only_cpu_and_vulkan]
    if size > limit:
        raise Refusal(f"{archive} has {size / 2**20:.1f} MiB, more than the {limit >> 20} that it may have")
    return size


def parse(words=None):
    parser = argparse.ArgumentParser(prog="./dev bundle", description=__doc__)
    parser.add_argument("--archs", default="75,80,90,100", help="compute capabilities for the CUDA plugin (sm_N); newer GPUs use the last one's PTX (default: %(default)s)")
    parser.add_argument("--cpu-vulkan", action="store_true", help="leave out CUDA and ROCm: smaller, and built in minutes")
    parser.add_argument("--python", action="append", default=[], metavar="PROGRAM",
                        help="one more Python, with its headers, that the package is built for; may be given again")
    parser.add_argument("--out", type=pathlib.Path, help="the archive; default: dist/tenon-VERSION-….tar.xz")
    parser.add_argument("--build", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--other", type=pathlib.Path, action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    parser.add_argument("--tell", choices=["meson", "python"], help=argparse.SUPPRESS)  # what ./dev configures with
    options = parser.parse_args(words)
    if not re.fullmatch(r"\d+(,\d+)*", options.archs):
        parser.error(f"--archs {options.archs}: numbers with commas between, as 80,90")
    for program in options.python:
        if shutil.which(program) is None:
            parser.error(f"--python {program}: there is no such program")
    return options


def main():
    options = parse()
    if options.tell == "meson":
        gpus = ["-Dcuda=disabled", "-Drocm=disabled"] if options.cpu_vulkan else [f"-Dsm_archs={options.archs}"]
        print("\n".join([*gpus, "-Dgpusim=disabled", "-Dtests=disabled", "-Dbenchmarks=disabled", "-Dexamples=disabled"]))
        return
    if options.tell == "python":
        print("\n".join(shutil.which(program) for program in options.python))
        return
    version = re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text())[1]
    kind = "cpu-vulkan" if options.cpu_vulkan else "gpu"
    archive = (options.out or ROOT / f"dist/tenon-{version}-{kind}-linux-{os.uname().machine}.tar.xz").absolute()
    try:
        install.build_targets(options.build, options.jobs)
        for folder in (options.build, *options.other):
            if run_ninja.run(["-C", folder, "-j", options.jobs, *extensions(folder)]):
                raise Refusal("the build failed (see above)")
        size = make(options.build, options.other, archive, options.cpu_vulkan)
    except Refusal as reason:
        sys.exit(f"error: {reason}")
    print(f"{archive}: {size / 2**20:.1f} MiB; unpacked anywhere, README.md in it says how to begin")


if __name__ == "__main__":
    main()
