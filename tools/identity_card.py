#!/usr/bin/env python3
"""Writes a plugin's identity card, which the loader reads before it opens the library.

usage: identity_card.py LIBRARY --out tenon_mine.tenon.json
       identity_card.py LIBRARY --card tenon_mine.tenon.json --out build/tenon_mine.tenon.json    takes other fields from a card
       identity_card.py --refresh CARD...    updates the hash after the library beside CARD was stripped or got another run path

Id, version and ABI come from the library itself, which a separate process opens and queries (tn_plugin_query). --id and --version
must agree with it. They are needed for a library that cannot be opened here, such as one for another CPU.
"""

import argparse
import ctypes
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# Relative to this script: where it is installed, and in the source tree.
INSTALLED = pathlib.Path(__file__).resolve().parents[2] / "include/tenon/base.h"
IN_TREE = pathlib.Path(__file__).resolve().parents[1] / "core/include/tenon/base.h"
HEADER = IN_TREE if IN_TREE.is_file() else INSTALLED


def sha256(library):
    return hashlib.sha256(library.read_bytes()).hexdigest()


def refresh(path):
    if destdir := os.environ.get("DESTDIR"):  # set by installers that stage files meant for `path`
        path = pathlib.Path(destdir, *path.parts[1:])
    card = json.loads(path.read_text())
    card["sha256"] = sha256(path.parent / card["library"])
    path.write_text(json.dumps(card, indent=2) + "\n")


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_uint64)]

    def text(self):
        return self.data[:self.size].decode()


# The beginning of tn_plugin, which is frozen.
class Plugin(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("struct_size", "abi_major", "abi_minor", "min_host_minor")] + [
        ("id", Text), ("version", Text)]


def answer(library, major, minor):
    """Prints what the library says about itself; runs in a separate process, because it may crash."""
    query = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_LOCAL).tn_plugin_query
    query.restype = ctypes.c_void_p
    plugin = ctypes.POINTER(Plugin)()
    if query(major, minor, ctypes.byref(plugin)) or not plugin:
        sys.exit("tn_plugin_query gave no table")
    said = plugin.contents
    print(json.dumps({"id": said.id.text(), "version": said.version.text(), "major": said.abi_major,
                      "minor": said.abi_minor, "min_host_minor": said.min_host_minor}), flush=True)
    os._exit(0)  # so that no more code of the library runs


def ask(library, major, minor):
    """What the library says about itself, and why if it says nothing."""
    words = [sys.executable, __file__, "--answer", str(library.resolve()), str(major), str(minor)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout.splitlines()[-1]), ""
    except (ValueError, IndexError):
        return {}, (done.stderr.strip().splitlines() or [f"it ended the process that opened it ({done.returncode})"])[-1]


def read_card(parser, path):
    try:
        card = json.loads(path.read_text())
    except ValueError as problem:
        parser.error(f"{path} is not JSON: {problem}")
    if not isinstance(card, dict):
        parser.error(f"{path} is not an object, as {{\"id\": \"org.example.mine\", \"version\": \"0.1.0\"}}")
    return {**card, "min_host_minor": card.get("abi", {}).get("min_host_minor")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--card", type=pathlib.Path, help="a card in the source tree; options that are not given come from it")
    parser.add_argument("--id")
    parser.add_argument("--version")
    parser.add_argument("--header", type=pathlib.Path, default=HEADER, help="base.h that the plugin was built with")
    parser.add_argument("--min-host-minor", type=int)
    parser.add_argument("--cpu-features", nargs="*", help="CPU features that the library needs; without them it is not opened")
    parser.add_argument("--needs", nargs="*", help="native libraries that the plugin needs; named if one is missing")
    parser.add_argument("--only-devices", action="store_true", default=None,
                        help="it brings devices of its own and nothing for others: opened when a device is asked for")
    parser.add_argument("--sha256", action="store_true", help="another content of the library is refused; not for a build tree, "
                                                              "where the library may be linked again without its card")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()

    for path in filter(None, (options.library, options.header, options.card)):
        if not path.is_file():
            parser.error(f"no file {path}" + ("; name base.h with --header" if path is options.header else ""))
    given = read_card(parser, options.card) if options.card else {}

    header = options.header.read_text()
    major, minor = (int(re.search(rf"TN_ABI_{part}\s+(\d+)", header)[1]) for part in ("MAJOR", "MINOR"))
    said, silence = ask(options.library, major, minor)

    def field(name, default=None):
        value = getattr(options, name)
        value = given.get(name) if value is None else value
        return default if value is None else value

    def known(name, default=None):
        """Fields that the library knows and nobody needs to repeat."""
        value = field(name, default if silence else None)
        if value is not None and name in said and value != said[name]:
            parser.error(f"the library says that its {name} is {said[name]}, not {value}")
        if value is None and silence:
            parser.error(f"the library cannot be asked here ({silence}): give --{name}, or a --card that has it")
        return said.get(name, value)

    card = {
        "id": known("id"),
        "version": known("version"),
        "abi": {"major": said.get("major", major), "minor": said.get("minor", minor),
                "min_host_minor": known("min_host_minor", 0)},
        "library": options.library.name,
        "cpu_features": field("cpu_features", []),
        "needs": field("needs", []),
    }
    if field("only_devices", False):
        card["only_devices"] = True
    if options.sha256:
        card["sha256"] = sha256(options.library)
    options.out.write_text(json.dumps(card, indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        answer(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["--refresh"]:
        for card_path in sys.argv[2:]:
            refresh(pathlib.Path(card_path))
    else:
        main()
