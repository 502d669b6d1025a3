"""Runs clang-tidy over the sources of a build; remembers each by the hash of its text and of all headers."""

import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEWEST = 20  # commits that --newest looks at
SHOWN = 10


def git(*arguments, root=ROOT):
    return subprocess.run(["git", *arguments], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


def tracked(*patterns):
    return [n for n in git("ls-files", "--", *patterns).split() if (ROOT / n).is_file()]


def changed():
    """Files that differ from the branch point, including uncommitted ones."""
    base = "HEAD"
    for name in ("origin/main", "main"):
        found = subprocess.run(["git", "merge-base", "HEAD", name], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        if found.returncode == 0:
            base = found.stdout.strip()
            break
    return [*git("diff", "--name-only", base).split(), *git("ls-files", "-o", "--exclude-standard").split()]


def newest(root=ROOT):
    """(number of commits, their files, those of the latest first). The last commit of a shallow clone is left out, because it seems
    to add everything."""
    shallow = pathlib.Path(root, git("rev-parse", "--git-path", "shallow", root=root).strip())
    ends = set(shallow.read_text().split()) if shallow.is_file() else set()
    log = git("log", "-m", "--first-parent", f"--max-count={NEWEST}", "--name-only", "--format=%x00%H", root=root)
    files, commits = {}, 0
    for commit, *names in (entry.split() for entry in log.split("\0")[1:]):
        if commit in ends:
            break
        commits += 1
        files.update(dict.fromkeys(names))
    return commits, list(files)


def without_pch(command):
    """Removes GCC's precompiled headers, which clang cannot read; the sources include what they need."""
    return re.sub(r" -fpch-deps\b", "", re.sub(r" -fpch-preprocess -include \S+", "", command))


def headers_hash():
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for name in sorted(tracked("*.h", "*.hpp", "*.def")):
        digest.update((ROOT / name).read_bytes())
    return digest.digest()


def fingerprint(entry, headers):
    """A hash of the source, of all project headers that it may see, and of the checks."""
    digest = hashlib.sha256(headers + entry["command"].encode())
    digest.update(pathlib.Path(entry["directory"], entry["file"]).read_bytes())
    return digest.hexdigest()


def tidy_one(source, mark, database):
    """Whether a source is clean, and the findings."""
    if mark.exists():
        return True, ""
    done = subprocess.run(["clang-tidy", "-p", str(database), "--quiet", "--extra-arg=-Wno-unknown-warning-option",
                           "--extra-arg=-Wno-ignored-optimization-argument", str(source)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        mark.touch()
    return done.returncode == 0, done.stdout


def entries_of(build):
    """The compile commands of the project's own sources, by path from the root; puts a database for clang-tidy into the cache."""
    database = json.loads((build / "compile_commands.json").read_text())
    entries = {}
    for entry in database:
        entry["command"] = without_pch(entry["command"])
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(build):
            entries[str(path.relative_to(ROOT))] = entry
    cache = build / "lint-cache"
    cache.mkdir(exist_ok=True)
    (cache / "compile_commands.json").write_text(json.dumps(database))
    return entries, cache


def run(entries, cache, names, jobs, budget=None, tidy=tidy_one):
    """Checks the named sources in order, and starts none after `budget` seconds. Returns (findings by name, names left)."""
    headers, start = headers_hash(), time.monotonic()

    def one(name):
        if budget is not None and time.monotonic() - start >= budget:
            return None
        return tidy(ROOT / name, cache / fingerprint(entries[name], headers), cache)

    bad, left, wanted = {}, [], [name for name in names if name in entries]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, (name, found) in enumerate(zip(wanted, pool.map(one, wanted)), 1):
            if found is None:
                left.append(name)
            elif not found[0]:
                bad[name] = found[1]
                print(f"-- {name}\n{found[1]}", flush=True)
            if sys.stderr.isatty():
                print(f"\rclang-tidy: {done}/{len(wanted)}", end="\n" if done == len(wanted) else "", file=sys.stderr, flush=True)
    print(f"clang-tidy: {len(wanted) - len(left)} sources, {len(bad)} with findings")
    if left:
        print(f"clang-tidy: no time was left for {len(left)} more: {' '.join(left[:SHOWN])}{' …' * (len(left) > SHOWN)}")
    return bad, left


def check(build, jobs, everything=False, budget=None):
    """With a budget checks the files of the newest commits for that many seconds; otherwise what differs from main, or everything."""
    entries, cache = entries_of(build)
    if everything:
        names = list(entries)
    elif budget is None:
        names = changed()
    else:
        commits, names = newest()
        if not commits:
            print("clang-tidy: nothing was checked: the clone is shallow and ends at its newest commit; "
                  f"`git fetch --depth={NEWEST}` gives what it is compared with")
            return True
        print(f"clang-tidy: the files of the {commits} newest commits, for {budget:g} s at most")
    return not run(entries, cache, names, jobs, budget)[0]
