#!/usr/bin/env python3
"""Writes a plugin's identity card, which the loader reads before it opens the library.

usage: identity_card.py LIBRARY --id cpu --version 0.1.0 --header include/tenon/base.h --out tenon_cpu.tenon.json
       identity_card.py --refresh CARD...    the hash of the library beside it, after it was stripped or got another run path
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import sys

# Where it lies beside an installed copy of this script.
HEADER = pathlib.Path(__file__).resolve().parents[2] / "include/tenon/base.h"


def sha256(library):
    return hashlib.sha256(library.read_bytes()).hexdigest()


def refresh(path):
    if destdir := os.environ.get("DESTDIR"):  # set by installers that stage what is to lie at `path`
        path = pathlib.Path(destdir, *path.parts[1:])
    card = json.loads(path.read_text())
    card["sha256"] = sha256(path.parent / card["library"])
    path.write_text(json.dumps(card, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--id", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--header", type=pathlib.Path, default=HEADER, help="base.h that the plugin was built with")
    parser.add_argument("--min-host-minor", type=int, default=0)
    parser.add_argument("--cpu-features", nargs="*", default=[], help="without which the library must not be opened")
    parser.add_argument("--needs", nargs="*", default=[], help="native libraries, for the message when one is missing")
    parser.add_argument("--sha256", action="store_true", help="another content of the library is refused; not for a build tree, "
                                                              "where the library may be linked again without its card")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()

    for path in (options.library, options.header):
        if not path.is_file():
            parser.error(f"no file {path}" + ("" if path is options.library else "; name base.h with --header"))
    header = options.header.read_text()
    major, minor = (int(re.search(rf"TN_ABI_{part}\s+(\d+)", header)[1]) for part in ("MAJOR", "MINOR"))
    card = {
        "id": options.id,
        "version": options.version,
        "abi": {"major": major, "minor": minor, "min_host_minor": options.min_host_minor},
        "library": options.library.name,
        "cpu_features": options.cpu_features,
        "needs": options.needs,
    }
    if options.sha256:
        card["sha256"] = sha256(options.library)
    options.out.write_text(json.dumps(card, indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--refresh"]:
        for card_path in sys.argv[2:]:
            refresh(pathlib.Path(card_path))
    else:
        main()
