"""The lock as text, and what lies between two ABIs: each change with what it breaks and what to do."""

import re
from dataclasses import dataclass

from model import Abi, Entry, Field

HEAD = "# The C ABI of core/include/tenon/, as clang lays it out for x86_64. Written by `./dev abi --update`; not edited by hand.\n"
# Constants that may grow with a minor version: a plugin of an earlier one merely knows fewer.
GROWING = re.compile(r"TN_DTYPE_COUNT|TN_MASK_\w+")
RECORD = re.compile(r"(struct|union) (\w+)  size (\d+)  align (\d+)")
FIELD = re.compile(r"  +(\d+)  +(\d+)  (\S+) : (.*?)(?:  \[([\w-]+)\])?")
OTHER = re.compile(r"(constant|macro|typedef|callback|opaque|function) (\w+)(?: = (.*?))?(?:  \[([\w-]+)\])?")


# ---- Text -----------------------------------------------------------------------------------------------------------------------

def write(abi):
    lines = [HEAD, f"abi {abi.major}.{abi.minor}\n"]
    order = ["constant", "macro", "typedef", "opaque", "callback", "struct", "union", "function"]
    previous = None
    for entry in sorted(abi.entries.values(), key=lambda e: order.index(e.kind)):
        if previous not in (None, entry.kind) or entry.fields:
            lines.append("\n")
        previous = entry.kind
        tag = f"  [{entry.tag}]" if entry.tag else ""
        if entry.kind in ("struct", "union"):
            lines.append(f"{entry.kind} {entry.name}  size {entry.size}  align {entry.align}\n")
            lines += [f"  {f.offset:4} {f.size:4}  {f.name} : {f.type}{f'  [{f.tag}]' if f.tag else ''}\n" for f in entry.fields]
        else:
            lines.append(f"{entry.kind} {entry.name}{f' = {entry.text}' if entry.text else ''}{tag}\n")
    return "".join(lines)


def read(text):
    """Throws ValueError with the line that is malformed."""
    abi, record = None, None
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if found := re.fullmatch(r"abi (\d+)\.(\d+)", line):
            abi = Abi(int(found[1]), int(found[2]), {})
        elif found := RECORD.fullmatch(line):
            record = abi.entries[found[2]] = Entry(found[1], found[2], size=int(found[3]), align=int(found[4]))
        elif found := FIELD.fullmatch(line):
            record.fields.append(Field(int(found[1]), int(found[2]), found[3], found[4], found[5] or ""))
        elif found := OTHER.fullmatch(line):
            abi.entries[found[2]] = Entry(found[1], found[2], found[3] or "", found[4] or "")
        else:
            raise ValueError(f"line {number} of the lock is malformed: {line}")
    if abi is None:
        raise ValueError("the lock does not say which ABI it is of")
    return abi


# ---- Changes --------------------------------------------------------------------------------------------------------------------

@dataclass
class Change:
    name: str  # of the entry
    text: str  # struct, field, old and new
    breaks: bool
    advice: str = ""
    part: str = ""  # the field it is about

    def __str__(self):
        return f"{'breaks ' if self.breaks else 'adds   '} {self.text}" + (f"\n          {self.advice}" if self.advice else "")


BACK = "put it back; what must differ becomes a new slot, field or function beside it"


def split_signature(text):
    """("tn_status *", [("uint32_t", "code"), …]) of "tn_status * (uint32_t code, …)"."""
    result, _, rest = text.partition(" (")
    arguments, depth, word = [], 0, ""
    for letter in rest:
        if depth == 0 and letter in ",)":
            kind, _, name = word.strip().rpartition(" ")
            arguments.append((kind, name) if re.fullmatch(r"\w+", name) and kind else (word.strip(), ""))
            word = ""
        else:
            depth += (letter == "(") - (letter == ")")
            word += letter
    return result, arguments, word


def only_renames(old, new):
    """True when two signatures differ in parameters' names alone, and not by an exchange of them."""
    a, b = split_signature(old), split_signature(new)
    if a[0] != b[0] or a[2] != b[2] or [t for t, _ in a[1]] != [t for t, _ in b[1]]:
        return False
    return not any(n in [m for _, m in b[1]] and n != b[1][i][1] for i, (_, n) in enumerate(a[1]))


