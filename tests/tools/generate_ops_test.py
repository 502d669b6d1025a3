#!/usr/bin/env python3
"""The generator of the op table: what it makes of good records, and what it says of bad ones."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / 'tools/generate_ops.py'
TEXTS = '.gives = "a, b", .example = "f(t(1))"'
RULE = 'TN_RULE(any, add, {.dtypes = "any", .shapes = "x\'s", .elementwise = true, .numbers = "all"}) { }\n'


def record(name, schema, facts='.rule = &rule::any'):
    schema = schema.replace('"', '\\"')
    return f'TN_OP({name}) = {{.schema = "{schema}", {TEXTS}, {facts}}};\n'


def generate(text, *kinds):
    """The generated texts, or the error."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'family.cpp'
        path.write_text(text)
        outputs = [pathlib.Path(folder) / kind for kind in kinds]
        options = [part for kind, out in zip(kinds, outputs) for part in (f'--{kind}', str(out))]
        done = subprocess.run([sys.executable, GENERATOR, path, *options], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.replace(folder + '/', '')
        return [out.read_text() for out in outputs]


class Generated(unittest.TestCase):
    def test_numbers_are_taken_where_the_rule_says_so(self):
        [hpp] = generate(RULE + record('add', '(Tensor x, Tensor y) -> Tensor'), 'hpp')
        self.assertIn('inline Tensor add(Operand x, Operand y) {', hpp)
        self.assertIn('constinit OpHandle op_add{"add"}', hpp)

    def test_numbers_are_taken_where_the_record_says_so(self):
        facts = '.dtypes = "any", .shapes = "x\'s", .numbers = "y", .decompose = &decomposition::lerp'
        [hpp] = generate(record('lerp', '(Tensor x, Tensor y) -> Tensor', facts), 'hpp')
        self.assertIn('inline Tensor lerp(const Tensor& x, Operand y) {', hpp)

    def test_defaults_and_lists(self):
        [hpp] = generate(RULE + record('conv', '(Tensor? x, Tensor? bias=none, int[] stride=[1], int[]? dims=none, float p=2.0, '
                                       'dtype? dtype=none, generator? g=none, str mode="a") -> Tensor'), 'hpp')
        self.assertIn('const Tensor& bias = {}, IntList stride = {1}, OptionalInts dims = {}, double p = 2.0, '
                      'std::optional<DType> dtype = {}, const Generator& g = {}, std::string_view mode = "a")', hpp)

    def test_results(self):
        [hpp, schemas] = generate(RULE + record('sort', '(Tensor x) -> Tensor values, Tensor indices')
                                  + record('step', '(Tensor![] xs, Tensor?[] ys) -> ()'), 'hpp', 'schemas')
        self.assertIn('struct SortResult {\n  Tensor values, indices;\n};', hpp)
        self.assertIn('inline void step(TensorList xs, TensorList ys)', hpp)
        self.assertIn('#define TN_RESULT_SORT_INDICES 1u', schemas)

    def test_ops_of_a_tensor_x_are_methods(self):
        text = (RULE + record('add', '(Tensor x, Tensor y, float scale=1.0) -> Tensor', '.rule = &rule::any, .in_place = true')
                + record('sort', '(Tensor x) -> Tensor values, Tensor indices') + record('where', '(Tensor cond, Tensor x) -> Tensor')
                + record('relu_backward', '(Tensor x) -> Tensor') + record('step', '(Tensor! x) -> ()') + record('index', '(Tensor x) -> Tensor'))
        methods, hpp = generate(text, 'methods', 'hpp')
        self.assertEqual(methods.splitlines()[1:], [
            'Tensor add(Operand y, double scale = 1.0) const;', 'Tensor& add_(Operand y, double scale = 1.0);', 'struct SortResult sort() const;'])
        self.assertIn('inline Tensor Tensor::add(Operand y, double scale) const {\n  return tenon::add(*this, y, scale);\n}', hpp)
        self.assertIn('detail::value(*this), detail::value(y), detail::value(scale)};\n  detail::call_into(detail::op_add, args, 3, *this);', hpp)

    def test_precisions_of_autocast(self):
        text = (RULE + record('matmul', '(Tensor x) -> Tensor', '.autocast = "low", .rule = &rule::any')
                + record('exp', '(Tensor x) -> Tensor', '.autocast = "f32 on GPUs", .rule = &rule::any') + record('neg', '(Tensor x) -> Tensor'))
        table, docs = generate(text, 'autocast', 'docs')
        self.assertIn('{"matmul", Precision::low},\n    {"exp", Precision::f32_on_gpus},\n};', table)
        self.assertIn('- in f32 but on the CPU: `exp`\n', docs)
        self.assertIn('.autocast = "high": expected one of low, f32', generate(RULE + record('neg', '(Tensor x) -> Tensor', '.autocast = "high", .rule = &rule::any')))

    def test_schemas_and_positions(self):
        [schemas] = generate(RULE + record('relu', '(Tensor x, str s="a") -> Tensor', '.rule = &rule::any, .revision = 2'), 'schemas')
        self.assertIn('#define TN_SCHEMA_RELU "relu(Tensor x, str s=\\"a\\") -> Tensor @2"', schemas)
        self.assertIn('#define TN_ARG_RELU_S 1u', schemas)
        self.assertIn('struct relu {\n  static constexpr uint32_t x = 0;\n  static constexpr uint32_t s = 1;\n};', schemas)

    def test_keywords_get_an_underscore(self):
        [hpp, schemas] = generate(RULE.replace('"all"', '""') + record('switch', '(Tensor default) -> Tensor'), 'hpp', 'schemas')
        self.assertIn('inline Tensor switch_(const Tensor& default_)', hpp)
        self.assertIn('struct switch_ {\n  static constexpr uint32_t default_ = 0;', schemas)

    def test_texts_may_hold_anything(self):
        text = RULE + record('add', '(Tensor x) -> Tensor').replace('"a, b"', '"a } \\" | , b" "; c"')
        [docs] = generate('// Two sums.\n' + text, 'docs')
        self.assertIn('\n## Two sums\n', docs)
        self.assertIn('a } " \\| , b; c', docs)

    def test_elementwise_ops_are_those_of_such_rules(self):
        facts = '.dtypes = "any", .shapes = "x\'s", .elementwise = true, .decompose = &decomposition::lerp'
        [names] = generate(RULE + record('add', '(Tensor x) -> Tensor') + record('lerp', '(Tensor x) -> Tensor', facts), 'elementwise')
        self.assertIn('kElementwise[] = {\n    "add",\n};', names)

    def test_pieces_are_declared(self):
        facts = '.rule = &rule::any, .gradient = &gradient::sum, .decompose = &decomposition::add'
        declared, table = generate(RULE + record('add', '(Tensor x) -> Tensor', facts), 'declarations', 'table')
        for line in ('extern const OpRecord add;', 'extern const Rule any;', 'extern const GradFormula sum;',
                     'void add(Frame& frame, tn_tensor** outs);'):
            self.assertIn(line, declared)
        self.assertIn('{"add", &entry::add},', table)

    def test_the_table_itself(self):
        count = sum(text.count('\nTN_OP(') for text in (path.read_text() for path in (ROOT / 'ops').glob('*.cpp')))
        with tempfile.TemporaryDirectory() as folder:
            out = {kind: pathlib.Path(folder) / kind for kind in ('hpp', 'schemas', 'docs')}
            options = [part for kind, path in out.items() for part in (f'--{kind}', path)]
            subprocess.run([sys.executable, GENERATOR, ROOT / 'ops', *options], check=True)
            self.assertEqual(out['schemas'].read_text().count('#define TN_SCHEMA_'), count)
            self.assertEqual(out['hpp'].read_text().count('inline constinit OpHandle'), count)
            self.assertEqual(out['docs'].read_text().count('\n| `'), count)


class Errors(unittest.TestCase):
    GOOD = record('add', '(Tensor x, Tensor y) -> Tensor')

    def check(self, text, reason, line=3):
        error = generate(RULE + self.GOOD + text, 'hpp')
        self.assertIsInstance(error, str, 'no error')
        self.assertIn('family.cpp:' + (f'{line}: ' if line else ''), error)
        self.assertIn(reason, error)

    def test_records(self):
        good = '(Tensor x) -> Tensor'
        for text, reason in (
                (record('neg', good).replace('.gives', '.what'), 'expected ".FACT = value"'),
                (record('neg', good).replace('.gives = ', '.gives '), 'expected ".FACT = value"'),
                (record('neg', good).replace('.example = "f(t(1))", ', ''), 'neg has no .example'),
                (record('neg', good, '.through = true'), 'none of .rule, .view, .run and .decompose'),
                (record('neg', good, '.rule = any'), '.rule = any: expected &rule::NAME'),
                (record('neg', good, '.rule = &rule::any, .in_place = 1'), '.in_place = 1: expected true'),
                (record('neg', good, '.rule = &rule::any, .revision = two'), '.revision = two: expected a number'),
                (record('neg', good, '.rule = &rule::any, .through = true'), '.through wants .decompose'),
                (record('neg', good, '.rule = &rule::any, .linear = "x, w"'), '.linear names w, which is no tensor argument'),
                (record('neg', good, '.rule = &rule::any, .elementwise = false'), '.elementwise = false: expected true'),
                ('TN_OP(neg) = {.schema = "', 'a brace without a partner')):
            with self.subTest(text):
                self.check(text, reason)

    def test_schemas(self):
        for schema, reason in (
                ('Tensor x -> Tensor', 'a schema is'),
                ('(Tensor x)', 'a schema is'),
                ('(Tensor) -> Tensor', 'malformed argument "Tensor"'),
                ('(Matrix x) -> Tensor', 'unknown type Matrix'),
                ('(float[] x) -> Tensor', 'no lists of float'),
                ('(int! x) -> Tensor', 'only a Tensor can be written'),
                ('(int?[] x) -> Tensor', 'only entries of a tensor list'),
                ('(Tensor x, int x) -> Tensor', 'x appears twice'),
                ('(Tensor x, int a=1, int b) -> Tensor', 'b has no default, but a before it has'),
                ('(Tensor x, int a=none) -> Tensor', 'only an optional one'),
                ('(Tensor x, int a=1.5) -> Tensor', '"1.5" is no default'),
                ('(Tensor x, bool a=1) -> Tensor', '"1" is no default'),
                ('(Tensor x, int[] a=1) -> Tensor', '"1" is no default'),
                ('(Tensor x, int[] a=[1) -> Tensor', 'unbalanced'),
                ('(Tensor x) -> int', 'malformed result'),
                ('(Tensor x) -> Tensor a, Tensor', 'needs a name')):
            with self.subTest(schema):
                self.check(record('neg', schema), reason)

    def test_the_whole(self):
        self.check(self.GOOD, 'add is in', line=None)
        self.check(record('neg', '(Tensor x) -> Tensor', '.rule = &rule::none'), 'rule::none, which no file writes', line=None)
        self.check(record('neg', '(Tensor x) -> Tensor', '.view = &view::neg'), 'neither neg nor its rule has .dtypes', line=None)

    def test_files(self):
        self.assertIn('no ops', generate('', 'hpp'))
        done = subprocess.run([sys.executable, GENERATOR, '/nonexistent'], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('/nonexistent', done.stderr)


if __name__ == '__main__':
    unittest.main()
