"""Every way of changing the headers that is known to hurt is seen by the lock, and none that is harmless."""

import unittest

import mutants


class Mutants(unittest.TestCase):
    def test_all_are_caught(self):
        figures, lines = mutants.run()
        print(lines[-1])
        self.assertEqual(figures["missed"], 0, "\n".join(lines))
        self.assertEqual(figures["false_alarms"], 0, "\n".join(lines))
        self.assertEqual(figures["caught"], figures["mutants"])
        self.assertGreater(figures["mutants"], 3000)
        self.assertLess(figures["do_not_compile"], 50)
        self.assertGreater(figures["equivalent"], 100)
        for operator in ("fields exchanged", "field inserted", "field removed", "field widen", "field narrow", "field sign", "packing",
                         "field array bound", "parameter removed", "parameters exchanged", "return type", "function removed",
                         "constant changed", "thread tag", "C++ linkage", "field appended"):
            self.assertGreater(figures["operators"][operator]["caught"], 0, operator)


if __name__ == "__main__":
    unittest.main()
