"""A library that only has the ABI: every function of a header set, every struct reachable, for libabigail to read its DWARF."""

import pathlib
import re
import subprocess
import tempfile

import abi
import lock
import model


def source(entries):
    """C that defines every function and mentions every record."""
    lines = ['#include "tenon/tenon.h"\n#include "tenon/plugin.h"\nstruct DLManagedTensorVersioned;\n']
    records = [e.name for e in entries.values() if e.kind in ("struct", "union")]
    for name in records:  # a function each, so that a new struct is a new symbol and no change of an old one
        lines.append(f"TN_EXPORT void tn_abi_record_{name}({name}* it);\nvoid tn_abi_record_{name}({name}* it) {{ __builtin_trap(); }}\n")
    for entry in entries.values():
        if entry.kind == "function":
            lines.append(f"{abi.declare(entry.text, entry.name)} {{ __builtin_trap(); }}\n")
    return "".join(lines)


def build(include, output, compiler="gcc"):
    """Compiles the stub of a header folder."""
    entries = model.read(model.read_texts(include)).entries
    subprocess.run([compiler, "-std=gnu11", "-w", "-g", "-O0", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{include}", "-x", "c", "-",
                    "-o", str(output)], input=source(entries), text=True, check=True)


def growth_only(block):
    """True when a block of abidiff's report tells of a struct that grew beyond its old end, and of nothing else."""
    size = re.search(r"type size changed from (\d+) to (\d+) \(in bits\)", block)
    inserted = re.findall(r"^    '.*', at offset (\d+) \(in bits\)", block, re.M)
    known = re.compile(r"'struct .* changed:|  type size changed .*|  \d+ data member insertions?:|    '.*', at offset \d+ .*")
    return bool(size and inserted and all(int(at) >= int(size[1]) for at in inserted)
                and all(known.fullmatch(line) for line in block.splitlines()))


def abidiff(old, new):
    """What libabigail finds between two header folders that a minor version must not do.

    Its own suppression of insertions at the end (has_data_member_inserted_at) also hides changed members in 2.2, so the report is read.
    """
    with tempfile.TemporaryDirectory(prefix="tenon-abi-") as folder:
        folder = pathlib.Path(folder)
        build(old, folder / "old.so")
        build(new, folder / "new.so")
        done = subprocess.run(["abidiff", "--leaf-changes-only", "--no-added-syms", str(folder / "old.so"), str(folder / "new.so")],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode & 3:
        return [f"abidiff failed: {done.stdout}"]
    blocks = [b.strip("\n") for b in done.stdout.split("\n\n")[1:]]
    return [b for b in blocks if b and not growth_only(b)]


def released_against_now():
    """abidiff of every released minor of this major version against the headers as they are."""
    for folder in sorted((abi.HERE / "headers").glob("[0-9]*")):
        if lock.read((folder / "abi.lock").read_text()).major == model.read().major:
            yield folder.name, abidiff(folder, model.INCLUDE)
