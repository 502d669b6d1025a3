// Convolutions, poolings and products fused with the ops on their results: results agree with eager calls in f64, within rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <thread>

#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"
#include "tenon/graph.hpp"
#include "tenon/random.hpp"
#include "tenon/threads.hpp"

namespace {

using namespace tenon;
using In = std::span<const Tensor>;

template <class T>
std::vector<T> elements_of(const Tensor& x) {
  std::vector<T> elements(static_cast<size_t>(x.numel()));
  x.contiguous().to_host(elements.data(), x.nbytes());
  return elements;
}

double error(const Tensor& found, const Tensor& wanted) {
  const auto a = elements_of<double>(found.to(DType::F64)), b = elements_of<double>(wanted);
  double most = 0, size = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return a.size() == b.size() ? most / size : INFINITY;
}

bool holds(const graph::Program& program, const char* text) {
  return program.explain().find(text) != std::string::npos;
}

struct Geometry {
  int64_t batch, channels, filters, groups, rows, columns, kernel, stride, padding, dilation = 1;
};

// A convolution with the tensors of its batch norm, in any dtype.
struct Block {
  explicit Block(const Geometry& geometry) : g(geometry) {
    weight = randn({g.filters, g.channels / g.groups, g.kernel, g.kernel});
    for (Tensor* one : {&bias, &scale, &shift, &mean}) *one = randn({g.filters});
    var = rand({g.filters}) + 0.5;
  }
  Block in(DType dtype) const {
    Block other = *this;
    for (Tensor* one :
         {&other.weight, &other.bias, &other.scale, &other.shift, &other.mean, &other.var})
      *one = one->to(dtype);
    return other;
  }
  Tensor conv(const Tensor& x, bool biased = true) const {
    const std::array<int64_t, 2> stride{g.stride, g.stride}, padding{g.padding, g.padding},
        dilation{g.dilation, g.dilation};
    return tenon::conv(x, weight, biased ? bias : Tensor(), IntList(stride), IntList(padding),
                       IntList(dilation), g.groups);
  }
  Tensor norm(const Tensor& x) const {
    return batch_norm(x, scale, shift, mean, var, false, 1e-3).y;
  }
  Tensor input() const { return randn({g.batch, g.channels, g.rows, g.columns}); }

