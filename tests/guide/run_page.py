#!/usr/bin/env python3
"""Runs the listings of one page of docs/guide in a folder of its own, and compares what they print with what the page shows.

usage: run_page.py PAGE.md python [--backend PLUGIN.so]
       run_page.py PAGE.md cpp [--fragments PROGRAM] [--program PROGRAM] [--backend PLUGIN.so]

`python` runs the Python and the sh listings, in order and in one namespace. PLUGIN.so and its card are what the pages call
backends/tenon_template.so.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/dev"))
import listings


@contextlib.contextmanager
def captured():
    """Standard output and error of this process and its children, as a function that reads them."""
    with tempfile.TemporaryFile("w+") as file:
        kept = os.dup(1), os.dup(2)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)

        def text():
            sys.stdout.flush()
            sys.stderr.flush()
            file.seek(0)
            return file.read()
        try:
            yield text
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in enumerate(kept, 1):
                os.dup2(copy, number)
                os.close(copy)


def run_python(listing, namespace):
    # Blank lines before it give tracebacks the lines of the page.
    code = compile("\n" * (listing.line - 1) + listing.text, str(listing.page), "exec")
    try:
        exec(code, namespace)
    except BaseException:
        raise listings.Mismatch(f"{listing.page}:{listing.line}: the listing failed\n{traceback.format_exc()}") from None


def run_shell(listing):
    done = subprocess.run(["sh", "-euc", listing.text], check=False, timeout=300)
    if done.returncode:
        raise listings.Mismatch(f"{listing.page}:{listing.line}: exit status {done.returncode}")


def run_python_page(page):
    namespace, count = {"__name__": "__main__"}, 0
    for listing in listings.read(page):
        if listing.language not in ("python", "sh"):
            continue
        printed = ""
        with captured() as text:
            try:
                run_python(listing, namespace) if listing.language == "python" else run_shell(listing)
            except listings.Mismatch as problem:
                raise listings.Mismatch(f"{problem}\n{text()}") from None
            printed = text()
        listing.check(printed)
        count += 1
    return count


def run_program(command, listing):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300)
    if done.returncode:
        raise listings.Mismatch(f"{listing.page}:{listing.line}: exit status {done.returncode}\n{done.stdout}")
    listing.check(done.stdout)


def run_fragments(program, page):
    found = listings.fragments(page)
    done = subprocess.run([program, pathlib.Path(page).stem], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=300)
    *printed, last = done.stdout.split(listings.MARK)
    for listing, text in zip(found, printed):
        listing.check(text)
    if len(printed) < len(found):
        listing = found[len(printed)]
        raise listings.Mismatch(f"{listing.page}:{listing.line}: the listing failed, exit status {done.returncode}\n{last}")
    return len(found)


def run_cpp_page(page, options):
    count = 0
    if options.fragments:
        count += run_fragments(options.fragments, page)
    for listing in listings.programs(page):
        if not options.program:
            raise listings.Mismatch(f"{listing.page}:{listing.line}: tests/guide/meson.build does not build this program")
        run_program([options.program], listing)
        count += 1
    return count


def copy_backend(plugin):
    """Copies, as a scan refuses what others may replace."""
    pathlib.Path("backends").mkdir()
    for path in pathlib.Path(plugin), pathlib.Path(plugin).with_suffix(".tenon.json"):
        shutil.copyfile(path, pathlib.Path("backends") / path.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("language", choices=("python", "cpp"))
    parser.add_argument("--fragments", type=os.path.abspath)
    parser.add_argument("--program", type=os.path.abspath)
    parser.add_argument("--backend", type=os.path.abspath)
    options = parser.parse_args()
    page = options.page.resolve()
    with tempfile.TemporaryDirectory(prefix="tenon-guide-") as folder:
        os.chdir(folder)
        if options.backend:
            copy_backend(options.backend)
        try:
            count = run_python_page(page) if options.language == "python" else run_cpp_page(page, options)
        except listings.Mismatch as problem:
            sys.exit(str(problem))
        finally:
            os.chdir("/")
    if count == 0:
        sys.exit(f"{page}: no listing of {options.language} was run")
    print(f"{count} listings of {page.name} run")


if __name__ == "__main__":
    os.umask(0o022)
    main()
