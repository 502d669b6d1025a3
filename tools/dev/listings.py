#!/usr/bin/env python3
"""The listings of Markdown pages: what stands between fences, and the output that a page shows for it.

A ```text block belongs to the listing before it: the lines that it prints, where … stands for anything, and a line of … alone for any
number of lines. A C++ listing is a whole program if it has a main; the others of a page are, in their order, the body of one function.

usage: listings.py program PAGE.md OUT.cpp          the page's one whole C++ program
       listings.py fragments PAGE.md... OUT.cpp     a program that runs the other C++ listings of the page that its argument names
"""

from __future__ import annotations

import pathlib
import re
import sys
from dataclasses import dataclass

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
# A program of fragments prints this after each of them.
MARK = "\x1e"
PRELUDE = """#include <iostream>
#include <tenon/data.hpp>
#include <tenon/graph.hpp>
#include <tenon/graph_step.hpp>
#include <tenon/io.hpp>
#include <tenon/nn.hpp>
#include <tenon/onnx.hpp>
#include <tenon/optim.hpp>
using namespace tenon;
static void end_of_listing() { std::cout << '\\x1e' << std::flush; }
"""
MAIN = """int main(int, char** argv) try {{
  std::cout << std::unitbuf;
  const std::string page = argv[1];
{calls}  return 2;
}} catch (const std::exception& error) {{
  std::cout << error.what() << "\\n";
  return 1;
}}
"""


class Mismatch(Exception):
    """A listing that does not do what its page shows; the text begins with the page and the line."""


@dataclass
class Listing:
    page: pathlib.Path
    language: str
    text: str
    line: int  # of its first line
    output: str | None = None
    output_line: int = 0

    def check(self, printed):
        """Raises Mismatch if `printed` differs from what the page shows, if it shows anything."""
        if self.output is None:
            return
        wanted = "".join(r"(?:.*\n)*" if line.strip() == "…" else pattern(line) + r"\n" for line in self.output.strip().split("\n"))
        text = "".join(" ".join(line.split()) + "\n" for line in printed.strip().split("\n"))
        if not re.fullmatch(wanted, text):
            raise Mismatch(f"{self.page}:{self.output_line}: the page shows\n{self.output}\nbut the listing printed\n{printed}")

    @property
    def is_program(self):
        return self.language == "cpp" and re.search(r"^int main\(", self.text, re.M) is not None


def pattern(line):
    """A line as a regular expression: any number of blanks match each other, and … matches anything."""
    return r".*?".join(r"\s+".join(re.escape(word) for word in part.split()) for part in line.strip().split("…"))


def read(page):
    """The listings of a page."""
    page = pathlib.Path(page)
    text, found = page.read_text(encoding="utf-8"), []
    for fence in FENCE.finditer(text):
        language, _, body = fence.groups()
        line = text.count("\n", 0, fence.start()) + 2
        if language != "text":
            found.append(Listing(page, language, body, line))
        elif not found or found[-1].output is not None:
            raise Mismatch(f"{page}:{line}: an output without a listing of its own")
        else:
            found[-1].output, found[-1].output_line = body, line
    return found


def programs(page):
    return [listing for listing in read(page) if listing.is_program]


def fragments(page):
    return [listing for listing in read(page) if listing.language == "cpp" and not listing.is_program]


def located(listing):
    """Makes compilers name the page and the line in their messages."""
    return f'#line {listing.line} "{listing.page.resolve()}"\n{listing.text}'


def program_of(page):
    found = programs(page)
    if len(found) != 1:
        sys.exit(f"{page}: {len(found)} C++ programs; the build expects one")
    return located(found[0])


def program_of_fragments(pages):
    """One program for all pages, so that the headers are compiled once."""
    functions, calls = [], []
    for page in map(pathlib.Path, pages):
        name = page.stem
        bodies = "".join(located(listing) + "end_of_listing();\n" for listing in fragments(page))
        functions.append(f"static void page_{name}() {{\n{bodies}}}\n")
        calls.append(f'  if (page == "{name}") return page_{name}(), 0;\n')
    return PRELUDE + "".join(functions) + MAIN.format(calls="".join(calls))


def main():
    kind, *pages, out = sys.argv[1:]
    text = {"program": lambda: program_of(*pages), "fragments": lambda: program_of_fragments(pages)}[kind]()
    pathlib.Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Mismatch as problem:
        sys.exit(str(problem))
