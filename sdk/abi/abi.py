#!/usr/bin/env python3
"""Keeps the C ABI as it is: compares the public headers with the lock.

usage: abi.py [check]          compare core/include/tenon/*.h with sdk/abi/tenon-MAJOR.lock
       abi.py --update         take additions into the lock; refuses what breaks the last released minor
       abi.py --release        freeze the headers of this minor version below sdk/abi/headers/
       abi.py mutants [--json] change the headers in every way that is known to hurt, and count what the lock catches
       abi.py asserts          write the lock as a C program that any compiler can check, to standard output
"""

import argparse
import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lock
import model

HERE = pathlib.Path(__file__).resolve().parent
SDK_INCLUDE = HERE.parent / "include"


def lock_path(major):
    return HERE / f"tenon-{major}.lock"


def released(major):
    """(folder, ABI) of the last released minor of a major version; None when there is none."""
    folders = sorted((HERE / "headers").glob(f"{major}.[0-9]*"), key=lambda p: int(p.name.split(".")[1]))
    return (folders[-1], lock.read((folders[-1] / "abi.lock").read_text())) if folders else None


def check(abi):
    """Faults of the headers against lock and last release, as lines."""
    faults = [f"{name}: its comment has no thread tag ([thread-safe], [stream-ordered] or [init])" for name in model.untagged(abi)]
    path = lock_path(abi.major)
    if not path.exists():
        return [*faults, f"there is no {path.name}: a new major version starts with ./dev abi --update"]
    old = lock.read(path.read_text())
    changes = lock.compare(old, abi)
    faults += [str(change) for change in changes]
    if (old.major, old.minor) != (abi.major, abi.minor):
        faults.append(f"the lock is of {old.major}.{old.minor}, the headers say {abi.major}.{abi.minor}")
    if changes and not any(change.breaks for change in changes):
        faults.append("only additions: ./dev abi --update takes them into the lock; commit it with the headers")
    return faults + against_release(abi)


def against_release(abi):
    """What a plugin or program built for the last released minor would run into."""
    last = released(abi.major)
    if last is None:
        return []
    changes = lock.compare(last[1], abi)
    faults = [f"against {last[0].name}: {change}" for change in changes if change.breaks]
    if changes and not faults and abi.minor <= last[1].minor:
        faults.append(f"additions since {last[0].name}: raise TN_ABI_MINOR in core/include/tenon/base.h to {last[1].minor + 1}")
    return faults


def update(abi):
    faults = against_release(abi) + [f"{name}: no thread tag" for name in model.untagged(abi)]
    if faults:
        print("\n".join(faults))
        print("the lock stays as it is: a change that breaks needs a new major version (TN_ABI_MAJOR)")
        return 1
    path = lock_path(abi.major)
    before = path.read_text() if path.exists() else ""
    path.write_text(lock.write(abi))
    print(f"{path.name}: {'written anew' if path.read_text() != before else 'unchanged'}, {len(abi.entries)} entries")
    import rust
    rust.update()
    return 0


def release(abi):
    folder = HERE / "headers" / f"{abi.major}.{abi.minor}"
    if folder.exists():
        print(f"{folder.name} was released: its headers stay as they are")
        return 1
    if faults := check(abi):
        print("\n".join(faults))
        return 1
    for paths, part in ((model.headers(), "tenon"), (SDK_INCLUDE.glob("tenon/*.h*"), "sdk/tenon")):
        (folder / part).mkdir(parents=True)
        for path in paths:
            shutil.copy(path, folder / part / path.name)
    shutil.copytree(HERE.parent / "rust", folder / "rust")
    shutil.copy(lock_path(abi.major), folder / "abi.lock")
    print(f"froze {len(list(folder.rglob('*.h*')))} headers of {folder.name}")
    return 0


# ---- For other compilers --------------------------------------------------------------------------------------------------------

def declare(text, name):
    """A declaration of `name` with a signature of the lock."""
    result, arguments, _ = lock.split_signature(text)
    inner = ", ".join(re.sub(r"\(\*\)", f"(*{n})", t) if "(*)" in t else f"{t} {n}" for t, n in arguments)
    return f"{result} {name}({inner})"


def asserts(abi):
    """C11 that compiles only where sizes, offsets, types and values are those of the lock."""
    lines = ['#include <stddef.h>\n#include "tenon/tenon.h"\n#include "tenon/plugin.h"\nstruct DLManagedTensorVersioned;\n']

    def claim(condition, text):
        lines.append(f'_Static_assert({condition}, "{text}");\n')

    for entry in abi.entries.values():
        name = entry.name
        if entry.kind == "constant" and not entry.text.startswith("("):
            value, kind = entry.text.split(" ", 1)
            claim(f"({name}) == {value} && __builtin_types_compatible_p(__typeof__({name}), {kind})", name)
        elif entry.kind == "typedef":
            claim(f"__builtin_types_compatible_p({name}, {entry.text})", name)
        elif entry.kind in ("struct", "union"):
            claim(f"sizeof({name}) == {entry.size} && _Alignof({name}) == {entry.align}", name)
            for each in entry.fields:
                member = f"(({name}*)0)->{each.name}"
                claim(f"offsetof({name}, {each.name}) == {each.offset} && sizeof({member}) == {each.size}", f"{name}.{each.name}")
                if each.type not in ("struct", "union"):
                    kind = declare(each.type, "(*)") if model.is_slot(each) else each.type
                    claim(f"__builtin_types_compatible_p(__typeof__({member}), {kind})", f"{name}.{each.name}")
        elif entry.kind == "callback":
            claim(f"__builtin_types_compatible_p({name}, {declare(entry.text, '(*)')})", name)
        elif entry.kind == "function":
            lines.append(f"{declare(entry.text, name)};\n")
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="./dev abi", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", default="check", choices=["check", "mutants", "asserts"])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--json", action="store_true", help="figures of the mutants as one JSON object")
    options = parser.parse_args()
    try:
        abi = model.read()
    except model.HeaderError as problem:
        print(f"the headers do not compile: {problem}")
        return 1
    if options.update:
        return update(abi)
    if options.release:
        return release(abi)
    if options.command == "asserts":
        print(asserts(lock.read(lock_path(abi.major).read_text())), end="")
        return 0
    if options.command == "mutants":
        import mutants
        figures, lines = mutants.run()
        print(json.dumps(figures) if options.json else "\n".join(lines))
        return 0 if figures["missed"] == 0 and figures["false_alarms"] == 0 else 1
    faults = check(abi)
    print("\n".join(faults) or f"the headers are those of the lock: ABI {abi.major}.{abi.minor}, {len(abi.entries)} entries")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