  Geometry g;
  Tensor weight, bias, scale, shift, mean, var;
};

const std::vector<Geometry> kGeometries = {
    {1, 3, 64, 1, 40, 37, 7, 2, 3},
    {1, 64, 64, 1, 20, 19, 3, 1, 1},
    {1, 64, 96, 1, 13, 17, 1, 1, 0},
    {1, 64, 32, 1, 31, 33, 1, 2, 0},
    {3, 32, 48, 1, 15, 9, 3, 2, 1},
    {5, 24, 40, 1, 7, 7, 3, 1, 1},
    {1, 96, 96, 96, 31, 30, 3, 1, 1},
    {2, 64, 64, 64, 29, 31, 3, 2, 1},
    {2, 32, 64, 4, 14, 15, 3, 1, 1},
    {1, 48, 48, 1, 1, 257, 1, 1, 0},
    {1, 32, 32, 1, 30, 30, 3, 1, 2, 2},
    {2, 17, 29, 1, 18, 18, 5, 1, 2},
    {7, 16, 33, 1, 12, 12, 3, 1, 0},
    // Too few rows for some threads, which share places or filters.
    {1, 32, 96, 1, 7, 7, 3, 1, 1},
    {2, 32, 256, 1, 5, 6, 3, 2, 1},
    {3, 64, 128, 1, 7, 7, 1, 1, 0},
    {1, 1024, 384, 1, 1, 1, 1, 1, 0},
};

class Anchored : public testing::Test {
 protected:
  void SetUp() override { manual_seed(7); }
  const NoGrad no_grad_;
};

// However many threads share an image: parts of it may want other layouts of the weights than the whole.
TEST_F(Anchored, ConvolutionsWithNormSumAndActivation) {
  const int before = num_threads();
  for (const int threads : {1, 3, 8}) {
    set_num_threads(threads);
    for (const Geometry& g : kGeometries) {
      const Block block(g), wide = block.in(DType::F64);
      const Tensor x = block.input(), other = randn(block.conv(x).shape());
      const auto fn = [](const Block& b) {
        return [&b](In in) { return std::vector{relu(b.norm(b.conv(in[0])) + in[1])}; };
      };
      const graph::Program program = graph::trace({x, other}, fn(block));
      EXPECT_TRUE(holds(program, "conv+batch_norm+add+relu")) << program.explain();
      const Tensor wanted = fn(wide)(std::vector{x.to(DType::F64), other.to(DType::F64)})[0];
      EXPECT_LT(error(program({x, other})[0], wanted), 1e-5)
          << threads << ' ' << g.channels << ' ' << g.kernel;
    }
  }
  set_num_threads(before);
}

TEST_F(Anchored, EveryNumberOfThreadsGivesTheSame) {
  const int before = num_threads();
  for (const int threads : {1, 3, 8}) {
    set_num_threads(threads);
    for (const Geometry& g : kGeometries) {
      const Block block(g), wide = block.in(DType::F64);
      const Tensor x = block.input();
      const auto fn = [](const Block& b) {
        return [&b](In in) { return std::vector{b.conv(in[0], false)}; };
      };
      const graph::Program program = graph::trace({x}, fn(block));
      EXPECT_LT(error(program({x})[0], fn(wide)(std::vector{x.to(DType::F64)})[0]), 1e-5)
          << threads << ' ' << g.channels << ' ' << g.kernel;
    }
  }
  set_num_threads(before);
}

TEST_F(Anchored, ActivationsEqualTheOps) {
  const Block block({1, 32, 32, 1, 16, 16, 3, 1, 1}), wide = block.in(DType::F64);
  const Tensor x = block.input() * 0.25;
  const std::vector<std::pair<const char*, Tensor (*)(const Tensor&)>> all = {
      {" = conv+relu(", [](const Tensor& y) { return relu(y); }},
      {" = conv+gelu(", [](const Tensor& y) { return gelu(y); }},
      {" = conv+gelu(", [](const Tensor& y) { return gelu(y, "tanh"); }},
      {" = conv+clamp(", [](const Tensor& y) { return clamp(y, 0, 6); }},
      // Quicker as loops of their own.
      {" = conv(", [](const Tensor& y) { return sigmoid(y); }},
      {" = conv(", [](const Tensor& y) { return tanh(y); }},
      {" = conv(", [](const Tensor& y) { return silu(y); }}};
  for (const auto& [name, activation] : all) {
    const auto fn = [apply = activation](const Block& b) {
      return [apply, &b](In in) { return std::vector{apply(b.conv(in[0]))}; };
    };
    const graph::Program program = graph::trace({x}, fn(block));
    EXPECT_TRUE(holds(program, name)) << program.explain();
    EXPECT_LT(error(program({x})[0], fn(wide)(std::vector{x.to(DType::F64)})[0]), 1e-5) << name;
  }
}

// Convolutions, poolings, a sum around them, an op in the middle that does not support channels-last layout, and a result in the middle.
std::vector<Tensor> network(const std::vector<Block>& blocks, const Tensor& x) {
  const Tensor first = relu(blocks[0].norm(blocks[0].conv(x)));
  const Tensor pooled = max_pool(first, {3, 3}, OptionalInts({2, 2}), {1, 1}).values;
  const Tensor second = blocks[1].conv(tanh(blocks[1].norm(blocks[1].conv(pooled)))) + pooled;
  const Tensor turned = relu(softmax(second, 1) * 3.0 + second);
  const Tensor last = blocks[2].norm(blocks[2].conv(turned));
  return {last, second, adaptive_avg_pool(last, {1, 1}), last.reshape({x.shape()[0], -1})};
}

TEST_F(Anchored, NetworksKeepTheirResults) {
  for (const int64_t batch : {1, 4}) {
    const std::vector<Block> blocks = {Block({batch, 3, 32, 1, 33, 34, 5, 2, 2}),
                                       Block({batch, 32, 32, 1, 9, 9, 3, 1, 1}),
                                       Block({batch, 32, 64, 1, 9, 9, 3, 1, 1})};
    std::vector<Block> wide;
    for (const Block& block : blocks) wide.push_back(block.in(DType::F64));
    const Tensor x = blocks[0].input();
    const graph::Program program = graph::trace({x}, [&](In in) { return network(blocks, in[0]); });
    EXPECT_TRUE(holds(program, "conv+batch_norm+relu") && holds(program, "fused   %"));
    const auto found = program({x}), wanted = network(wide, x.to(DType::F64));
    for (size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_LT(error(found[k], wanted[k]), 1e-5) << k;
      EXPECT_TRUE(found[k].is_contiguous()) << k;
    }
  }
}

TEST_F(Anchored, ExactProgramsHaveTheBitsOfEagerCalls) {
  const Block block(kGeometries[1]);
  const Tensor x = block.input();
  const auto fn = [&](In in) { return std::vector{relu(block.norm(block.conv(in[0])))}; };
  graph::Program program = graph::trace({x}, fn);
  EXPECT_EQ(program.info().exact, 0u);
  program.set_exact(true);
  EXPECT_EQ(program.info().exact, 1u);
  EXPECT_FALSE(holds(program, "conv+"));
  EXPECT_EQ(elements_of<float>(program({x})[0]), elements_of<float>(fn(std::vector{x})[0]));
  program.set_exact(false);
  EXPECT_TRUE(holds(program, "conv+batch_norm+relu"));
  EXPECT_LT(error(program({x})[0], fn(std::vector{x})[0].to(DType::F64)), 1e-5);
}

TEST_F(Anchored, ChangedWeightsAreLaidOutAgain) {
  Block block(kGeometries[1]);
  const Tensor x = block.input();
  const auto fn = [&](In in) { return std::vector{block.norm(block.conv(in[0]))}; };
  const graph::Program program = graph::trace({x}, fn);
  program({x});
  for (Tensor* one : {&block.weight, &block.bias, &block.scale, &block.shift, &block.mean}) {
    one->copy_(*one * 1.5 + 0.25);
    const Block wide = block.in(DType::F64);
    EXPECT_LT(error(program({x})[0], wide.norm(wide.conv(x.to(DType::F64)))), 1e-5);
  }
}

TEST_F(Anchored, ThreadsRunOneProgram) {
  const Block block(kGeometries[1]);
  const Tensor x = block.input();
  const graph::Program program =
      graph::trace({x}, [&](In in) { return std::vector{relu(block.conv(in[0]))}; });
  const auto wanted = elements_of<float>(program({x})[0]);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) wrong += elements_of<float>(program({x})[0]) != wanted;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

using Function = std::function<std::vector<Tensor>(In)>;

// Windows of bytes as rows, multiplied by a weight, as the ONNX import makes them.
Function product_of_windows(const Geometry& g, const Tensor& weight, double fill) {
  return [=](In in) {
    const std::array<int64_t, 6> pads{0, 0, g.padding, g.padding, g.padding, g.padding};
    const Tensor image = g.padding == 0 ? in[0] : pad(in[0], IntList(pads), "constant", fill);
    const int64_t samples = image.shape(0), channels = image.shape(3);
    const int64_t row = image.shape(2) * channels, reach = (g.kernel - 1) * g.dilation + 1;
    const int64_t down = (image.shape(1) - reach) / g.stride + 1;
    const int64_t across = (image.shape(2) - reach) / g.stride + 1;
    const std::array<int64_t, 6> shape{samples, down, across, g.kernel, g.kernel, channels};
    const std::array<int64_t, 6> strides{image.shape(1) * row,  g.stride * row,
                                         g.stride * channels,   g.dilation * row,
                                         g.dilation * channels, 1};
    const Tensor seen = as_strided(image, IntList(shape), IntList(strides));
    return std::vector{linear_integer(seen.reshape({samples, down, across, -1}), weight)};
  };
}

// Whether a line of the explanation says that the op runs in a separate kernel.
bool stands_alone(const graph::Program& program, const std::string& op) {
  std::istringstream lines(program.explain());
  for (std::string line; std::getline(lines, line);)
    if (line.find("  kernel  ") != line.npos && line.find(" = " + op + "(") != line.npos)
      return true;
  return false;
}

// Sums of bytes are exact, so the bits equal those of eager calls.
TEST_F(Anchored, ProductsOfWindowsAreConvolutions) {
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const DType dtype : {DType::U8, DType::I8})
      for (const Geometry& g : kGeometries) {
        if (g.groups != 1) continue;
        const double least = dtype == DType::U8 ? 0 : -128;
        const auto bytes = [](const Tensor& x, DType to, double low) {
          return clamp(round(x), low, low + 255).to(to);
        };
        const Tensor weight =
            bytes(randn({g.filters, g.kernel * g.kernel * g.channels}) * 90.0, DType::I8, -128);
        const Tensor x = bytes(randn({g.batch, g.rows, g.columns, g.channels}) * 60.0 + least + 90,
                               dtype, least);
        const Function fn = product_of_windows(g, weight, least + 7);
        const graph::Program program = graph::trace({x}, fn);
        EXPECT_EQ(elements_of<int32_t>(program({x})[0]), elements_of<int32_t>(fn(In(&x, 1))[0]))
            << program.explain();
        if (__builtin_cpu_supports("avx512vnni") && g.filters % 8 == 0) {
          EXPECT_FALSE(stands_alone(program, "linear_integer")) << program.explain();
        }
      }
  }
  set_num_threads(before);
}

