#!/usr/bin/env python3
"""Algorithms that are chosen by time: the fastest is kept in a file, and a later process measures nothing.

usage: tune_test.py LIBRARY COMMAND...
"""
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

LIBRARY, *COMMAND = sys.argv[1:]


class Tune(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def notes(self, **environment):
        """What the stand-in notes: it offers a slow algorithm before a fast one."""
        note = self.folder / 'note'
        note.unlink(missing_ok=True)
        done = subprocess.run(COMMAND, capture_output=True, text=True, check=False, env={
            **os.environ, 'TENON_FAKE_BLAS': str(note), 'LD_LIBRARY_PATH': os.path.dirname(os.path.abspath(LIBRARY)), **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return note.read_text().split()

    def test_the_fastest_is_measured_once(self):
        tuned = self.folder / 'tuned'
        self.assertIn('slow', self.notes(TENON_GPUSIM_TUNE=str(tuned)))
        files = list(tuned.iterdir())
        self.assertEqual(len(files), 1)
        self.assertIn('simulated-GPU', files[0].name)
        self.assertEqual(stat.S_IMODE(files[0].stat().st_mode), 0o600)
        self.assertNotIn('slow', self.notes(TENON_GPUSIM_TUNE=str(tuned)))

    def test_a_damaged_file_is_measured_anew(self):
        tuned = self.folder / 'tuned'
        self.notes(TENON_GPUSIM_TUNE=str(tuned))
        file = next(tuned.iterdir())
        file.write_bytes(file.read_bytes()[:-3])
        self.assertIn('slow', self.notes(TENON_GPUSIM_TUNE=str(tuned)))

    def test_nothing_is_measured_unasked(self):
        self.assertNotIn('slow', self.notes(XDG_CACHE_HOME=str(self.folder)))
        self.assertFalse((self.folder / 'tenon/tuned').exists())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
