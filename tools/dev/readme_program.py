#!/usr/bin/env python3
"""Takes the first C++ program out of a Markdown file, so that what the README shows is compiled and run by the tests.

usage: readme_program.py README.md OUT.cpp
"""

import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
program = re.search(r"^```cpp\n(.*?)^```", text, re.M | re.S)
if not program:
    sys.exit(f"{sys.argv[1]}: no C++ program in it")
pathlib.Path(sys.argv[2]).write_text(program[1])