// Nodes that accept channels last read an anchor's result without a copy.
TEST_F(Anchored, ImagesSeenChannelsLastAreNotCopied) {
  const Block block(kGeometries[1]), wide = block.in(DType::F64);
  const Tensor x = block.input();
  const auto fn = [](const Block& b) {
    return [&b](In in) {
      const Tensor rows = (relu(b.conv(in[0])) * 2.0).permute({0, 2, 3, 1});
      return std::vector{pad(rows, {0, 0, 1, 1, 2, 2}), rows.sum(3)};
    };
  };
  const graph::Program program = graph::trace({x}, fn(block));
  EXPECT_FALSE(stands_alone(program, "clone")) << program.explain();
  const auto found = program({x}), wanted = fn(wide)(std::vector{x.to(DType::F64)});
  for (size_t k = 0; k < found.size(); ++k) EXPECT_LT(error(found[k], wanted[k]), 1e-5);
}

// Between convolutions and nodes that take rows, images stay in rows.
TEST_F(Anchored, ImagesThatOthersTakeInRowsAreNotCopied) {
  const Block block(kGeometries[1]), wide = block.in(DType::F64);
  const Tensor x = block.input();
  const auto fn = [](const Block& b) {
    return [&b](In in) {
      const Tensor normed = silu(group_norm(silu(b.conv(in[0])), 8).y);
      return std::vector{normed * 2.0};
    };
  };
  const graph::Program program = graph::trace({x}, fn(block));
  EXPECT_FALSE(stands_alone(program, "clone")) << program.explain();
  EXPECT_LT(error(program({x})[0], fn(wide)(std::vector{x.to(DType::F64)})[0]), 1e-5);
}

