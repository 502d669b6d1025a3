#!/usr/bin/env python3
"""Writes the projects of sdk/template/ as C++ data, so that the `tenon` command carries them.

usage: embed_templates.py OUT.inc SDK FILE...

Each file below SDK/template becomes one row of a table: {folder, path below that, text}. A part of the path that begins with
"dot." stands for one that begins with a dot. The bindings of SDK/rust become {bindings, src/NAME, text}.
"""

import pathlib
import sys


def literal(text):
    """The text as raw string literals. Compilers accept at least 64 KiB in one, so a longer text is split."""
    pieces = [text[i:i + 8000] for i in range(0, len(text), 8000)] or [""]
    return "\n".join(f'R"~~~({piece})~~~"' for piece in pieces)


def main():
    out, sdk = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    rows = []
    for name in sys.argv[3:]:
        file = pathlib.Path(name).resolve()
        room, *parts = file.relative_to(sdk).parts
        folder, *parts = parts if room == "template" else ("bindings", "src", *parts)
        path = "/".join("." + part[4:] if part.startswith("dot.") else part for part in parts)
        rows.append(f'{{"{folder}", "{path}",\n{literal(file.read_text())}}},\n')
    out.write_text("".join(rows))


if __name__ == "__main__":
    main()
