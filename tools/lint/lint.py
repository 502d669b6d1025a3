#!/usr/bin/env python3
"""All static checks: doors, Python syntax, clang-format, clang-tidy.

clang-tidy runs on the sources that differ from main, or with --all on every one; a source that passed is
remembered by the hash of its text and headers (build/lint-cache) and skipped until one of them changes.
"""

import argparse
import ast
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def tracked(*patterns):
    return [n for n in git("ls-files", "--", *patterns).split() if (ROOT / n).is_file()]


def changed():
    """Files that differ from the branch point, with what is not committed."""
    base = "HEAD"
    for name in ("origin/main", "main"):
        found = subprocess.run(["git", "merge-base", "HEAD", name], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        if found.returncode == 0:
            base = found.stdout.strip()
            break
    return set(git("diff", "--name-only", base).split()) | set(git("ls-files", "-o", "--exclude-standard").split())


def check_doors():
    return subprocess.run([sys.executable, str(ROOT / "tools/lint/doors.py")]).returncode == 0


def check_python():
    fine = True
    for name in tracked("*.py"):
        try:
            ast.parse((ROOT / name).read_text(), name)
        except SyntaxError as error:
            print(f"{name}:{error.lineno}: {error.msg}")
            fine = False
    return fine


def check_docs():
    """Generated pages: the committed ones must be what their sources say."""
    pages = {"docs/ops.md": ["tools/generate_ops.py", "ops", "--docs"],
             "docs/sdk/reference.md": ["tools/generate_reference.py"]}
    fine = True
    for page, command in pages.items():
        with tempfile.TemporaryDirectory() as folder:
            fresh = pathlib.Path(folder) / "page.md"
            subprocess.run([sys.executable, *command, str(fresh)], cwd=ROOT, check=True)
            if fresh.read_text() != (ROOT / page).read_text():
                print(f"{page} is not what its sources say: ./dev docs writes it anew")
                fine = False
    return fine


def check_format():
    names = tracked("*.c", "*.h", "*.cpp", "*.hpp")
    if not names:
        return True
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file", *names], cwd=ROOT,
                          stderr=subprocess.PIPE, text=True)
    for line in done.stderr.splitlines():
        if "error:" in line:
            print(line)
    if done.returncode:
        print("./dev format corrects these")
    return done.returncode == 0


def fingerprint(entry):
    """Hash of the source, of all project headers it may see, and of the checks."""
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    digest.update(entry["command"].encode())
    digest.update(HEADERS.encode())
    digest.update(pathlib.Path(entry["directory"], entry["file"]).read_bytes())
    return digest.hexdigest()


def headers_hash():
    digest = hashlib.sha256()
    for name in sorted(tracked("*.h", "*.hpp", "*.def")):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


HEADERS = headers_hash()


def without_pch(command):
    """clang cannot read the precompiled headers of GCC; the sources include what they need."""
    return re.sub(r" -fpch-preprocess -include \S+", "", command)


def tidy_one(entry, cache):
    mark = cache / fingerprint(entry)
    source = pathlib.Path(entry["directory"], entry["file"]).resolve()
    if mark.exists():
        return source, True, ""
    done = subprocess.run(["clang-tidy", "-p", str(cache), "--quiet", "--extra-arg=-Wno-unknown-warning-option",
                           "--extra-arg=-Wno-ignored-optimization-argument", str(source)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        mark.touch()
    return source, done.returncode == 0, done.stdout


def check_tidy(build, jobs, everything):
    database = json.loads((build / "compile_commands.json").read_text())
    for entry in database:
        entry["command"] = without_pch(entry["command"])
    wanted = None if everything else changed()
    entries = {}
    for entry in database:
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(build):
            if wanted is None or str(path.relative_to(ROOT)) in wanted:
                entries[path] = entry
    cache = build / "lint-cache"
    cache.mkdir(exist_ok=True)
    (cache / "compile_commands.json").write_text(json.dumps(database))
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, (path, fine, text) in enumerate(pool.map(lambda e: tidy_one(e, cache), entries.values()), 1):
            if not fine:
                bad += 1
                print(f"-- {path.relative_to(ROOT)}\n{text}", flush=True)
            if sys.stderr.isatty():
                print(f"\rclang-tidy: {done}/{len(entries)}", end="\n" if done == len(entries) else "", file=sys.stderr, flush=True)
    print(f"clang-tidy: {len(entries)} sources, {bad} with findings")
    return bad == 0


def generate(build):
    """Sources include generated headers: they must be there before a tool parses anything."""
    rules = subprocess.run(["ninja", "-C", str(build), "-t", "targets", "all"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    made = [line.split(":")[0] for line in rules.splitlines() if line.endswith(": CUSTOM_COMMAND")]
    headers = [name for name in made if name.endswith((".h", ".hpp", ".inc"))]
    if headers:
        subprocess.run(["ninja", "-C", str(build), "--quiet", *headers], check=True)


def main():
    parser = argparse.ArgumentParser(prog="./dev lint", description=__doc__)
    parser.add_argument("--all", action="store_true", help="clang-tidy on every source")
    parser.add_argument("--fast", action="store_true", help="without clang-tidy")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    results = {"doors": check_doors(), "python": check_python(), "docs": check_docs(),
               "format": check_format()}
    if not options.fast:
        generate(options.build)
        results["clang-tidy"] = check_tidy(options.build.resolve(), options.jobs, options.all)
    bad = [name for name, fine in results.items() if not fine]
    print("lint: " + (", ".join(bad) + " failed" if bad else "clean"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