// What stands between two convolutions, with the parameters of the first; none of it changes the layout of an image.
struct Between {
  std::string op;  // as an explanation shows it
  int64_t channels;
  Tensor (*apply)(const Tensor&, const Block&);
};

Tensor grouped(const Tensor& x, const Block& b) {
  return group_norm(x, x.shape(1) / 8, b.scale, b.shift).y;
}
template <int64_t Rows, int64_t Columns>
Tensor resized(const Tensor& x, const char* mode, bool align = false) {
  return interpolate(x, {Rows, Columns}, mode, align);
}

std::vector<Between> norms() {
  return {{"batch_norm+relu", 32, [](const auto& x, const auto& b) { return relu(b.norm(x)); }},
          {"batch_norm+silu", 17, [](const auto& x, const auto& b) { return silu(b.norm(x)); }},
          {"batch_norm", 45,
           [](const auto& x, const auto& b) {
             return batch_norm(x, {}, {}, b.mean, b.var, false, 1e-5).y;
           }},
          {"group_norm+silu", 64, [](const auto& x, const auto& b) { return silu(grouped(x, b)); }},
          {"group_norm+relu", 24,
           [](const auto& x, const auto& b) { return relu(grouped(x + 30.0, b)); }},
          {"group_norm", 19, [](const auto& x, const auto&) { return group_norm(x, 1).y; }},
          {"concat", 32,
           [](const auto& x, const auto& b) {
             return concat({x, b.norm(x)}, 1);
           }},
          {"concat", 24, [](const auto& x, const auto& b) {
             return concat({x, b.norm(x), x}, 3);
           }}};
}

