#!/usr/bin/env python3
"""A README's list of ops that fall back to the host is what the registry says.

usage: fallback_test.py TENON README DEVICE
"""
import json
import pathlib
import re
import subprocess
import sys

TENON, README, DEVICE = sys.argv[1:]


def main():
    rows = json.loads(subprocess.run([TENON, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    fall_back = {row["name"] for row in rows if row["providers"][DEVICE] == "host fallback"}
    section = pathlib.Path(README).read_text().split("<!-- fallbacks -->")[1].split("<!-- end -->")[0]
    listed = {}
    for names, why in re.findall(r"^\| (`.*`) \| (.+) \|$", section, re.M):
        listed.update(dict.fromkeys(re.findall(r"`([^`]+)`", names), why))
    faults = [f"{name} falls back to the host and is not listed" for name in sorted(fall_back - listed.keys())]
    faults += [f"{name} is listed and does not fall back" for name in sorted(listed.keys() - fall_back)]
    print("\n".join(faults) or f"{len(rows)} ops, {len(fall_back)} fall back, as listed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
