#!/usr/bin/env python3
"""tools/gpu/hour.py: rehearsed on the simulator from end to end, stopped and begun again, and what it makes of steps that go wrong.

usage: hour_test.py BUILD_FOLDER [unittest arguments]
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOUR = ROOT / 'tools/gpu'
sys.path.insert(0, str(HOUR))
import hour  # noqa: E402
import report  # noqa: E402
import steps  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1))
SAYS = [sys.executable, '-c']


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix='tenon-hour-')
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)


class Rehearsal(Case):
    def run_hour(self, *words):
        done = subprocess.run([sys.executable, HOUR / 'hour.py', '--device', 'gpusim:0', '--rehearse', '--build', BUILD,
                               '--out', self.folder / 'out', *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        found = json.loads((self.folder / 'out/hour.json').read_text()) if (self.folder / 'out/hour.json').exists() else {'steps': {}}
        return done, found['steps']

    def test_every_step(self):
        done, found = self.run_hour()
        self.assertEqual(done.returncode, 0, done.stdout + json.dumps(found, indent=1))
        self.assertEqual({step['state'] for step in found.values()}, {'ok'})
        self.assertLessEqual({'machine', 'who', 'check_memory', 'check_values', 'graph', 'ceilings', 'ops', 'gpt2_tiny_float32', 'launches'}, set(found))
        rows = found['who']['result']['table'][1:]
        self.assertEqual({row[0].split(',')[0] for row in rows}, {'product', 'linear', 'conv', 'attention'})
        self.assertTrue(all(row[2] and row[-1] == 'ok' for row in rows), rows)
        self.assertGreater(found['check_values']['result']['cases'], 10)
        page = (self.folder / 'out/report.md').read_text()
        for text in ('simulator', 'rehearsal', '## Speed', '| attention | bfloat16 |'):
            self.assertIn(text, page)
        # Begun again, nothing is left to do but to look at the machine, which may be another one.
        done, again = self.run_hour()
        self.assertEqual(done.stdout.count('ok,'), 1, done.stdout)
        self.assertEqual({**again, 'machine': 0}, {**found, 'machine': 0})
        self.assertIn('simulated GPU', again['machine']['card'])

    def test_what_does_not_fit_is_left(self):
        done, found = self.run_hour('--seconds', '1', '--stages', 'A')
        self.assertEqual((done.returncode, found), (0, {}), done.stdout)
        self.assertIn('left for the next call', done.stdout)


    def test_without_the_device_nothing_else_is_tried(self):
        done = subprocess.run([sys.executable, HOUR / 'hour.py', '--device', 'gpusim:7', '--rehearse', '--build', BUILD, '--out', self.folder / 'out'],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('there is no gpusim:7 here', done.stdout)
        self.assertEqual(set(json.loads((self.folder / 'out/hour.json').read_text())['steps']), {'machine'})
        self.assertIn('| no gpusim:7', (self.folder / 'out/report.md').read_text())

    def test_results_of_another_card_are_marked(self):
        one = {'stage': 'C', 'about': 'a', 'state': 'ok', 'seconds': 1}
        page = report.page({'device': 'cuda:0', 'machine': 'm', 'python': '3', 'steps': {
            'machine': {**one, 'stage': 'A', 'card': 'B', 'result': {'devices': [{'device': 'cuda:0', 'name': 'B'}]}},
            'old': {**one, 'card': 'A'}, 'new': {**one, 'card': 'B'}}})
        self.assertIn('(on A)', page)
        self.assertNotIn('(on B)', page)


class Outcomes(Case):
    def outcome(self, code, limit=20, read=None):
        step = steps.Step('A', 'it', 'for a test', limit, [*SAYS, code], {}, read)
        log = self.folder / 'log'
        status, seconds = hour.run_limited(step.command, dict(os.environ), step.limit, log)
        return hour.outcome_of(step, status, seconds, log)

    def test_states(self):
        for code, state in (('pass', 'ok'), ('raise SystemExit(3)', 'failed'), ('raise SystemExit(77)', 'absent'),
                            ('import os, signal; os.kill(os.getpid(), signal.SIGSEGV)', 'failed')):
            self.assertEqual(self.outcome(code)['state'], state)

    def test_a_step_that_lasts_too_long_is_ended_with_what_it_started(self):
        found = self.outcome('import subprocess, time; subprocess.Popen(["sleep", "600"]); print("begun", flush=True); time.sleep(600)', limit=2)
        self.assertEqual(found['state'], 'too long')
        self.assertIn('begun', found['tail'])

    def test_output_that_cannot_be_read_is_a_failure(self):
        found = self.outcome('print("no JSON")', read=steps.json_of)
        self.assertEqual(found['state'], 'failed')
        self.assertIn('cannot be read', found['tail'])
        self.assertEqual(self.outcome('print("words"); print("{\\"a\\": 1}")', read=steps.json_of)['result'], {'a': 1})

    def test_another_devices_record_is_not_taken(self):
        (self.folder / 'hour.json').write_text(json.dumps({'device': 'cuda:0', 'steps': {}}))
        with self.assertRaises(SystemExit):
            hour.Record(self.folder, 'rocm:0')

    def test_a_program_that_is_missing_is_a_failure(self):
        status, _ = hour.run_limited([str(self.folder / 'none')], dict(os.environ), 20, self.folder / 'log')
        self.assertEqual(status, 127)
        self.assertIn('cannot start', (self.folder / 'log').read_text())

    def test_what_was_not_tried_comes_before_what_failed(self):
        record = hour.Record(self.folder, 'cuda:0')
        made = [steps.Step('A', name, '', 20, []) for name in ('lost', 'bad', 'new')]
        record.begin(made[0])  # and never heard of again
        record.put('bad', {'state': 'failed'})
        again = hour.Record(self.folder, 'cuda:0')
        again.put('done', {'state': 'ok'})
        again.put('machine', {'state': 'ok'})
        made += [steps.Step('A', name, '', 20, []) for name in ('done', 'machine')]
        self.assertEqual([step.name for step in hour.in_order(made, again)], ['machine', 'new', 'lost', 'bad'])
        self.assertEqual(again.state('lost'), 'cut off')
        self.assertIn('**cut off**', report.page({**again.data, 'steps': {'lost': again.data['steps']['lost']}}))

    def test_what_a_step_ended_early_had_started_ends_with_it(self):
        stand_in = self.folder / 'stand_in.py'
        stand_in.write_text('import os, sys, time\nopen(sys.argv[1], "w").write(str(os.getpid()))\ntime.sleep(600)\n')
        program = (f'import pathlib, signal, sys; sys.path.insert(0, {str(HOUR)!r}); import hour\n'
                   'signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n'
                   f'hour.run_limited([sys.executable, {str(stand_in)!r}, {str(self.folder / "pid")!r}], {{}}, 600, pathlib.Path({str(self.folder / "log")!r}))')
        running = subprocess.Popen([*SAYS, program])
        deadline = time.monotonic() + 30
        while not (self.folder / 'pid').exists() or not (self.folder / 'pid').read_text():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        self.assertEqual(running.wait(30), 143)
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.folder / 'pid').read_text()), 0)

    def test_failed_cases_are_on_the_page(self):
        text = json.dumps({'cases': 9, 'failed': 1, 'failures': [{'group': 'values', 'case': 'a/b', 'text': 'wanted\n1', 'repeat': 'tenon check it'}]})
        found = self.outcome(f'print({text!r}); raise SystemExit(1)', read=steps.report_of)
        self.assertEqual((found['state'], found['result']['failed']), ('failed', 1))
        page = report.page({'device': 'cuda:0', 'machine': 'm', 'python': '3', 'steps': {'it': found}})
        for words in ('9 cases, 1 failed', '`tenon check it`: wanted 1'):
            self.assertIn(words, page)

    def test_failures_are_on_the_page(self):
        found = self.outcome('print("why it failed"); raise SystemExit(1)')
        page = report.page({'device': 'cuda:0', 'machine': 'm', 'python': '3', 'steps': {'it': found}})
        self.assertIn('**failed**', page)
        self.assertIn('why it failed', page)


class Steps(unittest.TestCase):
    def test_devices_have_their_steps(self):
        for device, some in (('cuda:0', {'memory', 'check_conv_by_library', 'gpt2_124M_bfloat16_compiled', 'vulkan_check'}),
                             ('rocm:0', {'check_matmul_without', 'gpt2_124M_bfloat16_graph'}), ('vulkan:0', {'check_values', 'ops'})):
            made = steps.all_steps(hour.Tree(BUILD), device, False)
            names = [step.name for step in made]
            self.assertEqual(len(names), len(set(names)))
            self.assertLessEqual(some, set(names))
            # Where a command may last 540 s, each step can begin in a call of its own.
            self.assertTrue(all(0 < step.limit < 540 for step in made))


if __name__ == '__main__':
    unittest.main(verbosity=2)
