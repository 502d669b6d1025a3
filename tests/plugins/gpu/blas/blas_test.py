#!/usr/bin/env python3
"""Runs a command where a vendor's library is a stand-in, and asks whether it was used.

usage: blas_test.py used|fused|summed|wheel|forbidden|absent|ignored LIBRARY OTHER COMMAND...
fused: it computed gelu, too; summed: sums of what it multiplied; wheel: it lies beside the packages of an active environment of Python, and nowhere else;
forbidden: the environment says that it is not wanted; absent: OTHER bears its name, which cannot be used; ignored: nobody asks for it
"""
import os
import pathlib
import subprocess
import sys
import tempfile

WANTED, LIBRARY, OTHER, *COMMAND = sys.argv[1:]
NAME = os.path.basename(LIBRARY).split(".")[0].removeprefix("lib")


def main():
    with tempfile.TemporaryDirectory() as folder:
        note = pathlib.Path(folder) / "used"
        where = os.path.dirname(os.path.abspath(LIBRARY))
        if WANTED == "absent":  # and not the real one, which this machine may have
            where = folder
            os.symlink(os.path.abspath(OTHER), os.path.join(folder, os.path.basename(LIBRARY)))
        if WANTED == "wheel":
            where = ""
            for place in ("nvidia/cu13/lib", "_rocm_sdk_core/lib"):
                packages = pathlib.Path(folder) / "lib/python3.12/site-packages" / place
                packages.mkdir(parents=True)
                (packages / os.path.basename(LIBRARY)).symlink_to(os.path.abspath(LIBRARY))
        environment = {**os.environ, "TENON_LOG": "info", "TENON_FAKE_BLAS": str(note), "LD_LIBRARY_PATH": where,
                       "VIRTUAL_ENV": folder}
        done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment, check=False)
        noted = note.read_text().split() if note.exists() else []
    used = NAME in noted and {"fused": "gelu", "summed": "sums"}.get(WANTED, NAME) in noted
    told = sum(", as " in line and NAME.lower() in line.lower() for line in done.stderr.splitlines())
    print(done.stdout, done.stderr, sep="\n")
    print(f"exit {done.returncode}, {NAME} {'computed' if used else 'was not used'}, {told} notes that it is missing")
    good = (used, told) == {"used": (True, 0), "fused": (True, 0), "summed": (True, 0), "wheel": (True, 0), "ignored": (False, 0)}.get(WANTED, (False, 1))
    return 0 if done.returncode == 0 and good else 1


if __name__ == "__main__":
    sys.exit(main())