std::vector<Between> resamplings() {
  return {
      {"avg_pool", 32,
       [](const auto& x, const auto&) {
         return avg_pool(x, {2, 2});
       }},
      {"avg_pool", 33,
       [](const auto& x, const auto&) {
         return avg_pool(x, {3, 2}, OptionalInts({2, 1}), {1, 0}, true, false);
       }},
      {"avg_pool", 16,
       [](const auto& x, const auto&) {
         return avg_pool(x, {3, 3}, OptionalInts({1, 2}), {1, 1});
       }},
      {"adaptive_avg_pool", 40,
       [](const auto& x, const auto&) {
         return adaptive_avg_pool(x, {5, 7});
       }},
      {"interpolate", 32,
       [](const auto& x, const auto&) { return resized<34, 38>(x, "bilinear"); }},
      {"interpolate", 21,
       [](const auto& x, const auto&) { return resized<9, 40>(x, "bilinear", true); }},
      {"interpolate", 32, [](const auto& x, const auto&) { return resized<41, 19>(x, "nearest"); }},
      {"interpolate", 16, [](const auto& x, const auto&) { return resized<25, 25>(x, "bicubic"); }},
      {"concat", 9, [](const auto& x, const auto&) {
         return concat(
             {avg_pool(x, {2, 2}, OptionalInts({1, 1})), avg_pool(x, {4, 2}, OptionalInts({2, 1}))},
             2);
       }}};
}

void keeps_channels_last(const Between& between, int64_t batch) {
  const Block first({batch, 16, between.channels, 1, 17, 19, 3, 1, 1});
  const Tensor x = first.input();
  const int64_t channels = between.apply(first.conv(x), first).shape(1);
  const Block last({batch, channels, 24, 1, 0, 0, 3, 1, 1});
  const auto fn = [&](const Block& a, const Block& b) {
    return [&](In in) { return std::vector{b.conv(between.apply(relu(a.conv(in[0])), a))}; };
  };
  const graph::Program program = graph::trace({x}, fn(first, last));
  const std::string text = program.explain();
  EXPECT_FALSE(stands_alone(program, "clone")) << text;
  if (between.op != "concat") {
    EXPECT_NE(text.find(" = " + between.op + "("), text.npos) << text;
  }
  const Block wide = first.in(DType::F64), wide_last = last.in(DType::F64);
  const Tensor wanted = fn(wide, wide_last)(std::vector{x.to(DType::F64)})[0];
  EXPECT_LT(error(program({x})[0], wanted), 2e-5) << between.op << ' ' << between.channels;
}

TEST_F(Anchored, NodesBetweenConvolutionsKeepChannelsLast) {
  const int before = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const auto& all : {norms(), resamplings()})
      for (const Between& between : all)
        for (const int64_t batch : {1, 3}) keeps_channels_last(between, batch);
  }
  set_num_threads(before);
}

