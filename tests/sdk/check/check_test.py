#!/usr/bin/env python3
"""`tenon check` finds what is wrong: each group, on a plugin with a fault of that kind, and nothing on one without.

usage: check_test.py PROGRAM SUSPECT SUSPECT_OPEN TEMPLATE [unittest arguments]
"""

import json
import os
import shlex
import subprocess
import sys
import unittest

PROGRAM, SUSPECT, OPEN, TEMPLATE = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))

# fault: (group, --only, part of the case's name, part of what is said)
FAULTS = {
    "value": ("values", "add", "add/", "wanted"),
    "tail": ("values", "relu", "relu/", "wanted"),
    "false_yes": ("support", "mul", "mul/f32", "got it wrong"),
    "empty_claim": ("support", "neg", "neg/f32", "took none of"),
    "moody": ("support", "relu", "relu/f32", "must depend on metadata alone"),
    "shared": ("threads", "neg", "neg", "beside three others"),
    "overrun": ("guard", "mul", "mul", "behind the end of block"),
    "event_wait": ("streams", "events", "a stream waits for another", "did not see"),
    "event_query": ("streams", "events", "polled until it is done", "wanted"),
    "elapsed": ("streams", "times", "elapsed", "took -1"),
    "absurd": ("memory", "limits", "out of memory", "allocate says it has"),
    "overlap": ("memory", "copies", "overlapping", "wanted"),
    "copy_in_late": ("memory", "copies", "host memory is free", "wanted"),
    "fill": ("memory", "fills", "fill", "wanted"),
    "start_leak": ("cycles", "alone", "start, use, quiesce", "heap bytes in use grew"),
    "start_file": ("cycles", "alone", "start, use, quiesce", "open files grew"),
    "query": ("abi", "query", "query/repeatable", "must be pure"),
    "deaf": ("abi", "hosts", "registration refused", "although the host refused"),
    "op_leak": ("new_ops", "suspect.cube", "suspect.cube/memory", "bytes more are in use"),
    "eager_event_wait": ("streams", "events", "a stream waits for another", "the waiting stream"),
    "exit": ("values", "relu", "relu/", "must not call exit"),
    "unrepeatable": ("values", "neg", "neg/", "the same call gives another result"),
    "scratch": ("threads", "square", "square/again and again", "the same call gives another result"),
    "host_value": ("values", "square", "square/", "wanted"),
    "plan_leak": ("cycles", "plans", "plans/mul", "bytes on the heap"),
    "infer": ("guard", "suspect.cube", "suspect.cube", "op.infer: result 0 has shape (3, 2)"),
    "retain": ("guard", "suspect.cube", "suspect.cube", "references to tensors"),
    "gradient_leak": ("guard", "suspect.cube", "suspect.cube/backward", "references to tensors"),
    "gradient": ("new_ops", "suspect.cube", "suspect.cube/gradient", "differences give"),
    "layer_value": ("layers", "swapped", "swapped/mul", "without the layer"),
    "layer_leak": ("layers", "swapped", "swapped/memory", "bytes more are in use"),
}


# Under AddressSanitizer: a refused size is an answer, and the leaks are the ones that the groups must find.
SANITIZED = "ASAN_OPTIONS" in os.environ


