#!/usr/bin/env python3
"""What ./dev lint compares: the newest commits, also in a shallow clone, a time budget, and the headers of other projects."""

import contextlib
import hashlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/lint"))
import doors  # noqa: E402
import lint  # noqa: E402
import tidy  # noqa: E402


def git(folder, *arguments):
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main", "-c", "commit.gpgSign=false"]
    subprocess.run(["git", *who, *map(str, arguments)], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="tenon-lint-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)


class Newest(Case):
    def setUp(self):
        super().setUp()
        self.origin = self.folder / "origin"
        self.origin.mkdir()
        git(self.origin, "init")
        for name in ("first", "second", "third", "first"):
            with open(self.origin / f"{name}.cpp", "a") as file:
                file.write("//\n")
            git(self.origin, "add", ".")
            git(self.origin, "commit", "-m", name)

    def clone(self, depth):
        git(self.folder, "clone", "--depth", depth, self.origin.as_uri(), f"clone{depth}")
        return self.folder / f"clone{depth}"

    def test_files_of_the_latest_commit_come_first(self):
        self.assertEqual(tidy.newest(self.origin), (4, ["first.cpp", "third.cpp", "second.cpp"]))

    def test_the_end_of_a_shallow_clone_is_not_a_commit_that_adds_everything(self):
        self.assertEqual(tidy.newest(self.clone(3)), (2, ["first.cpp", "third.cpp"]))
        self.assertEqual(tidy.newest(self.clone(1)), (0, []))

    def test_a_merge_counts_by_what_it_brings(self):
        git(self.origin, "checkout", "-b", "side", "HEAD~1")
        (self.origin / "side.cpp").write_text("//\n")
        git(self.origin, "add", ".")
        git(self.origin, "commit", "-m", "side")
        git(self.origin, "checkout", "main")
        git(self.origin, "merge", "--no-ff", "-m", "merge", "side")
        self.assertEqual(tidy.newest(self.origin)[1][0], "side.cpp")


class Budget(Case):
    NAMES = ("core/memory/allocator.cpp", "core/tensor/bools.cpp")

    def run_tidy(self, budget, fine=True):
        entries = {name: {"directory": str(ROOT), "file": name, "command": "c++"} for name in self.NAMES}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            found = tidy.run(entries, self.folder, [*self.NAMES, "README.md"], 2, budget, lambda *_: (fine, "what is wrong"))
        return *found, out.getvalue()

    def test_all_are_checked_without_one_or_in_time(self):
        for budget in (None, 1e6):
            bad, left, out = self.run_tidy(budget)
            self.assertEqual((bad, left), ({}, []))
            self.assertIn("2 sources, 0 with findings", out)

    def test_what_is_left_is_named(self):
        bad, left, out = self.run_tidy(0)
        self.assertEqual((bad, left), ({}, list(self.NAMES)))
        self.assertIn("no time was left for 2 more: " + " ".join(self.NAMES), out)

    def test_findings_are_shown(self):
        bad, _, out = self.run_tidy(None, fine=False)
        self.assertEqual(set(bad), set(self.NAMES))
        self.assertIn("what is wrong", out)


class ThirdParty(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "lib").mkdir()
        rows = ""
        for name in ("lib/lib.h", "lib/LICENSE"):
            (self.folder / name).write_text(name)
            rows += f"| `{name}` | 1 | https://example.org | `{hashlib.sha256(name.encode()).hexdigest()}` |\n"
        (self.folder / "README.md").write_text(rows)

    def faults(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            fine = lint.check_third_party(self.folder)
        self.assertEqual(fine, not out.getvalue())
        return out.getvalue()

    def test_what_the_table_names_passes(self):
        self.assertEqual(self.faults(), "")
        self.assertTrue(lint.check_third_party())

    def test_a_changed_file_is_found(self):
        (self.folder / "lib/lib.h").write_text("mine")
        self.assertIn("lib/lib.h is not upstream's", self.faults())

    def test_a_file_or_a_row_too_many_is_found(self):
        (self.folder / "lib/more.h").write_text("")
        self.assertIn("lib/more.h has no row", self.faults())
        (self.folder / "lib/LICENSE").unlink()
        self.assertRegex(self.faults(), r"lib/ has no LICENSE\n(.*\n)*.*lib/LICENSE is missing")


class Doors(Case):
    def breaches(self, check, path, text, others=None):
        """What a check says of a tree that has this file, and others by their path."""
        for name, content in {path: text, **(others or {})}.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        git(self.folder, "init")
        git(self.folder, "add", ".")
        found = []
        with unittest.mock.patch.object(doors, "ROOT", self.folder):
            check(found)
        return found

    def test_a_room_includes_only_those_below_it(self):
        text = '#include "tensor/tensor.hpp"\n#include "autograd/engine.hpp"\n'
        self.assertEqual(self.breaches(doors.check_order_of_rooms, "core/dispatch/call.cpp", text),
                         ["core/dispatch/call.cpp:2: includes autograd/engine.hpp, which lies above dispatch/"])

    def test_a_plugin_sees_nothing_of_the_core(self):
        self.assertEqual(self.breaches(doors.check_includes, "plugins/cpu/ops/join.cpp", '#include "tensor/tensor.hpp"\n'),
                         ["plugins/cpu/ops/join.cpp:1: includes tensor/tensor.hpp: a plugin does not use the core's internals"])

    def test_arguments_have_names(self):
        for line in ("const tn_view& x = input(call, 0);", "int_arg(call, 1)", "call.args[2].as.i", "output(call, 1)"):
            found = self.breaches(doors.check_positions, "plugins/gpu/ops/join.cpp", f"f({line});\n")
            self.assertEqual(len(found), 1, line)
            self.assertIn("plugins/gpu/ops/join.cpp:1: an argument by its number", found[0])
        self.assertEqual(self.breaches(doors.check_positions, "plugins/gpu/ops/join.cpp", "f(input(call, arg::concat::dim));\n"), [])

    def test_arguments_have_names_in_what_kernels_share_and_in_samples(self):
        for path, line in {"plugins/cpu/simd/map-inl.hpp": "call->args[0].as.view", "plugins/gpu/elementwise.hpp": "input(call, 0).dtype",
                           "libs/graph/pass/fold.cpp": "node.args[1]",
                           "sdk/conformance/samples/unary.hpp": "array(a, 0)", "sdk/conformance/samples/view.cpp": "text(args, 1)"}.items():
            found = self.breaches(doors.check_positions, path, f"f({line});\n")
            self.assertIn(f"{path}:1: an argument by its number", found[0])
            (self.folder / path).unlink()

    def test_a_kernel_lies_in_a_file_of_its_family(self):
        ops = {"ops/sort.cpp": "TN_OP(unique) = {};\n", "ops/compare.cpp": "TN_OP(less) = {};\n"}
        self.assertEqual(self.breaches(doors.check_kernels, "plugins/cpu/ops/index_any.cpp", "add(TN_SCHEMA_UNIQUE);\nadd(TN_SCHEMA_LESS);\n", ops),
                         ["plugins/cpu/ops/index_any.cpp:1: unique belongs to the family sort: put its kernel into a file that begins so",
                          "plugins/cpu/ops/index_any.cpp:2: less belongs to the family compare: put its kernel into a file that begins so"])
        (self.folder / "plugins/cpu/ops/index_any.cpp").unlink()
        for path, op in {"plugins/cpu/ops/sort_unique.cpp": "UNIQUE", "plugins/gpu/ops/binary.cpp": "LESS"}.items():
            self.assertEqual(self.breaches(doors.check_kernels, path, f"add(TN_SCHEMA_{op});\n", ops), [])

    def test_files_of_kernels_and_samples_have_the_names_of_families(self):
        tables = {"ops/where.cpp": "", "plugins/families.def": "// CPU(NAME)\nCPU(where) GPU(where)\nCPU(where_masked) GPU(choose)\n"}
        self.assertEqual(self.breaches(doors.check_families, "sdk/conformance/samples/families.def", "SAMPLES(where_masked)\n", tables),
                         ["plugins/families.def:3: choose does not begin with a family, a file of ops/"])

    def test_a_new_family_compiles_no_other_one(self):
        listing = '#include "../families.def"\n'
        self.assertEqual(self.breaches(doors.check_who_lists_families, "plugins/gpu/kernels.hpp", listing, {"plugins/gpu/kernels.cpp": listing}),
                         ["plugins/gpu/kernels.hpp:1: a header includes the list of families: a new one would compile every other again"])

    def test_no_comment_lists_arguments(self):
        for comment in ("// args: x, dim", "int y;  // outs: values, indices"):
            self.assertEqual(self.breaches(doors.check_positions, "plugins/vulkan/ops/join.cpp", comment + "\n"),
                             ["plugins/vulkan/ops/join.cpp:1: a comment lists arguments; name them, arg::OP::NAME"])

    def test_the_core_names_no_backend(self):
        for text in ("int cuda_devices();", "cudaMalloc(&p);", "constexpr int kVulkan = 1;", "#ifdef HAS_HIP", 'find("rocm")', "__CUDA_ARCH__"):
            found = self.breaches(doors.check_backend_names, "core/memory/device.cpp", text + "\n")
            self.assertEqual([one[:27] for one in found], ["core/memory/device.cpp:1: t"], text)
        fine = "Hips, ships, metallic; // Vulkan is named in comments\nbool is_metalled(Chip chip);\n"
        self.assertEqual(self.breaches(doors.check_backend_names, "core/memory/device.cpp", fine), [])

    def test_a_function_has_an_end(self):
        def function(lines):
            return "namespace tenon {\n\nint sum(int x,\n        int y) {\n" + "  x += y;\n" * (lines - 3) + "}\n\n}  // namespace tenon\n"

        self.assertEqual(self.breaches(doors.check_function_lengths, "core/sum.cpp", function(80)), [])
        self.assertEqual(self.breaches(doors.check_function_lengths, "core/sum.cpp", function(81)),
                         ["core/sum.cpp:3: a function of 81 lines; at most 80"])


if __name__ == "__main__":
    unittest.main()
