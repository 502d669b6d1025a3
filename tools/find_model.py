#!/usr/bin/env python3
"""Prints the path of a file in an installed Python package, or nothing: find_model.py PACKAGE FILE."""
import importlib.util
import pathlib
import sys

if __name__ == "__main__":
    package, file = sys.argv[1:]
    found = importlib.util.find_spec(package)
    path = pathlib.Path(found.submodule_search_locations[0]) / file if found else None
    print(path if path and path.is_file() else "")
