// What passes do to a graph: fewer nodes, less memory, the same bits.
#include <gtest/gtest.h>

#include <cstring>

#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"
#include "tenon/graph.hpp"
#include "tenon/ops.hpp"
#include "tenon/random.hpp"

namespace {

using namespace tenon;
using graph::Program;
using In = std::span<const Tensor>;
using Results = std::vector<Tensor>;

std::vector<char> bytes_of(const Tensor& x) {
  std::vector<char> bytes(x.nbytes());
  x.contiguous().to_host(bytes.data(), bytes.size());
  return bytes;
}

template <class Fn>
Program expect_equal(const Results& inputs, Fn&& fn) {
  const NoGrad no_grad;
  Program program = graph::trace(inputs, fn);
  const Results wanted = fn(In(inputs)), found = program(inputs);
  for (size_t k = 0; k < wanted.size(); ++k)
    EXPECT_EQ(bytes_of(wanted[k]), bytes_of(found[k])) << program.explain();
  return program;
}

// How often the graph calls an op.
size_t count(const Program& program, const std::string& op) {
  const std::string text = program.text(true);
  size_t found = 0;
  for (size_t at = text.find(op); at != std::string::npos; at = text.find(op, at + 1)) ++found;
  return found;
}

const Tensor kSigned = tensor({0.0f, -0.0f, 1.5f, -2.0f});

TEST(Passes, EqualNodesAreShared) {
  const Program program = expect_equal({randn({8, 8})}, [](In in) {
    return Results{in[0].matmul(in[0]) + in[0].matmul(in[0]).relu()};
  });
  EXPECT_EQ(count(program, "matmul("), 1u);
}

TEST(Passes, NodesOfOtherNumbersAreNot) {
  const Program program = expect_equal({kSigned, kSigned.clone()}, [](In in) {
    return Results{in[0].matmul(in[0]), in[0].matmul(in[1]), softmax(in[0] * 0.0, 0),
                   softmax(in[0] * -0.0, 0)};
  });
  EXPECT_EQ(count(program, "matmul("), 2u);
}

TEST(Passes, ResultsStayApart) {
  const Program program = expect_equal({randn({4, 4})}, [](In in) {
    return Results{in[0].matmul(in[0]), in[0].matmul(in[0])};
  });
  const Tensor x = randn({4, 4});
  Results results = program({x});
  results[0].add_(1.0);
  EXPECT_NE(bytes_of(results[0]), bytes_of(results[1]));
}

TEST(Passes, DrawsAreNotShared) {
  const Program program = graph::trace({zeros({64})}, [](In in) {
    return Results{rand(in[0].shape()) + in[0], rand(in[0].shape()) + in[0]};
  });
  const Results drawn = program({zeros({64})});
  EXPECT_NE(bytes_of(drawn[0]), bytes_of(drawn[1]));
}

TEST(Passes, WhatChangesNothingGoes) {
  const Tensor w = randn({4, 4});
  const auto nodes = [&](auto&& change) {
    return expect_equal({kSigned},
                        [&](In in) { return Results{change(in[0].matmul(w)).matmul(w)}; })
        .info()
        .nodes;
  };
  const uint64_t none = nodes([](const Tensor& x) { return x; });
  EXPECT_EQ(nodes([](const Tensor& x) { return x * 1.0; }), none);
  EXPECT_EQ(nodes([](const Tensor& x) { return x / 1.0; }), none);
  EXPECT_EQ(nodes([](const Tensor& x) { return x - 0.0; }), none);
  EXPECT_EQ(nodes([](const Tensor& x) { return -(-x); }), none);
  EXPECT_EQ(nodes([](const Tensor& x) { return x.clone(); }), none);
  EXPECT_EQ(nodes([](const Tensor& x) { return x.to(DType::F64).to(DType::F32); }), none);
  EXPECT_EQ(nodes([](const Tensor& x) { return where(x > 0.0, x, x); }), none);
  // These do change something: the sign of a zero, or bits.
  EXPECT_GT(nodes([](const Tensor& x) { return x + 0.0; }), none);
  EXPECT_GT(nodes([](const Tensor& x) { return x.to(DType::F16).to(DType::F32); }), none);
  EXPECT_GT(nodes([](const Tensor& x) { return x * -1.0; }), none);
}

TEST(Passes, ZerosKeepTheirSigns) {
  expect_equal({kSigned}, [](In in) {
    return Results{(in[0] + 0.0).clone(), in[0] - 0.0, in[0] * 1.0, -(-in[0])};
  });
}

// `part` at [start, end) of zeros with six columns.
Tensor placed(const Tensor& part, int64_t start, int64_t end) {
  return slice_scatter(zeros({2, 6}), part, 1, start, end);
}

TEST(Passes, SlicesThatFillASumAreWrittenIntoIt) {
  const Tensor x = tensor({0.0f, -0.0f, 1.0f, -2.0f, 3.0f, -0.0f}).reshape({2, 3});
  const Program program = expect_equal({x}, [](In in) {
    const Tensor a = placed(in[0], 3, 6), b = placed(slice(in[0], 1, 0, 1), 0, 1),
                 c = placed(exp(slice(in[0], 1, 1, 3)), 1, 3);
    const Tensor rows = slice_scatter(zeros({4, 3}), in[0], 0, 0, 2) +
                        slice_scatter(zeros({4, 3}), in[0] * 2.0, 0, 2, 4);
    return Results{a + b + c, (c + a) + b, rows.matmul(in[0].transpose(0, 1))};
  });
  EXPECT_EQ(count(program, "slice_scatter("), 0u) << program.explain();
}

TEST(Passes, SlicesThatOverlapOrLeaveGapsAreAdded) {
  const Program program = expect_equal({randn({2, 3})}, [](In in) {
    const Tensor a = placed(in[0], 0, 3), b = placed(in[0], 2, 5), c = placed(in[0], 3, 6);
    const Tensor ones_outside = slice_scatter(ones({2, 6}), in[0], 1, 0, 3);
    return Results{a + b, a + c + b, ones_outside + c, a + a};
  });
  EXPECT_EQ(count(program, "slice_scatter("), 4u) << program.explain();
}

TEST(Passes, ResultsTakeTheMemoryOfOperands) {
  const Program program = expect_equal(
      {randn({64, 64})}, [](In in) { return Results{in[0].matmul(in[0]).relu().matmul(in[0])}; });
  EXPECT_EQ(program.info().arena, 64u * 64 * 4);
}

TEST(Passes, OperandsReadLaterStay) {
  expect_equal({randn({16, 16})}, [](In in) {
    const Tensor m = in[0].matmul(in[0]);
    const Tensor r = m.relu();
    return Results{r.matmul(m), m.t().matmul(r)};
  });
}

// A convolution, its norm and an activation in place are one kernel, and images stay channels-last, as without in-place ops.
TEST(Passes, WhatIsWrittenAnewIsAValueOfItsOwn) {
  const NoGrad no_grad;
  const Tensor w = randn({32, 32, 1, 1}), one = ones({32}), none = zeros({32});
  const auto net = [&](bool in_place) {
    return [&, in_place](In in) {
      Tensor x = in[0];
      for (int block = 0; block < 3; ++block) {
        x = batch_norm(conv(x, w), one, none, none, one, false, 1e-5).y;
        if (in_place)
          x.relu_().silu_().mul_(0.5);
        else
          x = silu(x.relu()) * 0.5;
      }
      return Results{x};
    };
  };
  const Tensor x = randn({2, 32, 16, 16}) * 0.1;
  const Program there = graph::trace({x}, net(true)), apart = graph::trace({x}, net(false));
  EXPECT_EQ(there.info().nodes, apart.info().nodes) << there.explain();
  EXPECT_EQ(there.info().fused, apart.info().fused);
  EXPECT_LE(there.info().arena, apart.info().arena);
  EXPECT_EQ(bytes_of(there({x})[0]), bytes_of(apart({x})[0]));
}

TEST(Passes, WritesOfPartsAndViewsFollowWhatWasWrittenAnew) {
  expect_equal({randn({6, 8}), randn({6, 8})}, [](In in) {
    Tensor x = in[0] * 2, y = in[1] + 1;
    const Tensor row = x.select(0, 1), turned = x.t(), before = x.exp();
    x.copy_(y.sin());             // anew
    x.narrow(0, 2, 2).mul_(3.0);  // a part
    y.copy_(turned.t() + y);      // reads what it writes
    x.add_(y).sigmoid_();         // anew, twice
    y.t().copy_(x.t() - 1);       // anew, in another order
    const Tensor last = row + 1;  // a view of what is there by now
    x.narrow(1, 0, 4).copy_(x.narrow(1, 4, 4).clone());
    return Results{x, y, row, last, before, turned.sum({0})};
  });
}

TEST(Passes, TheOrderKeepsFewBuffersAlive) {
  const Program program = expect_equal({randn({64, 64})}, [](In in) {
    Results large, small;
    for (int k = 0; k < 6; ++k) large.push_back(in[0].slice(0, k).matmul(in[0]));
    for (const Tensor& x : large) small.push_back(x.argmax(0).to(DType::F32));
    return Results{stack(small)};
  });
  EXPECT_LT(program.info().arena, 3u * 64 * 64 * 4) << program.explain();
}

TEST(Passes, FusedKernelsAreExplained) {
  const Program program = expect_equal({randn({8, 64}), randn({64})}, [](In in) {
    const Tensor x = (in[0] + in[1]).tanh() * 0.5;
    return Results{x * rsqrt(mean(x * x, {-1}, true) + 1e-5), x.cumsum(0)};
  });
  const std::string text = program.explain();
  EXPECT_EQ(program.info().fused, 8u) << text;
  for (const char* part : {" fused ", "add+tanh+mul+mul+mean+add+rsqrt+mul", "in a result",
                           "not fused", "%2 = add(%0, %1)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

}  // namespace
