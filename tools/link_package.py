#!/usr/bin/env python3
"""Links the files and folders of a Python package into a folder of the build tree, which holds its extension."""
import pathlib
import sys


def link(source, target):
    source, target = pathlib.Path(source).resolve(), pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    entries = {entry.name: entry for entry in source.iterdir() if entry.name not in ('__pycache__', 'meson.build')}
    for old in target.iterdir():
        if old.is_symlink() and old.name not in entries:
            old.unlink()
    for name, entry in entries.items():
        if not (target / name).is_symlink():
            (target / name).symlink_to(entry)


if __name__ == '__main__':
    link(*sys.argv[1:3])