// An image that also leaves the graph lies in rows; so do those that such nodes make of it.
TEST_F(Anchored, NodesOfImagesInRowsStayNodes) {
  const Block block(kGeometries[1]), wide = block.in(DType::F64);
  const Tensor x = block.input();
  const auto fn = [](const Block& b) {
    return [&b](In in) {
      const Tensor y = relu(b.norm(in[0]));
      return std::vector{b.conv(y), y, concat({in[0], b.conv(in[0])}, 1)};
    };
  };
  const graph::Program program = graph::trace({x}, fn(block));
  EXPECT_TRUE(stands_alone(program, "batch_norm")) << program.explain();
  const auto found = program({x}), wanted = fn(wide)(std::vector{x.to(DType::F64)});
  for (size_t k = 0; k < found.size(); ++k) EXPECT_LT(error(found[k], wanted[k]), 1e-5) << k;
}

// A group norm as files spell it, with one of its rows' own parameters for each group; silu likewise.
Tensor spelled_norm(const Tensor& x, const Block& b, int64_t groups) {
  const int64_t channels = x.shape(1);
  const Tensor rows = x.reshape({x.shape(0), groups, -1});
  const Tensor normed =
      group_norm(rows, groups, b.mean.slice(0, 0, groups), b.var.slice(0, 0, groups), 1e-3).y;
  return normed.reshape(x.shape()) * b.scale.reshape({1, channels, 1, 1}) +
         b.shift.reshape({channels, 1, 1});
}

TEST_F(Anchored, SpelledOpsAreRestored) {
  for (const int64_t groups : {1, 8, 64}) {
    const Block block({2, 64, 64, 1, 20, 19, 3, 1, 1}), wide = block.in(DType::F64);
    const Tensor x = block.input();
    const auto fn = [&](const Block& b) {
      return [&](In in) {
        const Tensor y = b.conv(in[0]), first = y * sigmoid(y);
        const Tensor z = spelled_norm(first, b, groups), second = sigmoid(z) * z;
        return std::vector{b.conv(second)};
      };
    };
    graph::Program program = graph::trace({x}, fn(block));
    EXPECT_FALSE(holds(program, "sigmoid")) << program.explain();
    EXPECT_TRUE(holds(program, " = group_norm+silu(")) << program.explain();
    EXPECT_FALSE(stands_alone(program, "clone")) << program.explain();
    const Tensor wanted = fn(wide)(std::vector{x.to(DType::F64)})[0];
    EXPECT_LT(error(program({x})[0], wanted), 1e-5) << groups;
    program.set_exact(true);
    EXPECT_EQ(elements_of<float>(program({x})[0]), elements_of<float>(fn(block)(In(&x, 1))[0]));
  }
}

// What others read of such nodes stays: a sigmoid, a product with another sigmoid, a scale that is no channel's.
TEST_F(Anchored, OtherSpellingsStay) {
  const Block block({2, 64, 64, 1, 20, 19, 3, 1, 1}), wide = block.in(DType::F64);
  const Tensor x = block.input();
  const auto fn = [](const Block& b) {
    return [&b](In in) {
      const Tensor y = b.conv(in[0]), gate = sigmoid(y), other = b.conv(in[0] * 2.0);
      const Tensor normed = group_norm(y.reshape({2, 8, -1}), 8, {}, {}, 1e-3).y.reshape(y.shape());
      return std::vector{y * gate + gate, y * sigmoid(other),
                         normed * b.scale.slice(0, 0, 19) + b.shift.slice(0, 0, 19)};
    };
  };
  const graph::Program program = graph::trace({x}, fn(block));
  EXPECT_FALSE(holds(program, "silu")) << program.explain();
  const auto found = program({x}), wanted = fn(wide)(std::vector{x.to(DType::F64)});
  for (size_t k = 0; k < found.size(); ++k) EXPECT_LT(error(found[k], wanted[k]), 1e-5) << k;
}

// Parameters of a norm that no convolution takes up may change, too.
TEST_F(Anchored, ChangedNormsAreLaidOutAgain) {
  const Block block(kGeometries[1]);
  Block norm({1, 64, 64, 1, 1, 1, 1, 1, 0});
  const Tensor x = block.input();
  const auto fn = [&](In in) {
    const Tensor y = block.conv(in[0]);
    return std::vector{block.conv(relu(norm.norm(tanh(y))))};
  };
  const graph::Program program = graph::trace({x}, fn);
  EXPECT_TRUE(holds(program, " = batch_norm+relu(")) << program.explain();
  for (Tensor* one : {&norm.scale, &norm.shift, &norm.mean, &norm.var}) {
    one->copy_(*one * 1.5 + 0.25);
    EXPECT_LT(error(program({x})[0], fn(In(&x, 1))[0].to(DType::F64)), 1e-5);
  }
}

