#!/usr/bin/env python3
"""tenon.profiler over a device that tells its times: what it ran, for which call; and that a step of training neither falls back to
the host nor waits for the device. TENON_TEST_DEVICE names another one than Vulkan's first."""
import json
import os
import pathlib
import tempfile
import unittest

import tenon
from tenon import nn, optim

DEVICE = os.environ.get("TENON_TEST_DEVICE", "vulkan:0")
BACKEND = DEVICE.split(":")[0]


class Training:
    """A small network of each kind of layer, its data and its optimizer on the device."""

    def __init__(self):
        tenon.manual_seed(3)
        self.net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                 nn.Dropout(0.1), nn.Linear(64, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 10)).to(DEVICE)
        self.optimizer = optim.AdamW(self.net.parameters(), lr=1e-3)
        self.x = tenon.randn(8, 1, 8, 8).to(DEVICE)
        self.y = tenon.randint((8,), 0, 10).to(DEVICE)

    def step(self):
        loss = tenon.cross_entropy(self.net(self.x), self.y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


class Profiler(unittest.TestCase):
    def test_a_step_of_training_stays_on_the_device_and_never_waits(self):
        training = Training()
        for _ in range(2):  # optimizer state, pipelines
            training.step()
        with tenon.profiler() as p:
            for _ in range(20):  # more calls than are kept before they are read
                loss = training.step()
        self.assertEqual(p.waits, [])
        self.assertLessEqual({event.provider for event in p.events}, {BACKEND, "decomposition", "core"})
        self.assertNotIn("copy in", {span.what for span in p.spans})
        self.assertNotIn("copy out", {span.what for span in p.spans})
        # Each call of a kernel that computes was timed, and lies behind the one before.
        timed = {span.call for span in p.spans}
        for event in p.events:
            if event.provider == BACKEND:
                self.assertIn(event, timed, event)
        self.assertGreater(len(p.spans), 256)
        for before, after in zip(p.spans, p.spans[1:]):
            self.assertLessEqual(before.start, before.end)
            self.assertLessEqual(before.end, after.start)
        self.assertGreater(loss.item(), 0)

    def test_spans_tell_what_calls_hold(self):
        x = tenon.ones(5, 7).to(DEVICE)
        y = tenon.ones(7).to(DEVICE).to(tenon.float16)
        for calls in (True, False):
            with tenon.profiler(calls=calls) as p:
                x * 2.0 + x.sum()
                tenon.softmax(y, 0)
                x + y.to(tenon.float32).expand(5, 7)
            told = [(span.op, span.bytes) for span in p.spans if span.bytes]
            self.assertIn(("mul", 2 * 140 + 4), told)  # and the number
            self.assertIn(("softmax", 2 * 14), told)
            self.assertIn(("add", 2 * 140 + 28), told)  # what is repeated counts once
            self.assertEqual(bool(p.events), calls)
            self.assertEqual([span.op for span in p.spans if span.op == "softmax"], ["softmax"])

    def test_a_wait_is_seen(self):
        x = tenon.ones(4).to(DEVICE)
        with tenon.profiler() as p:
            y = x + 1
            y.sum().item()
            z = x * 2
        self.assertEqual([(span.device, span.what) for span in p.waits], [(DEVICE, "wait")])
        last = [event for event in p.events if event.op == "mul"][0]
        self.assertLess(p.waits[0].end, last.start)  # the host's clock, as events have it
        self.assertIn("copy out", {span.what for span in p.spans})
        self.assertIn("waited for a device 1 times", p.table())
        self.assertEqual(z.sum().item(), 8)

    def test_what_the_host_computes_is_seen(self):
        x = tenon.ones(4).to(DEVICE)
        with tenon.profiler() as p:
            y = tenon.complex(x, x)
        self.assertEqual([event.provider for event in p.events], ["host fallback"])
        self.assertLessEqual({"copy out", "copy in"}, {span.what for span in p.spans})
        self.assertNotEqual(p.waits, [])
        self.assertEqual(y.device, x.device)

    def test_times_are_shown_by_op(self):
        x = tenon.ones(64, 64).to(DEVICE)
        with tenon.profiler() as p:
            y = (x @ x).exp()
            y += 1  # in place
        self.assertEqual([(span.op, span.call.op if span.call else None) for span in p.spans][:2],
                         [("matmul", "matmul"), ("exp", "exp")])
        self.assertIn("add", {span.op for span in p.spans})
        self.assertIn("device ms", p.table())
        self.assertGreater(next(event for event in p.events if event.op == "matmul").device, 0)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            p.export_chrome_trace(path)
            trace = json.loads(path.read_text())["traceEvents"]
        row = next(entry["tid"] for entry in trace if entry["ph"] == "M" and entry["args"]["name"] == DEVICE)
        host = {entry["name"]: entry["ts"] for entry in trace if entry["ph"] == "X" and entry["tid"] == 1}
        there = {entry["name"]: entry["ts"] for entry in trace if entry["ph"] == "X" and entry["tid"] == row}
        self.assertGreaterEqual(there["matmul"], host["matmul"])
        self.assertGreaterEqual(there["exp"], host["exp"])

    def test_the_end_of_a_scope_ends_it(self):
        x = tenon.ones(4).to(DEVICE)
        with tenon.profiler() as p:
            x + 1
        spans = len(p.spans)
        x + 1
        self.assertEqual(len(p.spans), spans)
        with tenon.profiler() as again:
            x + 1
        self.assertEqual([span.op for span in again.spans], ["add"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
