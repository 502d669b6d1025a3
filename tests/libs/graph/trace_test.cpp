// Functions recorded as graphs: results equal those of eager calls bit for bit, and what cannot be recorded is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "tenon/amp.hpp"
#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"
#include "tenon/graph.hpp"
#include "tenon/nn.hpp"
#include "tenon/plugins.h"
#include "tenon/random.hpp"

namespace {

using namespace tenon;
using graph::Program;
using In = std::span<const Tensor>;

std::vector<char> bytes_of(const Tensor& x) {
  std::vector<char> bytes(x.nbytes());
  x.contiguous().to_host(bytes.data(), bytes.size());
  return bytes;
}

void expect_same(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_TRUE(std::ranges::equal(a.shape(), b.shape()));
  EXPECT_EQ(bytes_of(a), bytes_of(b));
}

// fn over fresh inputs, eager and as a program.
template <class Fn>
Program expect_equal(const std::vector<Tensor>& inputs, Fn&& fn) {
  Program program = graph::trace(inputs, fn);
  std::vector<Tensor> others;
  for (const Tensor& x : inputs) others.push_back(is_floating(x.dtype()) ? randn(x.shape()) : x);
  const NoGrad no_grad;
  for (const auto& given : {inputs, others}) {
    const auto wanted = fn(In(given)), found = program(given);
    EXPECT_EQ(wanted.size(), found.size());
    for (size_t k = 0; k < wanted.size(); ++k) expect_same(wanted[k], found[k]);
  }
  return program;
}

std::string error_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

using Results = std::vector<Tensor>;

TEST(Trace, ElementwiseAndReductions) {
  const Program program = expect_equal({randn({3, 4}), randn({4})}, [](In in) {
    const Tensor y = (in[0] * 2 + in[1]).tanh();
    return Results{y.sum({1}), y.mean(), y.softmax(1), -y};
  });
  EXPECT_EQ(program.info().inputs, 2u);
  EXPECT_EQ(program.info().results, 4u);
}

TEST(Trace, EveryNodeOfTheHostRunsItsKernel) {
  const Program program = expect_equal(
      {randn({8, 16})}, [](In in) { return Results{in[0].matmul(in[0].mt()).relu().sum()}; });
  EXPECT_EQ(program.info().bound, program.info().nodes);
  EXPECT_GT(program.info().nodes, 0u);
}

TEST(Trace, Views) {
  expect_equal({randn({4, 6})}, [](In in) {
    const Tensor& x = in[0];
    return Results{x.t(), x.slice(1, 1, 5, 2) + 1, x.select(0, 2), x.flip({1}) * 1,
                   x.reshape({3, 8})};
  });
}

TEST(Trace, WritesIntoWhatItMade) {
  expect_equal({randn({4, 6})}, [](In in) {
    Tensor made = zeros({4, 6});
    made.narrow(0, 1, 2).copy_(in[0].narrow(0, 0, 2));
    made += in[0];
    return Results{made};
  });
}

TEST(Trace, WeightsShareTheirElements) {
  Tensor weight = randn({6, 3});
  const Tensor x = randn({2, 6});
  const Program program = graph::trace({x}, [&](In in) { return Results{in[0].matmul(weight)}; });
  EXPECT_EQ(program.info().weights, weight.nbytes());
  weight *= 3;
  expect_same(program({x})[0], x.matmul(weight));
}

TEST(Trace, WhatIsComputedFromWeightsFollowsThem) {
  Tensor weight = randn({6, 3});
  const Tensor x = randn({2, 6});
  const auto scaled = [&](In in) { return Results{in[0].matmul((weight * 2).exp())}; };
  const Program program = graph::trace({x}, scaled);
  expect_same(program({x})[0], scaled(std::array{x})[0]);
  weight *= 3;
  expect_same(program({x})[0], scaled(std::array{x})[0]);
}

TEST(Trace, ModulesInEvaluation) {
  nn::Sequential net(nn::Conv2d(3, 8, 3, {.padding = {1}}), nn::BatchNorm2d(8), nn::ReLU(),
                     nn::MaxPool2d(2), nn::Flatten(), nn::Linear(8 * 4 * 4, 10));
  net.eval();
  expect_equal({randn({2, 3, 8, 8})}, [&](In in) { return Results{net(in[0])}; });
}

TEST(Trace, ResultsMayBeInputsOrWeights) {
  const Tensor weight = randn({3});
  expect_equal({randn({3})}, [&](In in) { return Results{in[0], weight, in[0].unsqueeze(0)}; });
}

TEST(Trace, RandomNumbersAreDrawnByEachRun) {
  const Tensor x = zeros({1000});
  manual_seed(7);
  const Program program =
      graph::trace({x}, [](In in) { return Results{in[0] + uniform(in[0].shape(), 0, 1)}; });
  const Tensor first = program({x})[0], second = program({x})[0];
  manual_seed(7);
  expect_same(first, uniform({1000}, 0, 1));
  expect_same(second, uniform({1000}, 0, 1));
}

TEST(Trace, ReadingAnElementIsRefused) {
  const std::string said = error_of([] {
    graph::trace({randn({3})}, [](In in) { return Results{in[0] * in[0].sum().item<float>()}; });
  });
  EXPECT_NE(said.find("is read while a function is traced"), said.npos) << said;
  EXPECT_NO_THROW(randn({3}).sum().item<float>());  // the trace has ended
}

TEST(Trace, WritingOutsideIsRefused) {
  Tensor outside = randn({3});
  EXPECT_NE(error_of([&] {
              graph::trace({randn({3})}, [&](In in) { return Results{outside += in[0]}; });
            }).find("writes what is traced into a tensor from outside"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              graph::trace({randn({3})}, [&](In in) {
                Tensor x = in[0];
                return Results{x += 1};
              });
            }).find("it writes into input"),
            std::string::npos);
}

