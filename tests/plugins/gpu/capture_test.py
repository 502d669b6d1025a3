#!/usr/bin/env python3
"""tenon.capture and tenon.graphed on the device that TENON_TEST_DEVICE names; the programs of docs/capture.md run on it."""
import os
import pathlib
import re
import sys
import unittest

import tenon
import tenon.torch
from tenon import nn, optim

DEVICE = os.environ['TENON_TEST_DEVICE']
DOCS = pathlib.Path(sys.argv.pop(1)).read_text()


def ramp(first, *shape):
    count = 1
    for size in shape:
        count *= size
    return ((tenon.arange(count) + first).to('float32') * 0.37).sin().reshape(shape).to(DEVICE)


class Training:
    def __init__(self):
        tenon.manual_seed(2)
        self.net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(DEVICE)
        self.optimizer = optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = ((self.net(x) - y) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class Capture(unittest.TestCase):
    def test_a_graphed_step_is_the_eager_one(self):
        eager, other = Training(), Training()
        batches = [(ramp(10 * k, 4, 6), ramp(10 * k + 5, 4, 3)) for k in range(6)]
        step = tenon.graphed(other.step, *batches[0])
        eager.step(*batches[0])  # as the other's warm-up
        for x, y in batches:
            self.assertEqual(step(x, y).item(), eager.step(x, y).item())
        for a, b in zip(eager.net.parameters(), other.net.parameters()):
            self.assertEqual(a.tolist(), b.tolist())

    def test_adam_counts_in_replays(self):
        """Whole steps beside eager ones: a new rate, eager steps between replays, what is saved."""
        for amsgrad, kind in ((False, optim.AdamW), (True, optim.Adam)):
            eager, other = Training(), Training()
            for each in (eager, other):
                each.optimizer = kind(each.net.parameters(), lr=0.05, weight_decay=0.1, amsgrad=amsgrad)
            x, y = ramp(3, 4, 6), ramp(4, 4, 3)
            step = tenon.graphed(other.step, x, y)
            eager.step(x, y)  # as the other's warm-up
            for number in range(6):
                if number == 3:
                    for each in (eager, other):
                        each.optimizer.param_groups[0]['lr'] = 0.2
                if number == 4:  # not by the graph
                    self.assertEqual(other.step(x, y).item(), eager.step(x, y).item())
                self.assertEqual(step(x, y).item(), eager.step(x, y).item())
            mine, theirs = other.optimizer.state_dict(), eager.optimizer.state_dict()
            self.assertEqual(mine['state.0.step'].item(), 8)
            for name in theirs:
                self.assertEqual(mine[name].tolist(), theirs[name].tolist(), name)
            for a, b in zip(eager.net.parameters(), other.net.parameters()):
                self.assertEqual(a.tolist(), b.tolist())

    def test_adam_of_torch_counts_in_replays(self):
        """As above; its state holds the numbers of steps of each parameter."""
        for amsgrad, kind in ((False, tenon.torch.optim.AdamW), (True, tenon.torch.optim.Adam)):
            eager, other = Training(), Training()
            for each in (eager, other):
                each.optimizer = kind(each.net.parameters(), lr=0.05, weight_decay=0.1, amsgrad=amsgrad, maximize=amsgrad)
            x, y = ramp(3, 4, 6), ramp(4, 4, 3)
            with self.assertRaisesRegex(tenon.PreconditionError, 'take one as usual'):
                tenon.graphed(other.step, x, y, warmup=0)
            step = tenon.graphed(other.step, x, y)
            eager.step(x, y)  # as the other's warm-up
            for number in range(6):
                if number == 3:
                    for each in (eager, other):
                        each.optimizer.param_groups[0]['lr'] = 0.2
                if number == 4:  # not by the graph
                    self.assertEqual(other.step(x, y).item(), eager.step(x, y).item())
                self.assertEqual(step(x, y).item(), eager.step(x, y).item())
            mine, theirs = (each.optimizer.state_dict()['state'] for each in (other, eager))
            self.assertEqual(mine[0]['step'].item(), 8)
            for number, state in theirs.items():
                for name in state:
                    self.assertEqual(mine[number][name].tolist(), state[name].tolist(), name)
            for a, b in zip(eager.net.parameters(), other.net.parameters()):
                self.assertEqual(a.tolist(), b.tolist())
            saved = other.optimizer.state_dict()
            other.optimizer.load_state_dict(saved)
            with self.assertRaisesRegex(tenon.PreconditionError, 'capture it again'):
                step(x, y)
            # A step of an optimizer that was only loaded is captured, too.
            other.optimizer = kind(other.net.parameters(), lr=0.2, weight_decay=0.1, amsgrad=amsgrad, maximize=amsgrad)
            other.optimizer.load_state_dict(saved)
            step = tenon.graphed(other.step, x, y, warmup=0)
            self.assertEqual([step(x, y).item() for _ in range(2)], [eager.step(x, y).item() for _ in range(2)])

    def test_several_steps_of_adam_in_one_graph(self):
        for kind in (optim.Adam, tenon.torch.optim.Adam):
            eager, other = Training(), Training()
            for each in (eager, other):
                each.optimizer = kind(each.net.parameters(), lr=0.05)
            x, y = ramp(3, 4, 6), ramp(4, 4, 3)

            def twice(training, x, y):
                training.step(x, y)
                return training.step(x, y)
            step = tenon.graphed(lambda x, y: twice(other, x, y), x, y)
            twice(eager, x, y)
            for _ in range(3):
                self.assertEqual(step(x, y).item(), twice(eager, x, y).item())

    def test_adam_is_captured_again_where_its_gradients_are_others(self):
        training = Training()
        training.optimizer = optim.Adam(training.net.parameters(), lr=0.05)
        with self.assertRaisesRegex(tenon.PreconditionError, 'take one as usual'):
            tenon.graphed(training.step, ramp(3, 4, 6), ramp(4, 4, 3), warmup=0)
        step = tenon.graphed(training.step, ramp(3, 4, 6), ramp(4, 4, 3))
        training.optimizer.load_state_dict(training.optimizer.state_dict())
        with self.assertRaisesRegex(tenon.PreconditionError, 'capture it again'):
            step(ramp(3, 4, 6), ramp(4, 4, 3))

    def test_a_graph_keeps_its_inputs(self):
        double = tenon.graphed(lambda x: x * 2, ramp(0, 5))
        kept = [ramp(k, 5) for k in range(20)]
        for k, x in enumerate(kept):
            self.assertEqual(double(x).tolist(), (x * 2).tolist(), k)
        self.assertIn('1 nodes', repr(double.graph))
        self.assertGreaterEqual(double.graph.memory, 20)

    def test_each_replay_draws(self):
        x = tenon.ones(100).to(DEVICE)
        drop = tenon.graphed(lambda x: nn.functional.dropout(x, 0.5, True), x)
        tenon.manual_seed(4)
        replayed = [drop(x).tolist() for _ in range(3)]
        tenon.manual_seed(4)
        self.assertEqual([nn.functional.dropout(x, 0.5, True).tolist() for _ in range(3)], replayed)
        self.assertNotEqual(replayed[0], replayed[1])

    def test_a_scope(self):
        x = ramp(0, 7)
        with tenon.capture(DEVICE) as graph:
            y = x + 1
            with self.assertRaisesRegex(tenon.PreconditionError, 'a copy to the host'):
                y.tolist()
            with self.assertRaisesRegex(tenon.PreconditionError, 'a generator other'):
                tenon.rand(3, device=DEVICE, generator=tenon.Generator(5))
            z = y * y
        graph.replay()
        self.assertEqual(z.tolist(), ((x + 1) * (x + 1)).tolist())
        x.copy_(ramp(9, 7))
        graph.replay()
        self.assertEqual(z.tolist(), ((ramp(9, 7) + 1) * (ramp(9, 7) + 1)).tolist())
        graph.reset()
        with self.assertRaisesRegex(tenon.PreconditionError, 'reset'):
            graph.replay()
        self.assertIn('empty', repr(graph))

    def test_an_exception_drops_it(self):
        x = ramp(0, 7)
        with self.assertRaises(KeyError), tenon.capture(DEVICE) as graph:
            x += 1
            raise KeyError('from the body')
        self.assertEqual(x.tolist(), ramp(0, 7).tolist())
        with self.assertRaises(tenon.PreconditionError):
            graph.replay()

    def test_wrong_use_is_told(self):
        with self.assertRaisesRegex(tenon.UnimplementedError, 'device types that can: ' + DEVICE.split(':')[0]):
            with tenon.capture('cpu'):
                pass
        with self.assertRaisesRegex(tenon.PreconditionError, 'already'), tenon.capture(DEVICE):
            with tenon.capture(DEVICE):
                pass
        with self.assertRaises(TypeError):
            tenon.capture(3)
        with self.assertRaises(TypeError):
            tenon.graphed(abs, 3)
        with self.assertRaises(ValueError):
            tenon.graphed(abs)
        double = tenon.graphed(lambda x: x * 2, ramp(0, 5))
        with self.assertRaisesRegex(ValueError, 'captured with'):
            double(ramp(0, 6))
        with self.assertRaises(TypeError):
            double()

    def test_the_programs_of_the_documentation_run(self):
        programs = re.findall(r'```python\n(.*?)```', DOCS, re.S)
        self.assertEqual(len(programs), 2)
        exec('\n'.join(programs), {'device': DEVICE})


if __name__ == '__main__':
    unittest.main(verbosity=2)