// Channels-last layout between other nodes, with the bits of eager calls.
TEST_F(Anchored, PoolingsOfBytes) {
  for (const DType dtype : {DType::U8, DType::I8}) {
    const Tensor x = (randn({2, 32, 40, 37}) * 40.0 + (dtype == DType::U8 ? 120 : 0)).to(dtype);
    const auto fn = [](In in) {
      return std::vector{max_pool(maximum(in[0], 3), {3, 3}, {2, 2}, {1, 1}).values + 1};
    };
    const graph::Program program = graph::trace({x}, fn);
    EXPECT_FALSE(stands_alone(program, "max_pool")) << program.explain();
    EXPECT_EQ(elements_of<uint8_t>(program({x})[0].to(DType::U8)),
              elements_of<uint8_t>(fn(In(&x, 1))[0].to(DType::U8)));
  }
}

struct Layer {
  int64_t rows, outputs, inputs;
};
const std::vector<Layer> kLayers = {{5, 400, 300},   {8, 96, 700},    {16, 384, 384},
                                    {17, 49, 1000},  {128, 100, 65},  {130, 384, 1536},
                                    {490, 130, 257}, {1001, 48, 129}, {24, 1153, 384}};

struct Weights {
  explicit Weights(const Layer& of)
      : weight(randn({of.outputs, of.inputs})), bias(randn({of.outputs})) {}
  Tensor weight, bias;
  Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }
  Weights in(DType dtype) const {
    Weights other = *this;
    other.weight = weight.to(dtype);
    other.bias = bias.to(dtype);
    return other;
  }
};

// A product whose weight is laid out once, an activation and a sum.
TEST_F(Anchored, LinearWithWhatIsBehind) {
  const int before = num_threads();
  for (const int threads : {1, 3, 8}) {
    set_num_threads(threads);
    for (const Layer& of : kLayers) {
      const Weights one(of), wide = one.in(DType::F64);
      const std::vector<Tensor> given = {
          randn({of.rows, of.outputs}), randn({of.rows, of.inputs}) * 0.1,
          randn({of.rows, of.inputs}) * 0.1, randn({of.rows, of.inputs}) * 0.1};
      const auto fn = [](const Weights& w) {
        return [&w](In in) {
          return std::vector{gelu(w(in[1]), "tanh") + in[0], linear(in[1], w.weight, {}, "silu"),
                             relu(in[0] + w(in[2])), tanh(sigmoid(w(in[3])))};
        };
      };
      const graph::Program program = graph::trace(given, fn(one));
      for (const char* name :
           {"linear+gelu+add(", " linear(", "linear+add+relu(", "linear+sigmoid+tanh("})
        EXPECT_TRUE(holds(program, name)) << name << program.explain();
      EXPECT_FALSE(stands_alone(program, "linear")) << program.explain();
      std::vector<Tensor> exact;
      for (const Tensor& one_given : given) exact.push_back(one_given.to(DType::F64));
      const auto found = program(given), wanted = fn(wide)(exact);
      for (size_t k = 0; k < found.size(); ++k)
        EXPECT_LT(error(found[k], wanted[k]), 1e-5)
            << threads << ' ' << of.rows << ' ' << of.outputs << ' ' << k;
    }
  }
  set_num_threads(before);
}

TEST_F(Anchored, ChangedWeightsOfLinearAreLaidOutAgain) {
  Weights one({32, 200, 300});
  const Tensor x = randn({32, 300});
  const auto fn = [&](In in) { return std::vector{relu(one(in[0]))}; };
  const graph::Program program = graph::trace({x}, fn);
  EXPECT_TRUE(holds(program, "linear+relu(")) << program.explain();
  for (Tensor* changed : {&one.weight, &one.bias}) {
    changed->copy_(*changed * 1.5 + 0.25);
    EXPECT_LT(error(program({x})[0], fn(In(&x, 1))[0].to(DType::F64)), 1e-5);
  }
}