def check(*words, fault=""):
    environment = dict(os.environ, TENON_SUSPECT=fault, TENON_LOG="error")
    if SANITIZED:
        environment["ASAN_OPTIONS"] += ":allocator_may_return_null=1:detect_leaks=0"
    done = subprocess.run([PROGRAM, "check", *words], capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def report(*words, fault=""):
    code, out, err = check(*words, "--json", fault=fault)
    assert out, f"{words}: {err}"
    return code, json.loads(out)


class Faults(unittest.TestCase):
    def test_each_is_found_by_its_group(self):
        for fault, (group, only, case, text) in FAULTS.items():
            if SANITIZED and fault in ("start_leak", "plan_leak"):
                continue  # the heap is not glibc's there, and LeakSanitizer tells
            with self.subTest(fault=fault):
                code, found = report(SUSPECT, "--group", group, "--only", only, fault=fault)
                self.assertEqual(code, 1, found)
                self.assertFalse(found["ok"])
                # What is undefined besides being wrong ends the process there.
                texts = [f["text"] for f in found["failures"] if case in f["case"]]
                self.assertTrue(any(text in t or (SANITIZED and "the process ended" in t) for t in texts), found["failures"][:3])

    def test_a_failure_is_repeated_by_the_command_it_prints(self):
        _, found = report(SUSPECT, "--group", "values", "--only", "add", fault="value")
        words = shlex.split(found["failures"][0]["repeat"])
        self.assertEqual(words[:2], ["tenon", "check"])
        code, again = report(*words[2:], fault="value")
        self.assertEqual((code, again["failed"]), (1, 1))
        self.assertEqual(again["failures"][0]["case"], found["failures"][0]["case"])
        self.assertEqual(report(*words[2:])[0], 0)

    def test_a_crash_costs_one_unit_and_names_the_signal(self):
        code, found = report(SUSPECT, "--group", "threads", fault="crash")
        self.assertEqual(code, 1)
        self.assertEqual([f["case"] for f in found["failures"] if "SIGSEGV" in f["text"]][:1], ["add"])
        self.assertGreater(found["cases"] - found["failed"], 50)

    def test_a_hang_is_stopped(self):
        code, found = report(SUSPECT, "--group", "values", "--only", "mul", "--timeout", "2", fault="hang")
        self.assertEqual(code, 1)
        self.assertIn("hung: it reported nothing for 6 s", found["failures"][0]["text"])  # three times, as it is the first case

    def test_a_lost_device_costs_the_rest_of_one_unit(self):
        code, found = report(SUSPECT, "--group", "values", fault="lost")
        self.assertEqual(code, 1)
        texts = [f["text"] for f in found["failures"] if f["case"].split("/")[0] == "add"]
        self.assertEqual(len(texts), 2, found["failures"][:4])
        self.assertIn("the device fell off", texts[0])
        self.assertIn("the device was lost", texts[1])
        self.assertGreater(found["cases"] - found["failed"], 50)  # the other ops ran, in another process

    def test_a_failure_on_a_further_device_is_repeated_there(self):
        _, found = report(SUSPECT, "--group", "values", "--only", "square", fault="host_value")
        self.assertEqual(found["further_devices"], ["cpu:0"])
        words = shlex.split(found["failures"][0]["repeat"])
        self.assertIn("--device", words)
        _, again = report(*words[2:], fault="host_value")
        self.assertEqual(again["failures"][0]["case"], found["failures"][0]["case"])

    def test_further_symbols_are_named(self):
        code, found = report(OPEN, "--group", "abi", "--only", "symbols")
        self.assertEqual(code, 1)
        self.assertIn("wanted tn_plugin_query alone", found["failures"][0]["text"])


class Right(unittest.TestCase):
    def expect_clean(self, *words):
        code, found = report(*words)
        self.assertEqual(code, 0, found["failures"][:3])
        self.assertEqual(found["failed"], 0)
        self.assertGreater(found["cases"], 0)
        return found

    def test_a_sample_has_every_op_and_changes_with_its_salt(self):
        def drawn(*sample):
            found = self.expect_clean("cpu", "--only", "add", "--group", "support", *sample)
            return found["cases"] - 1, found.get("left out by --sample", 0)  # without the load

        whole, none = drawn()
        self.assertEqual(none, 0)
        parts = [drawn("--sample", f"3:{salt}") for salt in "abcdefgh"]
        for cases, left_out in parts:
            self.assertEqual(cases + left_out, whole)
            self.assertGreaterEqual(cases, 1)
        self.assertGreater(len(set(parts)), 1)
        self.assertEqual(drawn("--sample", "3:a"), parts[0])
        self.assertEqual(drawn("--sample", "1000000000"), (1, whole - 1))  # the op's first

    def test_the_suspect_without_a_fault(self):
        for group in ("abi", "memory", "streams", "new_ops", "layers", "cycles"):
            self.assertGreater(self.expect_clean(SUSPECT, "--group", group)["cases"], 1)
        for op in ("add", "mul", "neg", "relu"):
            self.expect_clean(SUSPECT, "--only", op)

    def test_the_suspect_that_works_ahead(self):
        for group, only in (("streams", "events"), ("threads", "square"), ("cycles", "plans")):
            code, found = report(SUSPECT, "--group", group, "--only", only, fault="eager")
            self.assertEqual(code, 0, found["failures"][:3])

    def test_the_template_which_computes_nothing(self):
        for group in ("abi", "memory", "streams", "cycles"):
            self.expect_clean(TEMPLATE, "--group", group)
        for op in ("matmul", "softmax", "sort"):
            self.expect_clean(TEMPLATE, "--only", op)

    def test_the_cpu_plugin(self):
        for op in ("add", "softmax", "cumsum"):
            self.expect_clean("cpu", "--only", op)
        found = self.expect_clean("cpu", "--group", "faults")
        self.assertGreater(found["injected"], 100)
        self.assertEqual(found["injected"], found["survived"])
        found = self.expect_clean("cpu", "--group", "abi")
        self.assertEqual(found["plugin"]["id"], "cpu")
        self.assertGreater(self.expect_clean("cpu", "--group", "memory")["skipped"], 0)


class CommandLine(unittest.TestCase):
    def expect(self, code, text, *words):
        got, _, err = check(*words)
        self.assertEqual(got, code, err)
        self.assertIn(text, err)

    def test_wrong_input(self):
        self.expect(2, "needs a plugin")
        self.expect(2, "did you mean 'grad'?", "cpu", "--mode", "grat")
        self.expect(2, "did you mean 'values'?", "cpu", "--group", "value")
        self.expect(2, "--sample must be K", "cpu", "--sample", "few")
        self.expect(2, "--sample must be K", "cpu", "--sample", "0:a")
        self.expect(2, "--jobs must be at least 1", "cpu", "--jobs", "0")
        self.expect(3, "did you mean 'cpu'?", "cpx")
        self.expect(3, "did you mean 'softmax'?", "cpu", "--only", "sofmax")
        self.expect(3, "no case matches", "cpu", "--only", "softmax", "--group", "values", "--case", "softmax/nothing")

    def test_what_is_no_plugin_has_failed(self):
        code, found = report(os.path.abspath(__file__))
        self.assertEqual(code, 1)
        self.assertEqual(found["failures"][0]["group"], "load")

    def test_report_for_people(self):
        code, out, err = check(SUSPECT, "--group", "values", "--only", "add", fault="value")
        self.assertEqual((code, err), (1, ""))
        for text in ("tenon check: test.suspect 1.0", "FAILED values: add/", "repeat: tenon check", "FAILED: "):
            self.assertIn(text, out)
        self.assertLess(out.index("repeat:"), out.index("\nFAILED: "))
        self.assertLess(len(out.splitlines()), 80)

    def test_the_groups_are_listed(self):
        code, out, _ = check("--list")
        self.assertEqual(code, 0)
        for group in ("abi", "memory", "streams", "values", "gradients", "support", "threads", "guard", "faults", "cycles", "perf"):
            self.assertIn(group, out)

    def test_perf_prints_rates(self):
        code, found = report(SUSPECT, "--mode", "perf", "--only", "add 4096")
        self.assertEqual(code, 0, found)
        self.assertGreater(found["perf"][0]["rate"], 0)
        self.assertGreater(found["perf"][0]["host_rate"], 0)


if __name__ == "__main__":
    unittest.main()