def compare_text(old, new, what, part=""):
    """Signature and thread tag of a function, callback, typedef or field."""
    name, changes = old.name, []
    if old.text != new.text:
        if only_renames(old.text, new.text):
            changes.append(Change(name, f"{what}: parameters renamed: {old.text} -> {new.text}", False, part=part))
        else:
            changes.append(Change(name, f"{what}: was {old.text}, is {new.text}", True, BACK, part))
    if old.tag != new.tag:
        changes.append(Change(name, f"{what}: thread tag was [{old.tag}], is [{new.tag}]", True, "callers rely on it: put it back", part))
    return changes


def compare_constant(old, new):
    if old.text == new.text:
        return []
    if GROWING.fullmatch(old.name):
        (before, kind), (after, other) = old.text.split(" ", 1), new.text.split(" ", 1)
        is_mask = old.name != "TN_DTYPE_COUNT"
        grown = int(before) & ~int(after) == 0 if is_mask else int(after) > int(before)
        if kind == other and grown:
            return [Change(old.name, f"{old.name}: grew from {before} to {after}", False)]
    return [Change(old.name, f"{old.name}: was {old.text}, is {new.text}", True, "its value is in programs: take a new name for it")]


def compare_record(old, new):
    changes, name = [], old.name

    def broken(text, advice=BACK):
        changes.append(Change(name, f"{old.kind} {name}{text}", True, advice))

    if old.align != new.align:
        broken(f": alignment was {old.align}, is {new.align}", "put it back: elements and enclosing structs move")
    fresh = {f.name: f for f in new.fields}
    for was in old.fields:
        now = fresh.pop(was.name, None)
        if now is None:
            broken(f".{was.name}: removed; was {was.type} at {was.offset}")
            continue
        if (was.offset, was.size) != (now.offset, now.size):
            broken(f".{was.name}: was {was.size} bytes at {was.offset}, is {now.size} bytes at {now.offset}",
                   "put it back; new fields go to the end")
        pair = [Entry("slot", name, f.type, f.tag) for f in (was, now)]
        changes += compare_text(*pair, f"{old.kind} {name}.{was.name}", was.name)
    unions = {f.name: f for f in old.fields if f.type == "union"}
    for added in fresh.values():
        outer = unions.get(added.name.rpartition(".")[0])
        what = f".{added.name}: new {added.type} at {added.offset}"
        if outer is not None and added.offset == outer.offset and added.size <= outer.size:
            changes.append(Change(name, f"{old.kind} {name}{what}, inside its union", False))
        elif not old.extensible:
            broken(f"{what}; it has no struct_size, so it is frozen", "put it into a new struct")
        elif added.offset < old.size:
            broken(f"{what}, inside the {old.size} bytes it had: struct_size cannot tell whether it is there",
                   "move it to the end, beyond the old size (name the padding before it `reserved`)")
        else:
            changes.append(Change(name, f"{old.kind} {name}{what}, at the end", False))
    if old.size != new.size and not any(c.name == name for c in changes):
        broken(f": size was {old.size}, is {new.size}")
    order = [f.name for f in new.fields if f.name in {o.name for o in old.fields}]
    if order != [f.name for f in old.fields if f.name in set(order)] and not changes:
        broken(": its fields changed places")
    return changes


def compare(old, new):
    """Changes from `old` to `new`, those that break first."""
    changes = []
    for name, was in old.entries.items():
        now = new.entries.get(name)
        if now is None:
            changes.append(Change(name, f"{was.kind} {name}: removed", True, BACK))
        elif was.kind != now.kind:
            helper = was.kind == "opaque" and now.kind == "struct"
            changes.append(Change(name, f"{name}: was {was.kind}, is {now.kind}", True,
                                  "programs hold it by pointer alone: keep it opaque" if helper else BACK))
        elif was.kind in ("struct", "union"):
            changes += compare_record(was, now)
        elif was.kind == "constant":
            changes += compare_constant(was, now)
        elif was.kind == "macro":
            if was.text != now.text:
                changes.append(Change(name, f"macro {name}: was {was.text}, is {now.text}", False, "read it twice: it is in everyone's builds"))
        else:
            changes += compare_text(was, now, f"{was.kind} {name}")
    for name, now in new.entries.items():
        if name not in old.entries:
            changes.append(Change(name, f"{now.kind} {name}: new", False))
    return sorted(changes, key=lambda c: not c.breaks)
