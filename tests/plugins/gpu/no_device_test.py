#!/usr/bin/env python3
"""A vendor's plugin loads and says why it has no device, or lists devices: it never fails.

usage: no_device_test.py TENON PLUGIN
"""
import json
import subprocess
import sys

TENON, PLUGIN = sys.argv[1:]


def main():
    shown = subprocess.run([TENON, "devices", "--json"], capture_output=True, text=True)
    print(shown.stdout or shown.stderr)
    if shown.returncode != 0:
        return 1
    rows = [row for row in json.loads(shown.stdout) if row["plugin"] == PLUGIN]
    if rows and all(row["device"] for row in rows):
        return 0
    return 0 if len(rows) == 1 and rows[0]["status"] == "ok" and rows[0]["reason"].startswith("no ") else 1


if __name__ == "__main__":
    sys.exit(main())
