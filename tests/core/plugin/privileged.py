"""A setuid process reads nothing of its environment that decides which plugins are loaded.

usage: privileged.py PROGRAM
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534


def run(program, folder):
    names = {"TENON_PLUGIN_PATH": folder / "path", "XDG_DATA_HOME": folder / "data", "HOME": folder / "home",
             "TENON_PROBE": "off", "TENON_DISABLE": "*/*", "XDG_CACHE_HOME": folder / "cache"}
    for place in ("path", "data/tenon/plugins", "home/.local/lib/tenon/plugins"):
        (folder / place).mkdir(parents=True, exist_ok=True)
    env = {name: str(value) for name, value in names.items()}
    return subprocess.run([str(program)], env=env, check=True, capture_output=True, text=True, user=NOBODY).stdout


def main():
    if os.geteuid() != 0:
        print("only root can make a program setuid")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        program = folder / "privileged"
        shutil.copy(sys.argv[1], program)
        program.chmod(0o755)
        plain = run(program, folder)
        program.chmod(0o4755)
        setuid = run(program, folder)
    faults = []
    for wanted in ("privileged 0", "TENON_PROBE off", "TENON_DISABLE */*", f"XDG_CACHE_HOME {folder}/cache", f"place {folder}/path",
                   f"place {folder}/data/tenon/plugins", f"place {folder}/home/.local/lib/tenon/plugins"):
        if wanted not in plain:
            faults.append(f"an ordinary process does not say '{wanted}':\n{plain}")
    if "privileged 1" not in setuid:
        print("this file system ignores the setuid bit")
        return 77
    if str(folder) + "/" in setuid or setuid.count("unseen") != 3:
        faults.append(f"a setuid process looks at its environment:\n{setuid}")
    print("\n".join(faults) or "a setuid process ignores its environment")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
