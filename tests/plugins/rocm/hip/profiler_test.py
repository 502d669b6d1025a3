#!/usr/bin/env python3
"""tenon.profiler over events of a runtime that does nothing before it must: the stand-in, whose work takes a millisecond each."""
import unittest

import tenon


def setUpModule():
    tenon.ones(1).to("rocm:0")  # a profiler asks the backends that are loaded


class Profiler(unittest.TestCase):
    def test_copies_have_the_times_of_events(self):
        x = tenon.ones(1000)
        with tenon.profiler() as p:
            y = x.to("rocm:0")
            z = y.to("rocm:1")
            back = z.cpu()
        self.assertEqual([(span.device, span.what, span.end - span.start) for span in p.spans],
                         [("rocm:0", "copy in", 1_000_000), ("rocm:0", "copy to a peer", 1_000_000), ("rocm:1", "copy out", 1_000_000)])
        self.assertEqual({span.device for span in p.waits}, {"rocm:0", "rocm:1"})
        self.assertEqual(back.sum().item(), 1000)

    def test_copies_in_wait_for_nothing(self):
        x = tenon.ones(1000)
        with tenon.profiler() as p:
            kept = [x.to("rocm:0") for _ in range(300)]  # more than are kept before events are read
        self.assertEqual(len(p.spans), len(kept))
        self.assertEqual(p.waits, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
