#!/usr/bin/env python3
"""Checks the architecture's doors by reading includes and names, and the length of functions; prints every breach as FILE:LINE: reason."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The most lines of code of the mechanism. What the core knows about single ops grows with the op table and is counted separately.
CORE_LIMIT = 9_000
# The most lines of one function; 60 is usual (CONTRIBUTING.md).
FUNCTION_LIMIT = 80
FUNCTIONS_IN = ("core", "ops", "plugins", "sdk/conformance/groups", "sdk/include", "sdk/validate", "libs", "python/src", "tools", "examples")
SOURCE = {".c", ".h", ".cpp", ".hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

# Includes that a room must not have: patterns, and the reason.
FORBIDDEN = {
    "core": [(r"^(tenon/)?(nn|optim|data|io|text|graph|onnx|distributed)(/|\.hpp)", "the core never includes libs/"),
             (r"(^|/)(plugins|libs|sdk)/", "the core includes neither plugins, libs nor the SDK")],
    "core/include": [(r"\.hpp$", "a C header includes no C++ header")],
    "ops": [(r"^(plugin|print|memory)/|^autograd/(?!formula\.hpp)", "ops are made of dispatch/, tensor/ and autograd/formula.hpp"),
            (r"(^|/)(plugins|libs|sdk)/", "ops include neither plugins, libs nor the SDK")],
    "plugins": [(r"^(tensor|dispatch|plugin|memory|autograd|ops)/", "a plugin does not use the core's internals"),
                (r"^tenon/(tensor|ops|tenon)\.hpp$", "a plugin does not use the host's C++ API"),
                (r"(^|/)core/", "a plugin sees public headers by <tenon/...> only"),
                (r"(^|/)libs/", "a plugin does not use libs/")],
    "sdk": [(r"^(tensor|dispatch|plugin|memory|autograd)/", "the SDK does not use the core's internals"),
            (r"(^|/)core/", "the SDK sees public headers by <tenon/...> only")],
    "libs": [(r"^(tensor|dispatch|plugin|memory|autograd)/", "libs do not use the core's internals"),
             (r"(^|/)core/", "libs see public headers by <tenon/...> only")],
    "examples": [(r"(^|/)core/", "examples use public headers only")],
}
# The core's rooms from the lowest up. Each includes its own headers, those of rooms below, and those in core/ itself. A function that a
# room calls in one above is declared below and defined there (loader.hpp, dispatch/record.hpp).
CORE_ROOMS = ["memory", "tensor", "print", "dispatch", "autograd", "plugin", "report"]
# Positions of an op's arguments have names: arg::conv::stride.
POSITIONS = {"ops": re.compile(r"\b(?:frame|in|c)\.(?!grad|out|result|dynamic_result)\w+\(\d+[,)]|\bin_\(\d|\w\((?:in\.)?frame(?:\(\))?, \d"),
             "plugins": re.compile(r"\bargs\[\d|\b(?:in|out)put(?:_or_null)?\(\*?call, \d|\w+_arg\(\*?call, \d"),
             "libs/graph": re.compile(r"\bargs\[\d"),
             "sdk/conformance/samples": re.compile(r"\b(?:arrays?|dtype|flag|has|integer|real|text)\(a(?:rgs)?, \d|(?<![.\w])a(?:rgs)?\[\d")}
# A list of an op's arguments in a comment would repeat the schema.
ARGS_COMMENT = re.compile(r"//\s*(?:args|arguments|outs|results)\s*:")
NAMES_OF_BACKENDS = ("cuda", "rocm", "hip", "vulkan", "metal", "dnnl", "onednn", "cublas", "cudnn")
# Also as a part of a name: cuda_devices, cudaMalloc, kCuda, HAS_CUDA.
BACKENDS = re.compile("|".join(rf"(?<![A-Za-z]){name}(?![a-z])|{name.title()}(?![a-z])|(?<![A-Z]){name.upper()}(?![A-Z])"
                               for name in NAMES_OF_BACKENDS))
SAMPLES = "sdk/conformance/samples"
# Other families whose files may have a family's kernels, because one loop serves both.
ALSO_IN = {"activation": {"unary", "binary"}, "binary": {"unary"}, "compare": {"binary"}, "embedding": {"index"}, "index": {"join"},
           "unary": {"binary", "compare"}}
VENDORED_HEADERS = re.compile(r"\b(fmt|nlohmann|boost|spdlog|hwy|dnnl)[/.]")


def tracked(*folders):
    names = subprocess.run(["git", "ls-files", "--", *folders], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE, text=True).stdout.split()
    return [ROOT / n for n in names if pathlib.Path(n).suffix in SOURCE and (ROOT / n).is_file()]


def own_headers(folder):
    return {p.name for p in (ROOT / folder).rglob("*.h*")}


def code_only(text):
    """The text without comments, but with its line breaks."""
    keep = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
    return keep.sub(lambda m: "\n" * m.group().count("\n"), text)


def lines_of(*folders, read=lambda text: text):
    """(file, its location for messages, line) of every line."""
    for path in tracked(*folders):
        for number, line in enumerate(read(path.read_text()).splitlines(), 1):
            yield path, f"{path.relative_to(ROOT)}:{number}", line


def includes_of(*folders):
    """(file, location, the included path)."""
    for path, place, line in lines_of(*folders):
        if found := INCLUDE.match(line):
            yield path, place, found[1]


def check_includes(breaches):
    for folder, rules in FORBIDDEN.items():
        for path, place, include in includes_of(folder):
            # A plugin's own folders may have names of the core's rooms.
            if (path.parent / include).exists() or local(path, include):
                continue
            breaches += [f"{place}: includes {include}: {reason}" for pattern, reason in rules if re.search(pattern, include)]


def local(path, include):
    """Whether the include is found below the includer's own plugin folder."""
    parts = path.relative_to(ROOT).parts
    return parts[0] == "plugins" and (ROOT / parts[0] / parts[1] / include).exists()


