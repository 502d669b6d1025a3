#!/usr/bin/env python3
"""Writes docs/sdk/reference.md from the headers: what each comment documents, with the declarations that follow it.
"""

import argparse
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
PARTS = [
    ("For plugins, in C", "core/include/tenon", ["plugin.h", "backend.h"]),
    ("", "sdk/include/tenon", ["kernel.h"]),
    ("For plugins, in C++", "sdk/include/tenon", ["plugin.hpp", "typed_kernel.hpp", "device_type.hpp", "new_op.hpp",
                                                   "kernel_call.hpp", "barrier.hpp", "philox.hpp"]),
    ("For plugins and programs", "core/include/tenon", ["base.h", "dtype.h", "float_formats.h", "value.h"]),
    ("For programs", "core/include/tenon", ["plugins.h", "device.h", "tensor.h", "reinterpret.h", "op.h", "autograd.h", "history.h", "random.h", "capture.h"]),
    ("", "libs/graph/include/tenon", ["graph.h"]),
    ("", "libs/onnx/include/tenon", ["onnx.h"]),
]
INTRODUCTION = """# Reference

Generated from the headers by `./dev docs`; the headers are the contract. `[thread-safe]`: from any thread at any time.
`[stream-ordered]`: enqueues on a stream and returns; calls on one stream come from one thread at a time. `[init]`: only while a
plugin starts or is quiesced. A function that returns `tn_status*` returns NULL on success; the caller releases the status
otherwise. What is borrowed stays valid as long as its comment says.
"""
SECTION = re.compile(r"^(?:/\*|//) -{3,} (.*?) -{3,}\s*(?:\*/)?$")
HIDDEN = re.compile(r"\b(detail|typed|device_type|new_op_detail)\b *\{$")


def comment_text(lines):
    """The words of a comment without its marks; lines with extra indentation stay code."""
    out, code = [], []
    for line in lines:
        words = re.sub(r"^\s*(/\*|\*/|//|\*(?!/))? ?", "", line.rstrip()).removesuffix("*/").rstrip()
        if words.startswith("  ") and line.lstrip().startswith("//"):
            code.append(words[2:])
            continue
        if code:
            out += ["\n```cpp", *code, "```\n"]
            code = []
        out.append(words or "\n")
    if code:
        out += ["\n```cpp", *code, "```\n"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def dedent(lines):
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[depth:].rstrip() for line in lines]


def without_bodies(text, inside):
    """Removes the contents of braces that are `inside` braces deep, except after a word that begins a type; ends with a semicolon."""
    out, depth, parens, start, skip = "", 0, 0, 0, None
    for c in text:
        parens += (c == "(") - (c == ")")
        if c == "{" and skip is None and depth == inside and parens == 0:
            head = re.sub(r"\s*(\)(?: const| noexcept| override)*)\s*:(?!:)[^;]*$", r"\1", out[start:])
            if not re.search(r"\b(struct|class|enum|union|namespace)\b[^()]*$", head) and not head.rstrip().endswith("="):
                out, skip = out[:start] + head.rstrip() + ";", depth
        depth += (c == "{") - (c == "}")
        if skip is None:
            out += c
            if c in ";{}":
                start = len(out)
        elif depth == skip:
            skip, start = None, len(out)
    return out


def abridged(lines):
    """A declaration as readers need it: no bodies, nothing private, and only the head of a macro."""
    text = "\n".join(lines)
    if text.startswith("#define"):
        return [lines[0].rstrip(" \\")] if "(" in lines[0].split("  ")[0] else lines
    is_type = re.match(r"(template .*\n)?(class|struct)\b", text)
    if is_type:
        text = re.sub(r"\n (?:private|protected):.*\n};", "\n};", text, flags=re.S)
    return re.sub(r"\n\s*\n(?=};)", "\n", without_bodies(text, 1 if is_type else 0)).splitlines()


def declaration(lines, i):
    """The lines of one declaration from line i on, and the line after it."""
    depth, taken = 0, []
    while i < len(lines):
        line = lines[i]
        code = re.sub(r'//.*|/\*.*?\*/|"(\\.|[^"])*"', "", line)
        taken.append(line)
        i += 1
        if taken[0].lstrip().startswith("#"):
            if not line.endswith("\\"):
                break
            continue
        depth += code.count("{") - code.count("}") + code.count("(") - code.count(")")
        if depth <= 0 and (code.rstrip().endswith(";") or code.rstrip().endswith("}")):
            break
    return dedent(taken), i


def entries(text, cpp):
    """(kind, …) in order: ("text", words), ("section", title), ("doc", comment, declarations)."""
    lines, i, found, hidden = text.splitlines(), 0, [], None
    while i < len(lines):
        line = lines[i]
        bare = line.strip()
        if hidden is not None:
            hidden += line.count("{") - line.count("}")
            hidden = hidden if hidden > 0 else None
            i += 1
        elif SECTION.match(bare):
            found.append(("section", SECTION.match(bare)[1]))
            i += 1
        elif bare.startswith(("/*", "//")) and not bare.startswith("/*/"):
            start = i
            while i < len(lines) and (lines[i].strip().startswith("//") or
                                      (bare.startswith("/*") and "*/" not in "".join(lines[start:i]))):
                i += 1
            words, declared = comment_text(lines[start:i]), []
            while i < len(lines) and lines[i].strip() and not lines[i].strip().startswith(("/*", "//", "}", "#if", "#endif")):
                if HIDDEN.search(lines[i]) or lines[i].strip().startswith(("#include", "#ifndef")):
                    break
                taken, i = declaration(lines, i)
                declared += abridged(taken)
            found.append(("doc", words, declared))
        elif HIDDEN.search(bare):
            hidden = line.count("{") - line.count("}")
            i += 1
        elif not cpp and bare.startswith(("#define", "typedef struct", "TN_API")) and not re.match(r"#define \w+_(H|HPP|BEGIN|END|FN|AS)\b", bare):
            declared = []
            while i < len(lines) and lines[i].strip() and not SECTION.match(lines[i].strip()):
                taken, i = declaration(lines, i)
                declared += abridged(taken)
            found.append(("doc", "", declared))
        else:
            i += 1
    return found


def render(folder, name):
    text = (ROOT / folder / name).read_text()
    out = [f"\n### `tenon/{name}`\n"]
    for entry in entries(text, name.endswith(".hpp")):
        if entry[0] == "section":
            out.append(f"\n#### {entry[1]}\n")
            continue
        _, words, declared = entry
        if words:
            out.append(f"{words}\n")
        declared = [re.sub(r"^(TN_API|TENON_FORMATS_FN) ", "", line) for line in declared]
        if any(line.strip() for line in declared):
            out.append("```cpp\n" if name.endswith(".hpp") else "```c\n")
            out[-1] += "\n".join(declared).strip("\n") + "\n```\n"
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT.md")
    options = parser.parse_args()
    out = [INTRODUCTION]
    for title, folder, names in PARTS:
        if title:
            out.append(f"\n## {title}\n")
        out += [render(folder, name) for name in names]
    options.out.write_text(re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip() + "\n")


if __name__ == "__main__":
    main()
