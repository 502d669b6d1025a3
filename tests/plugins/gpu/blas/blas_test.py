#!/usr/bin/env python3
"""Runs a command where a vendor's library is a stand-in, and asks whether it was used.

usage: blas_test.py used|forbidden|absent LIBRARY OTHER COMMAND...
forbidden: the environment says that it is not wanted; absent: OTHER bears its name, which cannot be used
"""
import os
import pathlib
import subprocess
import sys
import tempfile

WANTED, LIBRARY, OTHER, *COMMAND = sys.argv[1:]
LEFT = "by the plugin's own kernels, as"


def main():
    with tempfile.TemporaryDirectory() as folder:
        note = pathlib.Path(folder) / "used"
        where = os.path.dirname(os.path.abspath(LIBRARY))
        if WANTED == "absent":  # and not the real one, which this machine may have
            where = folder
            os.symlink(os.path.abspath(OTHER), os.path.join(folder, os.path.basename(LIBRARY)))
        environment = {**os.environ, "TENON_LOG": "info", "TENON_FAKE_BLAS": str(note), "LD_LIBRARY_PATH": where}
        done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment, check=False)
        used, told = note.exists(), done.stderr.count(LEFT)
    print(done.stdout, done.stderr, sep="\n")
    print(f"exit {done.returncode}, the library {'multiplied' if used else 'was not used'}, {told} notes that it is missing")
    good = used and told == 0 if WANTED == "used" else not used and told == 1
    return 0 if done.returncode == 0 and good else 1


if __name__ == "__main__":
    sys.exit(main())
