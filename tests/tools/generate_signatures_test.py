#!/usr/bin/env python3
"""The test that is made of libs/signatures.toml: it compares what headers say with the table."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / 'tools/generate_signatures.py'
TABLE = """
[names]
both = ["Module"]
cpp = []
containers = []
torch = ["Named"]
[nn.Layer]
schema = '(int width, float p=0.5, int[] sizes=1)'
make = {width = 3}
state = ["weight f32 (3)"]
refuses = [[{width = -1}, "width is -1"], [{sizes = [1, 2]}, "sizes"]]
[nn.ReLU]
schema = '()'
[torch.ZeroPad2d]
schema = '(int padding)'
make = {padding = 2}
[torch.Twin]
schema = '(float p=0.5, int[] sizes=1)'
[init]
[optim]
[clip]
[scheduler]
"""
HEADER = """
#define ACTIVATION(Name) \\
  class Name : public Module { \\
   public: \\
    Tensor forward(const Tensor& x) override { return x; } \\
  };
namespace tenon::nn {
// class Commented {};
class Module { Module(Module&& other); };
ACTIVATION(ReLU)
struct LayerOptions {
  double p = 0.5;
  Sizes sizes = 1;  // of something
};
#define PAD(Kind) \\
  template <int Dims> class Kind##Pad { public: explicit Kind##Pad(int64_t padding); }; \\
  using Kind##Pad2d = Kind##Pad<2>;
PAD(Zero)
class Named {};
using TwinOptions = LayerOptions;
class Twin { public: explicit Twin(const TwinOptions& options = {}); };
namespace detail { class Hidden {}; }
class Layer : public Module {
 public:
  explicit Layer(int64_t width, const LayerOptions& options = {}) : width_(width) { if (width < 0) { refuse(); } }
};
}  // namespace tenon::nn
"""


def generate(table=TABLE, header=HEADER):
    """What is generated, or the error."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / 'table.toml').write_text(table)
        (folder / 'headers').mkdir()
        (folder / 'headers/layer.hpp').write_text(header)
        done = subprocess.run([sys.executable, GENERATOR, folder / 'table.toml', folder / 'out', folder / 'out.d', folder / 'headers'],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr
        assert 'layer.hpp' in (folder / 'out.d').read_text()
        return (folder / 'out').read_text()


class Generated(unittest.TestCase):
    def line(self, text, part):
        return next(line for line in text.splitlines() if part in line)

    def test_what_is_equal(self):
        text = generate()
        signature = '"(int width, float p=0.5, int[] sizes=1)"'
        self.assertIn(f'EXPECT_EQ(std::string({signature}), {signature})', text)
        self.assertIn('expect_same("weight f32 (3)", [] { return state_of(nn::Layer(int64_t{3})); });', text)
        self.assertIn('expect_refused("[Layer] sizes", [] { nn::Layer(int64_t{3}, {.sizes = nn::Sizes{int64_t{1}, int64_t{2}}}); });', text)
        self.assertIn('expect_same("", [] { return state_of(nn::ReLU()); });', text)
        self.assertIn('EXPECT_EQ(std::string("(float p=0.5, int[] sizes=1)"), "(float p=0.5, int[] sizes=1)")', text)  # options by another name
        self.assertIn('expect_same("", [] { return state_of(nn::ZeroPad2d(int64_t{2})); });', text)  # a name that is joined
        self.assertIn('EXPECT_EQ(std::string("Layer, Module, Named, ReLU, Twin, ZeroPad2d"), "Layer, Module, Named, ReLU, Twin, ZeroPad2d")', text)

    def test_what_differs(self):
        for old, new, found in (('p = 0.5;', 'p = 0.25;', 'float p=0.25'), ('double p', 'int64_t p', 'int p=0'),
                                ('Sizes sizes', 'Sizes size', 'int[] size=1'), ('int64_t width,', 'int64_t size,', 'int size'),
                                ('  double p = 0.5;\n', '', '(int width, int[] sizes=1)')):
            line = self.line(generate(header=HEADER.replace(old, new)), 'int width, float p=0.5')
            self.assertIn(f'{found}', line.split('"), "')[0])
            self.assertNotEqual(*[part.strip('"()') for part in line.split('<<')[0].split('std::string(')[1].split('), ')])

    def test_names_of_one_side(self):
        more = generate(header=HEADER.replace('ACTIVATION(ReLU)', 'ACTIVATION(ReLU)\nACTIVATION(Tanh)\nusing Other = Layer;'))
        self.assertIn('EXPECT_EQ(std::string("Layer, Module, Named, Other, ReLU, Tanh, Twin, ZeroPad2d"), "Layer, Module, Named, ReLU, Twin, ZeroPad2d")', more)
        fewer = generate(header=HEADER.replace('ACTIVATION(ReLU)', ''))
        self.assertIn('TEST(Signatures, nn_ReLU) { ADD_FAILURE() << "no header has it"; }', fewer)

    def test_mistakes(self):
        for old, new, message in (('int width,', 'whole width,', '"whole width" is no argument'),
                                  ('make = {width = 3}', '', 'nn.Layer: make lacks width'),
                                  ('{width = -1}', '{widht = -1}', 'no argument is called widht'),
                                  ('state = ', 'states = ', 'nn.Layer: unknown: states'), ('[clip]', '[clips]', 'unknown sections: clips')):
            self.assertIn(message, generate(TABLE.replace(old, new)))
        self.assertIn('nn.Layer: the table has no type for long', generate(header=HEADER.replace('double p', 'long p')))


if __name__ == '__main__':
    unittest.main()
