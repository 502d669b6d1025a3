#!/usr/bin/env python3
"""Installs headers, libtenon, plugins, the packages for CMake and pkg-config and the `tenon` command into a prefix.

Everything in it is found relative to itself, so the prefix may be moved afterwards. A file that an earlier installation
put there and this one lacks is removed.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import run_ninja

LIST = pathlib.Path("share/tenon/installed.txt")  # what was installed, for the next installation


class Refusal(Exception):
    pass


def checked_prefix(given, caller=None):
    if not given:
        raise Refusal("./dev install needs a PREFIX, such as ./dev install ~/.local")
    prefix = pathlib.Path(given).expanduser()
    if not prefix.is_absolute():
        raise Refusal(f"the prefix '{given}' is relative: give the whole path, such as {(caller or pathlib.Path.cwd()) / given}")
    if prefix == pathlib.Path(prefix.root):
        raise Refusal("the prefix '/' is the whole system; /usr/local is for what you build yourself")
    try:
        prefix.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=prefix):
            pass
    except OSError as problem:
        raise Refusal(f"cannot install into {prefix}: {problem.strerror} ({problem.filename or prefix}).\n"
                      "Choose a prefix that you may write to, such as ~/.local, or become somebody who may") from None
    return prefix


def introspect(build, what):
    try:
        return json.loads((build / "meson-info" / f"intro-{what}.json").read_text())
    except FileNotFoundError:
        raise Refusal(f"{build} is not a configured build folder; ./dev build makes one") from None


def installed_targets(build):
    """The files that `meson install` copies out of the build folder, relative to it."""
    files = {name for target in introspect(build, "targets") if target["installed"] for name in target["filename"]}
    return sorted(os.path.relpath(name, build) for name in files)


def build_targets(build, jobs):
    if run_ninja.run(["-C", build, "-j", jobs, *installed_targets(build)]):
        raise Refusal("the build failed (see above); nothing was installed")


def option(build, name):
    return next(o["value"] for o in introspect(build, "buildoptions") if o["name"] == name)


def stage(build, folder):
    """Installs below `folder` as if it were the root, and returns where the prefix is in it."""
    done = subprocess.run(["meson", "install", "-C", str(build), "--no-rebuild", "--quiet", "--destdir", str(folder)],
                          text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Refusal(f"meson install failed:\n{done.stdout}")
    staged = folder / option(build, "prefix").lstrip("/")
    strays = [f for f in files_below(folder) if not (folder / f).is_relative_to(staged)]
    if strays:
        raise Refusal(f"the build folder installs outside its prefix: /{strays[0]}; configure it without absolute folders")
    return staged


def files_below(folder):
    return sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())


def remove_former(prefix, names):
    """Removes files that are listed as installed but no longer exist, and folders that are then empty."""
    try:
        former = [pathlib.Path(line) for line in (prefix / LIST).read_text().splitlines()]
    except FileNotFoundError:
        return
    for name in set(former) - set(names):
        if name.is_absolute() or ".." in name.parts:
            continue
        (prefix / name).unlink(missing_ok=True)
        for folder in name.parents:
            if folder == pathlib.Path() or any((prefix / folder).glob("*")):
                break
            (prefix / folder).rmdir()


def install(build, prefix):
    """Installs what is built below `prefix`, replacing each file in one step so that running programs keep what they have open."""
    os.umask(0o022)  # plugins are not loaded from folders that others may write to
    with tempfile.TemporaryDirectory(prefix=".tenon-", dir=prefix) as folder:
        staged = stage(build, pathlib.Path(folder))
        names = files_below(staged)
        (staged / LIST).parent.mkdir(parents=True, exist_ok=True)
        (staged / LIST).write_text("".join(f"{name}\n" for name in names))
        remove_former(prefix, names)
        for name in [*names, LIST]:
            (prefix / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(staged / name, prefix / name)
    return names


def main():
    parser = argparse.ArgumentParser(prog="./dev install", description=__doc__)
    parser.add_argument("prefix", metavar="PREFIX", nargs="?", help="an absolute path, such as ~/.local or /opt/tenon")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--caller", type=pathlib.Path, default=pathlib.Path.cwd(), help=argparse.SUPPRESS)
    parser.add_argument("--only-check", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        prefix = checked_prefix(options.prefix, options.caller)
        if options.only_check:
            return
        if shutil.which("meson") is None:
            raise Refusal("meson is not on the PATH; ./dev installs it into .venv")
        build_targets(options.build, options.jobs)
        names = install(options.build, prefix)
    except Refusal as reason:
        sys.exit(f"error: {reason}")
    except OSError as problem:
        sys.exit(f"error: cannot install into {options.prefix}: {problem.strerror} ({problem.filename})")
    print(f"installed {len(names)} files into {prefix}\n"
          f"  {prefix}/bin/tenon devices\n"
          f"  find_package(Tenon) with CMAKE_PREFIX_PATH={prefix}\n"
          f"  pkg-config tenon with PKG_CONFIG_PATH={prefix}/{option(options.build, 'libdir')}/pkgconfig")


if __name__ == "__main__":
    main()