def check_order_of_rooms(breaches):
    for path, place, include in includes_of("core"):
        room, other = path.relative_to(ROOT).parts[1], pathlib.Path(include).parts[0] if "/" in include else ""
        if room in {"include", "cpp"}:
            continue
        height = CORE_ROOMS.index(room) if room in CORE_ROOMS else -1
        if other == "ops" or other in CORE_ROOMS and CORE_ROOMS.index(other) > height:
            breaches.append(f"{place}: includes {include}, which lies above {room}/")


def check_positions(breaches):
    for folder, literal in POSITIONS.items():
        for _, place, line in lines_of(folder, read=code_only):
            if found := literal.search(line):
                breaches.append(f"{place}: an argument by its number: {found[0]}: write arg::OP::NAME")
    for _, place, line in lines_of("ops", "plugins", "sdk"):
        if ARGS_COMMENT.search(line):
            breaches.append(f"{place}: a comment lists arguments; name them, arg::OP::NAME")


def begins_with(name, family):
    return name == family or name.startswith(family + "_")


def check_families(breaches):
    """Files of a backend's kernels, and of samples, must begin with the family of ops/ that their op belongs to."""
    families = [path.stem for path in tracked("ops") if path.suffix == ".cpp"]
    for table in filter(pathlib.Path.is_file, [ROOT / "plugins/families.def", ROOT / SAMPLES / "families.def"]):
        for number, line in enumerate(table.read_text().splitlines(), 1):
            for name in [] if line.startswith(("//", "#")) else re.findall(r"\b(?:CPU|GPU|VULKAN|SAMPLES)\((\w+)\)", line):
                if not any(begins_with(name, family) for family in families):
                    breaches.append(f"{table.relative_to(ROOT)}:{number}: {name} does not begin with a family, a file of ops/")


def check_who_lists_families(breaches):
    for path, place, include in includes_of("plugins", "sdk"):
        if path.suffix == ".hpp" and include.endswith("families.def"):
            breaches.append(f"{place}: a header includes the list of families: a new one would compile every other again")


