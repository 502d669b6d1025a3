#!/usr/bin/env python3
"""The op table's generator: what it makes of good lines, and what it says of bad ones."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / 'tools/generate_ops.py'


def generate(table, *kinds):
    """The generated texts, or the error."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'ops.def'
        path.write_text(table)
        outputs = [pathlib.Path(folder) / kind for kind in kinds]
        options = [part for kind, out in zip(kinds, outputs) for part in (f'--{kind}', str(out))]
        done = subprocess.run([sys.executable, GENERATOR, path, *options], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.replace(folder + '/', '')
        return [out.read_text() for out in outputs]


class Generated(unittest.TestCase):
    def test_elementwise_takes_numbers(self):
        [hpp] = generate('OP(add, "(Tensor x, Tensor y) -> Tensor", binary_arith, add)\n', 'hpp')
        self.assertIn('inline Tensor add(Operand x, Operand y) {', hpp)
        self.assertIn('constinit OpHandle op_add{"add"}', hpp)

    def test_defaults_and_lists(self):
        [hpp] = generate('OP(conv, "(Tensor x, Tensor? bias=none, int[] stride=[1], int[]? dims=none, float p=2.0, '
                         'dtype? dtype=none, generator? g=none, str mode=\\"a\\") -> Tensor", conv, conv)\n', 'hpp')
        self.assertIn('const Tensor& bias = {}, IntList stride = {1}, OptionalInts dims = {}, double p = 2.0, '
                      'std::optional<DType> dtype = {}, const Generator& g = {}, std::string_view mode = "a")', hpp)

    def test_results(self):
        [hpp] = generate('OP(sort, "(Tensor x) -> Tensor values, Tensor indices", sort, sort)\n'
                         'OP(step, "(Tensor![] xs, Tensor?[] ys) -> ()", step, none)\n', 'hpp')
        self.assertIn('struct SortResult {\n  Tensor values, indices;\n};', hpp)
        self.assertIn('inline void step(TensorList xs, TensorList ys)', hpp)

    def test_schemas_and_revision(self):
        [schemas] = generate('OP_REV(relu, 2, "(Tensor x, str s=\\"a\\") -> Tensor", unary_arith, relu)\n', 'schemas')
        self.assertIn('#define TN_SCHEMA_RELU "relu(Tensor x, str s=\\"a\\") -> Tensor @2"', schemas)

    def test_keywords_get_an_underscore(self):
        [hpp] = generate('OP(switch, "(Tensor default) -> Tensor", unary_arith, none)\n', 'hpp')
        self.assertIn('inline Tensor switch_(const Tensor& default_)', hpp)

    def test_the_table_itself(self):
        table = (ROOT / 'core/ops.def').read_text()
        hpp, schemas, docs = generate(table, 'hpp', 'schemas', 'docs')
        count = sum(line.startswith('OP(') or line.startswith('OP_REV(') for line in table.splitlines())
        self.assertEqual(schemas.count('#define TN_SCHEMA_'), count)
        self.assertEqual(hpp.count('inline constinit OpHandle'), count)
        self.assertEqual(docs.count('\n| `'), count)


class Errors(unittest.TestCase):
    GOOD = 'OP(add, "(Tensor x, Tensor y) -> Tensor", binary_arith, add)\n'

    def check(self, line, reason):
        error = generate('// a comment\n' + self.GOOD + line + '\n', 'hpp')
        self.assertIsInstance(error, str, 'no error')
        self.assertIn('ops.def:3: ', error)
        self.assertIn(reason, error)

    def test_lines(self):
        for line, reason in (
                ('OP(neg, "(Tensor x) -> Tensor", unary)', 'expected OP('),
                ('OP(Neg, "(Tensor x) -> Tensor", unary, neg)', 'expected OP('),
                ('OP(neg, "(Tensor x) -> Tensor", unary, neg);', 'expected OP('),
                ('OP_REV(neg, "(Tensor x) -> Tensor", unary, neg)', 'expected OP('),
                ('something else', 'expected OP('),
                ('OP(add, "(Tensor x) -> Tensor", unary, neg)', 'add is there already'),
                ('OP(neg, "Tensor x -> Tensor", unary, neg)', 'a schema is'),
                ('OP(neg, "(Tensor x)", unary, neg)', 'a schema is'),
                ('OP(neg, "(Tensor) -> Tensor", unary, neg)', 'malformed argument "Tensor"'),
                ('OP(neg, "(Matrix x) -> Tensor", unary, neg)', 'unknown type Matrix'),
                ('OP(neg, "(float[] x) -> Tensor", unary, neg)', 'no lists of float'),
                ('OP(neg, "(int! x) -> Tensor", unary, neg)', 'only a Tensor can be written'),
                ('OP(neg, "(int?[] x) -> Tensor", unary, neg)', 'only entries of a tensor list'),
                ('OP(neg, "(Tensor x, int x) -> Tensor", unary, neg)', 'x appears twice'),
                ('OP(neg, "(Tensor x, int a=1, int b) -> Tensor", unary, neg)', 'b has no default, but a before it has'),
                ('OP(neg, "(Tensor x, int a=none) -> Tensor", unary, neg)', 'only an optional one'),
                ('OP(neg, "(Tensor x, int a=1.5) -> Tensor", unary, neg)', '"1.5" is no default'),
                ('OP(neg, "(Tensor x, bool a=1) -> Tensor", unary, neg)', '"1" is no default'),
                ('OP(neg, "(Tensor x, int[] a=1) -> Tensor", unary, neg)', '"1" is no default'),
                ('OP(neg, "(Tensor x, int[] a=[1) -> Tensor", unary, neg)', 'unbalanced'),
                ('OP(neg, "(Tensor x) -> int", unary, neg)', 'malformed result'),
                ('OP(neg, "(Tensor x) -> Tensor a, Tensor", unary, neg)', 'needs a name')):
            with self.subTest(line):
                self.check(line, reason)

    def test_files(self):
        self.assertIn('no ops', generate('', 'hpp'))
        done = subprocess.run([sys.executable, GENERATOR, '/nonexistent'], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('/nonexistent', done.stderr)


if __name__ == '__main__':
    unittest.main()