TEST(Trace, DataDependentShapesAreRefused) {
  EXPECT_NE(error_of([] {
              graph::trace({randn({3})}, [](In in) { return Results{nonzero(in[0])}; });
            }).find("the shape of its result depends on elements"),
            std::string::npos);
}

TEST(Trace, InputsAreChecked) {
  const Program program = graph::trace({randn({2, 3})}, [](In in) { return Results{in[0] + 1}; });
  EXPECT_NE(error_of([&] {
              program({randn({3, 2})});
            }).find("f32[2, 3], not f32[3, 2]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { program({}); }).find("0 inputs were given, the graph has 1"),
            std::string::npos);
}

TEST(Trace, ThreadsRunApart) {
  const Program program = graph::trace({randn({64, 64})}, [](In in) {
    Tensor x = in[0];
    for (int i = 0; i < 10; ++i) x = (x.matmul(in[0]) * 0.01).tanh();
    return Results{x};
  });
  std::vector<std::thread> threads;
  std::vector<Tensor> inputs, found(4);
  for (int i = 0; i < 4; ++i) inputs.push_back(randn({64, 64}));
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 20; ++n)
        found[static_cast<size_t>(i)] = program({inputs[static_cast<size_t>(i)]})[0];
    });
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < 4; ++i) expect_same(found[i], program({inputs[i]})[0]);
}

// Ops without a kernel in the simulator arrive decomposed, and constants are moved to it.
TEST(Trace, OtherDevices) {
  // Builds without the simulator (for ThreadSanitizer) have no second device.
  const char* plugin = std::getenv("TENON_GRAPH_PLUGIN");
  if (plugin == nullptr) GTEST_SKIP() << "TENON_GRAPH_PLUGIN names no plugin with a device";
  const auto rows = [](In in) { return Results{(in[0] * 2).tanh() + 1}; };
  const Program sized = graph::trace({randn({4, 3})}, {{{0, {"rows"}}}}, rows);
  const Tensor some = randn({7, 3});
  const Tensor before = sized({some})[0];
  detail::check(tn_plugin_load(detail::to_str(plugin)));
  expect_same(sized({some})[0], before);  // lowered again, at its size
  const Device device = devices().back();
  nn::Sequential net(nn::Conv2d(3, 8, 3, {.padding = {1}}), nn::GroupNorm(2, 8), nn::GELU(),
                     nn::Flatten(), nn::Linear(8 * 8 * 8, 10));
  const Tensor x = randn({2, 3, 8, 8});
  const auto fn = [&](In in) { return Results{net(in[0]), in[0].softmax(1).cumsum(0)}; };
  const Program there = graph::trace({x}, fn, device);
  EXPECT_EQ(there.device(), device);
  EXPECT_EQ(there.info().bound, 0u);
  const auto wanted = graph::trace({x}, fn)({x}), found = there({x.to(device)});
  for (size_t k = 0; k < wanted.size(); ++k) {
    EXPECT_EQ(found[k].device(), device);
    EXPECT_LT((found[k].cpu() - wanted[k]).abs().max().item<float>(), 1e-5F);
  }
  EXPECT_NE(error_of([&] { there({x}); }).find("input 0 is on cpu:0, the graph on"),
            std::string::npos);
}

TEST(Trace, TheDeviceIsFoundByNameAlone) {
  graph::trace({ones({2})}, [](In in) { return Results{in[0] * 2}; });
  EXPECT_EQ(Device("trace:0").id(), "trace:0");
  for (const Device& device : devices()) EXPECT_NE(device.id(), "trace:0");
  EXPECT_NE(best_device().id(), "trace:0");
}

TEST(Trace, AutocastIsRecordedAndNotSeenAgain) {
  const Tensor w = randn({16, 16}), x = randn({5, 16});
  const auto product = [&](In in) {
    const amp::Autocast autocast("cpu");
    return Results{matmul(in[0], w)};
  };
  const Tensor wanted = product(std::vector{x})[0];
  EXPECT_EQ(wanted.dtype(), DType::BF16);
  const Program fixed = graph::trace({x}, product);
  const Program sized = graph::trace({randn({3, 16})}, {{{0, {"rows"}}}}, product);
  for (const bool around : {true, false, true}) {  // a first run at new sizes calls ops
    const amp::Autocast autocast("cpu", DType::F16, around);
    expect_same(fixed({x})[0], wanted);
    expect_same(sized({x})[0], wanted);
  }
}

TEST(Trace, ProgramsInsideTraces) {
  const Program inner = graph::trace({randn({3})}, [](In in) { return Results{in[0] * 2}; });
  expect_equal({randn({3})}, [&](In in) { return Results{inner({in[0]})[0] + 1}; });
}

}  // namespace