// Programs share a weight that was laid out; one that runs keeps it when another sees the weight changed.
TEST_F(Anchored, ProgramsShareTheWeightsOfLinear) {
  Weights one({32, 200, 300});
  const Tensor x = randn({32, 300}), y = randn({64, 300});
  const auto fn = [&](In in) { return std::vector{relu(one(in[0]))}; };
  const auto check = [&](const graph::Program& program, const Tensor& given) {
    EXPECT_LT(error(program({given})[0], fn(In(&given, 1))[0].to(DType::F64)), 1e-5);
  };
  const graph::Program first = graph::trace({x}, fn), second = graph::trace({y}, fn);
  check(first, x);
  check(second, y);
  one.weight.copy_(one.weight * 1.5);
  const graph::Program third = graph::trace({x}, fn);
  for (int round = 0; round < 2; ++round) {
    check(third, x);
    check(second, y);
    check(first, x);
    one.weight.copy_(one.weight - 0.25);
  }
}

// Few rows, small products, rows apart, a given weight, what is added to many rows; and programs for many sizes.
TEST_F(Anchored, OtherLinearStaysANode) {
  const Weights one({64, 200, 300}), small({64, 40, 30});
  const Tensor x = randn({64, 300}), row = randn({200});
  const auto alone = [](const graph::Program& program) {
    return stands_alone(program, "linear") && !holds(program, "linear+");
  };
  const auto fn = [&](In in) { return std::vector{relu(one(in[0]))}; };
  EXPECT_FALSE(alone(graph::trace({x}, fn)));
  EXPECT_TRUE(alone(graph::trace({x.narrow(0, 0, 4).contiguous()}, fn)));
  EXPECT_TRUE(alone(
      graph::trace({randn({64, 30})}, [&](In in) { return std::vector{relu(small(in[0]))}; })));
  EXPECT_TRUE(alone(graph::trace(
      {randn({64, 600})}, [&](In in) { return std::vector{relu(one(in[0].slice(1, 0, 300)))}; })));
  EXPECT_TRUE(alone(graph::trace({x, one.weight},
                                 [&](In in) { return std::vector{relu(linear(in[0], in[1]))}; })));
  EXPECT_FALSE(holds(graph::trace({x}, [&](In in) { return std::vector{one(in[0]) + row}; }),
                     "linear+add("));
  const graph::Program sized = graph::trace({x}, {{{0, {"rows"}}}}, fn);
  EXPECT_TRUE(alone(sized)) << sized.explain();
  EXPECT_EQ(elements_of<float>(sized({x})[0]), elements_of<float>(fn(In(&x, 1))[0]));
  graph::Program exact = graph::trace({x}, fn);
  exact.set_exact(true);
  EXPECT_TRUE(alone(exact));
}

// Cases that must not be fused: weights that are not constant, a result that others read, statistics of the batch.
TEST_F(Anchored, OtherNodesStayUnfused) {
  const Block block(kGeometries[1]);
  const Tensor x = block.input();
  const graph::Program given = graph::trace({x, block.weight}, [&](In in) {
    return std::vector{relu(tenon::conv(in[0], in[1], {}, {1, 1}, {1, 1}))};
  });
  EXPECT_FALSE(holds(given, "conv+"));
  const graph::Program shared = graph::trace({x}, [&](In in) {
    const Tensor y = block.conv(in[0]);
    return std::vector{relu(y), y};
  });
  EXPECT_FALSE(holds(shared, "conv+"));
  const auto found = shared({x});
  EXPECT_EQ(elements_of<float>(found[0]), elements_of<float>(relu(found[1])));
  const graph::Program training = graph::trace({x}, [&](In in) {
    return std::vector{batch_norm(block.conv(in[0]), {}, {}, {}, {}, true).y};
  });
  EXPECT_FALSE(holds(training, "conv+batch_norm"));
}

}  // namespace
