#!/usr/bin/env python3
"""The `tenon` command as a person uses it: what it prints, what it writes, how it fails.

usage: tenon_test.py PROGRAM [unittest arguments]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None


def tenon(*words, **variables):
    done = subprocess.run([str(PROGRAM), *words], capture_output=True, text=True, check=False, env={**os.environ, **variables})
    return done.returncode, done.stdout, done.stderr


class Help(unittest.TestCase):
    def test_every_command_teaches_by_example(self):
        for command in ("devices", "ops", "explain", "bench", "graph", "new-plugin"):
            code, out, _ = tenon(command, "--help")
            self.assertEqual(code, 0)
            self.assertIn(f"tenon {command}", out)
            self.assertIn("examples:", out)

    def test_nothing_asked_shows_help_and_is_a_usage_error(self):
        code, out, _ = tenon()
        self.assertEqual(code, 2)
        self.assertIn("usage: tenon COMMAND", out)
        self.assertEqual(tenon("--help")[0], 0)

    def test_version(self):
        self.assertRegex(tenon("--version")[1], r"^tenon \d+\.\d+\.\d+\n$")


class Errors(unittest.TestCase):
    def expect(self, code, text, *words):
        got, _, err = tenon(*words)
        self.assertEqual(got, code, err)
        self.assertIn(text, err)

    def test_unknown_names_suggest_the_nearest(self):
        self.expect(2, "did you mean 'devices'?", "device")
        self.expect(2, "did you mean '--json'?", "devices", "--jsn")
        self.expect(3, "did you mean 'softmax'?", "explain", "sofmax")
        self.expect(3, "cpu", "explain", "softmax", "--device", "cqu")
        self.expect(3, "did you mean 'f32'?", "ops", "--dtype", "f33")
        self.expect(2, "did you mean 'models'?", "bench", "--suite", "model")

    def test_missing_and_superfluous_arguments(self):
        self.expect(2, "explain needs an op", "explain")
        self.expect(2, "too many arguments", "explain", "add", "mul")
        self.expect(2, "--rounds must be at least 1", "bench", "--rounds", "0")
        self.expect(2, "tenon bench --help", "bench", "--rounds", "many")

    def test_a_file_that_cannot_be_written(self):
        self.expect(1, "cannot write", "bench", "--suite", "models", "--rounds", "1", "--json", "/nowhere/at/all.json")


class Output(unittest.TestCase):
    def test_devices(self):
        code, out, _ = tenon("devices", "--json")
        self.assertEqual(code, 0)
        rows = json.loads(out)
        fields = {"plugin", "version", "path", "device", "kind", "memory_total", "memory_free", "status", "reason"}
        for row in rows:
            self.assertLessEqual(fields, set(row))
        self.assertEqual([row["device"] for row in rows if row["plugin"] == "core"], ["cpu:0"])
        self.assertIn("cpu:0", tenon("devices")[1])

    def test_a_plugin_without_a_readable_card_is_known_by_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "tenon_broken.tenon.json").write_text("{")
            out = tenon("devices", TENON_PLUGIN_PATH=folder)[1]
        self.assertRegex(out, r"(?m)^tenon_broken\.tenon\.json +refused +the identity card is not JSON")
        self.assertIn(f"\ntenon_broken.tenon.json: {folder}/tenon_broken.tenon.json\n", out)

    def test_ops_have_schema_and_provider(self):
        ops = {row["name"]: row for row in json.loads(tenon("ops", "--json")[1])}
        self.assertEqual(ops["add"]["schema"], "add(Tensor x, Tensor y) -> Tensor @1")
        self.assertEqual(ops["add"]["providers"]["cpu:0"], "cpu")
        self.assertEqual(ops["reshape"]["providers"]["cpu:0"], "core")
        self.assertEqual(ops["einsum"]["providers"]["cpu:0"], "decomposition")
        self.assertTrue(ops["add"]["differentiable"])
        self.assertFalse(ops["argmax"]["differentiable"])

    def test_every_op_has_a_provider_on_the_host(self):
        # Bits and indices have kernels for integers only, LAPACK's pivots for those of 32 bits, conditions for bools, some transforms for
        # complex numbers.
        missing = None
        for dtype in ("f32", "i32", "i64", "bool", "c64"):
            rows = json.loads(tenon("ops", "--json", "--dtype", dtype)[1])
            without = {row["name"] for row in rows if not row["providers"]["cpu:0"]}
            missing = without if missing is None else missing & without
        self.assertEqual(missing, set())

    def test_explain_says_who_and_why(self):
        code, out, _ = tenon("explain", "matmul", "--device", "cpu")
        self.assertEqual(code, 0)
        self.assertIn("matmul(Tensor x, Tensor y) -> Tensor @1", out)
        self.assertIn("kernel of plugin 'cpu', priority", out)

    def test_bench_writes_figures_and_a_chart(self):
        with tempfile.TemporaryDirectory() as folder:
            figures, page = pathlib.Path(folder) / "b.json", pathlib.Path(folder) / "b.html"
            code, out, err = tenon("bench", "--suite", "models", "--rounds", "2", "--json", str(figures), "--html", str(page))
            self.assertEqual(code, 0, err)
            self.assertIn("MLP 64-64-10", out)
            run = json.loads(figures.read_text())
            self.assertTrue(all(row["agrees"] and len(row["seconds"]) == 2 and row["median_s"] > 0 for row in run["works"]))
            self.assertTrue(all(device["copy_bytes_per_s"] > 0 for device in run["devices"]))
            self.assertIn("class=fill", page.read_text())

    def test_bench_compares_two_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            figures = pathlib.Path(folder) / "b.json"
            words = ("bench", "--suite", "models", "--devices", "cpu", "--rounds", "1")
            code, _, err = tenon(*words, "--json", str(figures))
            self.assertEqual(code, 0, err)
            run = json.loads(figures.read_text())
            for row in run["works"]:
                row["median_s"], row["seconds"] = 1e3, [1e3]
            figures.write_text(json.dumps({**run, "machine": "abacus"}))
            code, out, err = tenon(*words, "--against", str(figures))
            self.assertEqual(code, 0, err)
            self.assertRegex(out, r"then on another machine: abacus\n")
            self.assertRegex(out, r"MLP 64-64-10 step, batch 32 +cpu:0 +1000.00 s .*× +faster")
            figures.write_text("[]")
            for path, complaint in ((str(figures), "is not what `tenon bench --json` writes"), ("/nowhere.json", "cannot read")):
                code, out, err = tenon(*words, "--against", path)
                self.assertEqual((code, out), (1, ""))
                self.assertIn(complaint, err)


if __name__ == "__main__":
    if PROGRAM is None:
        sys.exit(__doc__)
    unittest.main()