def check_kernels(breaches):
    """A kernel of an op must be in a file that begins with its family."""
    family_of = {}
    for path, _, line in lines_of("ops"):
        if op := re.match(r"TN_OP\((\w+)\)", line):
            family_of[op[1].upper()] = path.stem
    for path, place, line in lines_of("plugins/*/ops/*"):
        for op in re.findall(r"\bTN_SCHEMA_(\w+)", line):
            family = family_of.get(op)
            if family and not any(begins_with(path.stem, name) for name in {family, *ALSO_IN.get(family, ())}):
                breaches.append(f"{place}: {op.lower()} belongs to the family {family}: put its kernel into a file that begins so")


def check_samples(breaches):
    """An op must be named among the samples of its family."""
    samples = {path.stem: path.read_text() for path in tracked(SAMPLES) if path.suffix == ".cpp"}
    for path, place, line in lines_of("ops"):
        op = re.match(r"TN_OP\((\w+)\)", line)
        if op and not any(f'"{op[1]}"' in text for name, text in samples.items() if begins_with(name, path.stem)):
            breaches.append(f"{place}: {op[1]} has no sample in a file of {SAMPLES}/ that begins with {path.stem}")


def check_backend_names(breaches):
    for _, place, line in lines_of("core", "ops", read=code_only):
        if found := BACKENDS.search(line):
            breaches.append(f"{place}: the core names a backend: {found[0]}")


def check_public_headers(breaches):
    for path, place, include in includes_of("core/include", "sdk/include", "core/cpp", "libs"):
        if path.suffix not in {".h", ".hpp"}:
            continue
        allowed = path.parts[len(ROOT.parts)] == "libs" and include.startswith("nlohmann")
        if VENDORED_HEADERS.match(include) and not allowed:
            breaches.append(f"{place}: a public header includes {include}")


def check_function_lengths(breaches):
    """Checks functions that are not members inside a class: in formatted code these begin and end in the first column."""
    for path in tracked(*FUNCTIONS_IN):
        begin = 0
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line == "}" and number - begin >= FUNCTION_LIMIT:
                breaches.append(f"{path.relative_to(ROOT)}:{begin}: a function of {number - begin + 1} lines; at most {FUNCTION_LIMIT}")
            if re.match(r"\w", line):
                begin = number


def part_of_core(path):
    """The part of libtenon to which a file belongs: its contract, what it knows about single ops, what it prints and reports, or its
    mechanism."""
    top, room = path.relative_to(ROOT).parts[:2]
    if room in {"include", "cpp"}:
        return "public headers"
    return "ops" if top == "ops" else "printing" if room in {"print", "report"} else "mechanism"


def core_lines():
    """Lines of code by part."""
    counts = {"mechanism": 0, "ops": 0, "printing": 0, "public headers": 0}
    for path in tracked("core", "ops"):
        counts[part_of_core(path)] += sum(1 for line in code_only(path.read_text()).splitlines() if line.strip())
    return counts


def main():
    breaches = []
    check_includes(breaches)
    check_order_of_rooms(breaches)
    check_positions(breaches)
    check_families(breaches)
    check_who_lists_families(breaches)
    check_kernels(breaches)
    check_samples(breaches)
    check_backend_names(breaches)
    check_public_headers(breaches)
    check_function_lengths(breaches)
    lines = core_lines()
    if lines["mechanism"] > CORE_LIMIT:
        breaches.append(f"core:1: {lines['mechanism']} lines of mechanism; at most {CORE_LIMIT}")
    for breach in breaches:
        print(breach)
    print(f"core: {lines['mechanism']} lines of mechanism (at most {CORE_LIMIT}), {lines['ops']} of ops, {lines['printing']} of printing, "
          f"{lines['public headers']} of public headers")
    print("doors: " + (f"{len(breaches)} breach{'es' * (len(breaches) > 1)}" if breaches else "shut"))
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
