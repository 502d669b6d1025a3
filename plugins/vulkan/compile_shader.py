#!/usr/bin/env python3
"""Compiles a shader for each way to compute, with addressed and with bound buffers, into a header of constants.

    compile_shader.py --glslc glslc --depfile unary.d shaders/unary.comp unary.hpp
    compile_shader.py --glslc glslc --define TN_EMULATED --depfile c.d shaders/cooperative.comp cooperative_emulated.hpp

A line of the shader says how: "// Computes in F32, I32." With "; one op of many by a constant" it is left to the driver, which knows the
constant before it inlines: pipelines are made in less time.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

COMPUTE = ["F32", "F64", "I32", "I64"]  # the order of Compute in shader.hpp


COMPUTES = re.compile(r"^// Computes in (\w+(?:, \w+)*)(; one op of many by a constant)?\.$", re.M)


def how(source):
    """The types in which a shader computes, and glslc's optimization."""
    found = COMPUTES.search(source.read_text())
    types = found[1].split(", ") if found else []
    if not types or set(types) - set(COMPUTE):
        sys.exit(f"{source}: needs a line '// Computes in F32.' with some of {', '.join(COMPUTE)}")
    return types, "-O0" if found[2] else "-O"


def compile_one(glslc, level, source, defines):
    """The module, and the files that it was made of."""
    with tempfile.TemporaryDirectory() as folder:
        out, needs = pathlib.Path(folder) / "module", pathlib.Path(folder) / "needs"
        subprocess.run([glslc, level, "--target-env=vulkan1.2", "-fshader-stage=comp", *(f"-D{d}" for d in defines),
                        "-MD", "-MF", needs, str(source), "-o", out], check=True)
        return out.read_bytes(), needs.read_text().partition(": ")[2].split()


def check_capabilities(code, source, allowed):
    """The device is asked for memory of 8 and 16 bits, not for arithmetic: a choice between two such values needs it already."""
    words = [int.from_bytes(code[i:i + 4], "little") for i in range(0, len(code), 4)]
    names = {9: "Float16", 22: "Int16", 39: "Int8"}  # SPIR-V 1.5, table 3.31
    found = [names[words[i + 1]] for i in range(5, len(words) - 1) if words[i] == 0x00020011 and words[i + 1] in names]
    if set(found) - set(allowed):
        sys.exit(f"{source}: needs {', '.join(found)}: convert to uint before anything but a load or a store")


def written_bindings(code):
    """A mask of the bindings that a module may write, whatever its constants: what the validation layer takes for written."""
    words = [int.from_bytes(code[i:i + 4], "little") for i in range(0, len(code), 4)]
    binding, root, written = {}, {}, 0
    at = 5
    while at < len(words):
        op, count = words[at] & 0xffff, words[at] >> 16
        args = words[at + 1:at + count]
        if op == 71 and args[1] == 33:  # OpDecorate Binding
            binding[args[0]] = args[2]
        elif op in (65, 66, 67):  # access chains
            root[args[1]] = root.get(args[2], args[2])
        pointer = args[0] if op in (62, 228) else args[2] if 229 <= op <= 242 else None  # OpStore, OpAtomic…
        if pointer is not None and root.get(pointer, pointer) in binding:
            written |= 1 << binding[root.get(pointer, pointer)]
        at += count
    return written


def words_of(code):
    numbers = [str(int.from_bytes(code[i:i + 4], "little")) for i in range(0, len(code), 4)]
    return ",\n".join(",".join(numbers[i:i + 24]) for i in range(0, len(numbers), 24))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glslc", required=True)
    parser.add_argument("--define", action="append", default=[], help="a further macro")
    parser.add_argument("--allow", action="append", default=[], help="arithmetic that only devices with this shader are asked for: Float16")
    parser.add_argument("--depfile", type=pathlib.Path, required=True, help="tells ninja what the source includes")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("header", type=pathlib.Path)
    args = parser.parse_args()
    wanted, level = how(args.source)
    name = args.header.stem
    arrays, entries, needs = [], [], set()
    for compute in COMPUTE:
        row = []
        for bound in (False, True):
            if compute not in wanted:
                row.append("{}")
                continue
            defines = ["TN_" + compute] + (["TN_BOUND"] if bound else []) + args.define
            code, files = compile_one(args.glslc, level, args.source, defines)
            needs.update(files)
            check_capabilities(code, args.source, args.allow)
            array = f"k_{name}_{compute.lower()}{'_bound' if bound else ''}"
            arrays.append(f"inline constexpr uint32_t {array}[] = {{\n{words_of(code)}}};\n")
            row.append(f"{{{array}, sizeof {array}, {written_bindings(code) if bound else 0}}}")
        entries.append("{" + ", ".join(row) + "}")
    args.depfile.write_text(f"{args.header}: {' '.join(sorted(needs))}\n")
    args.header.write_text(
        f"// Made of {args.source.name} by compile_shader.py.\n#pragma once\n\n#include \"shader.hpp\"\n\n"
        "namespace tenon::vulkan::shaders {\n" + "".join(arrays) +
        f"inline constexpr Shader {name} = {{\"{name}\", {{{', '.join(entries)}}}}};\n"
        "}  // namespace tenon::vulkan::shaders\n")


if __name__ == "__main__":
    main()
