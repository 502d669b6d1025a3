#!/usr/bin/env python3
"""Writes the headers of a simulated next minor version: every struct that may grow has one more field and one more slot.

usage: newer.py OUTPUT_FOLDER [STAMP_FILE]
"""

import pathlib
import re
import sys

# `struct tn_x { uint32_t struct_size; … } [tn_x];` with its last brace.
GROWING = re.compile(r"struct (tn_\w+) \{\n  uint32_t struct_size;.*?\n(?=\}( \1)?;)", re.S)
MORE = """  uint64_t field_of_next_minor;
  tn_status* (*slot_of_next_minor)(void* self, uint64_t value); /* [thread-safe] */
"""


def grow(text):
    """(text, names of the structs that grew)"""
    names = []

    def more(found):
        names.append(found[1])
        return found[0] + MORE
    text = GROWING.sub(more, text)
    return re.sub(r"(#define TN_ABI_MINOR) (\d+)", lambda m: f"{m[1]} {int(m[2]) + 1}\n#define TN_NEXT_MINOR 1", text), names


INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "core/include/tenon"


def main(output, stamp=None):
    folder = pathlib.Path(output) / "tenon"
    folder.mkdir(parents=True, exist_ok=True)
    grown = []
    for path in sorted(INCLUDE.glob("*.h")):
        text, names = grow(path.read_text())
        (folder / path.name).write_text(text)
        grown += names
    if not grown:
        sys.exit("error: no struct grew: the pattern no longer fits the headers")
    if stamp:
        pathlib.Path(stamp).write_text("\n".join(grown) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
