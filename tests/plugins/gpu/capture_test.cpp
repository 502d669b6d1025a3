// tn.capture: graphs do what eager execution does, keep their memory, and refuse what they cannot record.
#include "tenon/capture.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>

#include "../vulkan/device.hpp"
#include "outcome.hpp"
#include "tenon/ext/draft/device.h"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

namespace {

using namespace tenon;
using test_vulkan::gpu;

// The message of the error that fn() throws.
test::Outcome outcome_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}
Tensor ramp(int64_t first, IntList shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return to((arange(first, first + count).to(DType::F32) * 0.37).sin().reshape(shape), gpu());
}

struct Net : nn::Module {
  nn::Linear a = add("a", nn::Linear(12, 16)), b = add("b", nn::Linear(16, 4));
  Tensor forward(const Tensor& x) override { return b(a(x).relu()); }
};

// A training step: forward, backward and the optimizer's step.
struct Training {
  Net net;
  std::unique_ptr<optim::Optimizer> optimizer;
  Tensor x, y, loss;
  Training() {
    manual_seed(3);
    net = Net();
    net.to(gpu());
    optimizer = std::make_unique<optim::SGD>(net.parameters(),
                                             optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
    x = zeros({8, 12}, DType::F32, gpu());
    y = zeros({8, 4}, DType::F32, gpu());
  }
  void feed(int64_t step) {
    NoGrad guard;
    x.copy_(ramp(100 * step, {8, 12}));
    y.copy_(ramp(100 * step + 50, {8, 4}));
  }
  void step() {
    optimizer->zero_grad();
    const Tensor error = net(x) - y;
    loss = (error * error).mean();
    loss.backward();
    optimizer->step();
  }
};

TEST(Capture, ATrainingStepGivesTheValuesOfEagerExecution) {
  Training eager, replayed;
  Graph graph;
  for (int64_t step = 0; step < 6; ++step) {
    eager.feed(step);
    replayed.feed(step);
    eager.step();
    if (step == 0) {  // creates the momentum
      replayed.step();
    } else {
      if (step == 1) {
        graph = capture(gpu(), [&] { replayed.step(); });
        EXPECT_GT(graph.nodes(), 10u);
      }
      graph.replay();
    }
    ASSERT_EQ(replayed.loss.item<float>(), eager.loss.item<float>()) << "step " << step;
    const auto expected = eager.net.parameters(), found = replayed.net.parameters();
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(found[i].to_vector<float>(), expected[i].to_vector<float>())
          << "step " << step << ", parameter " << i;
  }
}

// Captured steps beside eager ones: a changed rate, an eager step between replays, the saved state.
TEST(Capture, AdamCountsInReplays) {
  Training eager, replayed;
  for (Training* each : {&eager, &replayed})
    each->optimizer = std::make_unique<optim::AdamW>(
        each->net.parameters(), optim::AdamWOptions{.lr = 0.05, .weight_decay = 0.1});
  Graph graph;
  for (int64_t step = 0; step < 8; ++step) {
    if (step == 4)
      for (Training* each : {&eager, &replayed}) each->optimizer->set_lr(0.2);
    eager.feed(step);
    replayed.feed(step);
    eager.step();
    if (step == 1)
      graph = capture(gpu(), [&] {
        Tensor x = replayed.x;  // memory that is freed within the graph and used again
        for (int i = 0; i < 4; ++i) x = x.reshape({-1}).slice(0, 0, 1) * 1.5;
        replayed.step();
      });
    step == 0 || step == 5 ? replayed.step() : graph.replay();
    const auto expected = eager.net.parameters(), found = replayed.net.parameters();
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(found[i].to_vector<float>(), expected[i].to_vector<float>())
          << "step " << step << ", parameter " << i;
  }
  const optim::StateDict mine = replayed.optimizer->state_dict(),
                         theirs = eager.optimizer->state_dict();
  EXPECT_EQ(mine.at("state.0.step").item<int64_t>(), 8);
  for (const auto& [name, value] : theirs)
    EXPECT_EQ(mine.at(name).to(DType::F64).to_vector<double>(),
              value.to(DType::F64).to_vector<double>())
        << name;
}

TEST(Capture, AStepOfAnOptimizerThatChangedIsCapturedAgain) {
  Tensor a = ramp(0, {4}).requires_grad_(), b = ramp(1, {4}).requires_grad_();
  a.set_grad(ramp(2, {4}));
  b.set_grad(ramp(3, {4}));
  auto adam = std::make_unique<optim::Adam>(std::vector{a, b}, optim::AdamOptions{});
  adam->step();
  const auto captured = [&] { return capture(gpu(), [&] { adam->step(); }); };
  const auto expect_refused = [](const Graph& graph, const char* words) {
    const test::Outcome outcome = outcome_of([&] { graph.replay(); });
    EXPECT_EQ(outcome.code, uint32_t{TN_FAILED_PRECONDITION}) << outcome;
    EXPECT_NE(outcome.message.find(words), std::string::npos) << outcome;
  };
  Graph graph = captured();
  graph.replay();
  b.zero_grad();
  adam->step();  // of `a` alone
  expect_refused(graph, "steps of other parameters");
  b.set_grad(ramp(3, {4}));
  adam->load_state_dict(adam->state_dict());
  expect_refused(graph, "moved or loaded");
  adam = std::make_unique<optim::Adam>(std::vector{a, b}, optim::AdamOptions{});
  adam->step();
  graph = captured();
  graph.replay();
  adam = nullptr;
  expect_refused(graph, "gone");
}

TEST(Capture, NothingIsCalledBeforeReplaysOutsideOfACapture) {
  int called = 0;
  const Graph graph = capture(gpu(), [&] {
    EXPECT_TRUE(is_captured(gpu()));
    before_replay([&] { ++called; });
  });
  EXPECT_FALSE(is_captured(gpu()));
  EXPECT_EQ(called, 0);
  graph.replay();
  graph.replay();
  EXPECT_EQ(called, 2);
  EXPECT_EQ(outcome_of([] { before_replay([] {}); }).code, uint32_t{TN_FAILED_PRECONDITION});
}

TEST(Capture, NothingRunsUntilTheReplay) {
  const Tensor x = ramp(0, {33});
  Tensor sum = zeros({33}, DType::F32, gpu());
  const Graph graph = capture(gpu(), [&] { sum.add_(x); });
  EXPECT_EQ(sum.sum().item<float>(), 0);
  for (int i = 0; i < 3; ++i) graph.replay();
  EXPECT_EQ(sum.to_vector<float>(), (x + x + x).to_vector<float>());
}

TEST(Capture, NumbersAndListsOfTensorsAreTheGraphsOwn) {
  std::vector<Tensor> xs;
  for (int i = 0; i < 70; ++i) xs.push_back(ramp(i, {5}));  // more than one launch can take
  Tensor joined;
  {
    double factor = 3;
    const Graph graph = capture(gpu(), [&] {
      std::vector<Tensor> scaled;
      for (const Tensor& x : xs) scaled.push_back(x * factor);
      joined = concat(scaled, 0);
    });
    factor = 5;
    graph.replay();
    EXPECT_EQ(joined.to_vector<float>(), (concat(xs, 0) * 3).to_vector<float>());
  }
  EXPECT_EQ(joined.numel(), 350);
}

TEST(Capture, KeepsItsMemoryWhileItLives) {
  const Tensor x = ramp(0, {1000});
  Tensor out;
  const uint64_t before = gpu().memory().used;
  Graph graph = capture(gpu(), [&] {
    Tensor y = x;
    for (int i = 0; i < 8; ++i)
      y = (y * 1.25).sin();  // memory of intermediate results comes back and is used again
    out = y + 1;
  });
  // Only `out` is alive; everything else that the graph writes must belong to no other tensor.
  const uint64_t used = gpu().memory().used - before;
  EXPECT_TRUE(used >= 4000 && used <= 4096) << used;  // sanitizers round up less
  EXPECT_GE(graph.memory(), 2 * 4000u);
  EXPECT_LE(graph.memory(), 4 * 4096u);  // though 17 tensors were made
  gpu().trim_memory();                   // so that the next allocations ask the device
  std::vector<Tensor> others;
  for (int i = 0; i < 40; ++i) others.push_back(full({1000}, 7.0f, DType::F32, gpu()));
  graph.replay();
  const std::vector<float> expected(1000, 7.0f);
  for (const Tensor& other : others) ASSERT_EQ(other.to_vector<float>(), expected);
  const auto first = out.to_vector<float>();
  others.clear();
  gpu().trim_memory();
  graph.replay();
  EXPECT_EQ(out.to_vector<float>(), first);
  // A result may be released before its graph.
  out = Tensor();
  others.push_back(full({1000}, 7.0f, DType::F32, gpu()));
  graph.replay();
  EXPECT_EQ(others[0].to_vector<float>(), expected);
}

TEST(Capture, AResultOutlivesItsGraph) {
  const Tensor x = ramp(0, {100});
  Tensor out;
  {
    const Graph graph = capture(gpu(), [&] { out = x * 2; });
    graph.replay();
  }
  std::vector<Tensor> others;
  for (int i = 0; i < 20; ++i) others.push_back(zeros({100}, DType::F32, gpu()));
  EXPECT_EQ(out.to_vector<float>(), (x * 2).to_vector<float>());
}

TEST(Capture, ReplaysDrawTheNumbersOfCalls) {
  const Tensor x = ones({4, 6}, DType::F32, gpu());
  Tensor noise, dropped, order;
  const auto draw = [&] {
    noise = normal({5}, 0, 1, {}, gpu());
    dropped = dropout(x, 0.5, true);
    order = randperm(9, {}, gpu());
  };
  const auto drawn = [&] {
    auto all = noise.to_vector<float>();
    for (const Tensor& more : {dropped, order.to(DType::F32)})
      for (const float value : more.to_vector<float>()) all.push_back(value);
    all.push_back(uniform({1}, 0, 1, {}, gpu()).item<float>());  // eager draws between replays
    return all;
  };
  std::vector<std::vector<float>> expected;
  for (const uint64_t seed : {7, 8}) {
    manual_seed(seed);
    for (int k = 0; k < 3; ++k) {
      draw();
      expected.push_back(drawn());
    }
  }
  manual_seed(7);
  const Graph graph = capture(gpu(), draw);
  size_t k = 0;
  for (const uint64_t seed : {7, 8}) {
    manual_seed(seed);
    for (int i = 0; i < 3; ++i, ++k) {
      graph.replay();
      EXPECT_EQ(drawn(), expected[k]) << k;
    }
  }
  EXPECT_NE(expected[0], expected[1]);
}

TEST(Capture, OtherThreadsAreNotRecorded) {
  const Tensor x = ramp(0, {64});
  Tensor here, there, note;
  const Graph graph = capture(gpu(), [&] {
    here = x + 1;
    std::thread([&] {
      there = x + 2;
      note = there.cpu();  // runs, and may be waited for
      gpu().synchronize();
    }).join();
    here = here + 1;
  });
  EXPECT_EQ(note.to_vector<float>(), (x + 2).to_vector<float>());
  graph.replay();
  EXPECT_EQ(here.to_vector<float>(), (x + 1 + 1).to_vector<float>());
}

TEST(Capture, UnreplayableOpsAreRefusedByName) {
  const Tensor x = ramp(0, {16});
  const Tensor host = ones({16});
  Tensor param = ramp(0, {4}).requires_grad_();
  optim::Adam adam({param}, {});
  optim::Adagrad adagrad({param}, {.lr_decay = 0.1});
  param.set_grad(ramp(1, {4}));
  const std::pair<std::function<void()>, const char*> cases[] = {
      {[&] { x.sum().item<float>(); }, "a copy to the host"},
      {[&] { x.to_vector<float>(); }, "a copy to the host"},
      {[&] { to(host, gpu()); }, "a copy from host memory"},
      {[&] { nonzero(x); }, "[nonzero] a graph"},
      {[&] { normal({4}, 0, 1, {}, gpu(), Generator(3)); }, "a generator other"},
      {[&] { randperm(4, {}, gpu(), Generator(3)); }, "a generator other"},
      {[&] { gpu().synchronize(); }, "a wait for the device"},
      {[&] { adam.step(); }, "[Adam] the first step of these parameters makes its memory"},
      {[&] { adagrad.step(); }, "depends on its number"},
      {[&] { capture(gpu(), [] {}); }, "captures a graph"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.second);
    const test::Outcome outcome = outcome_of([&] { capture(gpu(), one.first); });
    EXPECT_EQ(outcome.code, uint32_t{TN_FAILED_PRECONDITION}) << outcome;
    EXPECT_NE(outcome.message.find(one.second), std::string::npos) << outcome;
    // The device keeps working, and so does the next capture.
    Tensor y;
    const Graph graph = capture(gpu(), [&] { y = x + 1; });
    graph.replay();
    EXPECT_EQ(y.to_vector<float>(), (x + 1).to_vector<float>());
  }
}

TEST(Capture, ACaughtRefusalKeepsTheRecordingValid) {
  const Tensor x = ramp(0, {16});
  Tensor y;
  const Graph graph = capture(gpu(), [&] {
    y = x + 1;
    EXPECT_EQ(outcome_of([&] { y.to_vector<float>(); }).code, uint32_t{TN_FAILED_PRECONDITION});
    y = y * 2;
  });
  graph.replay();
  EXPECT_EQ(y.to_vector<float>(), ((x + 1) * 2).to_vector<float>());
}

TEST(Capture, AnExceptionInTheBodyEndsIt) {
  const uint64_t used = gpu().memory().used;
  const Tensor x = ramp(0, {16});
  Tensor sum = zeros({16}, DType::F32, gpu());
  EXPECT_THROW(capture(gpu(),
                       [&] {
                         sum.add_(x);
                         throw std::runtime_error("from the body");
                       }),
               std::runtime_error);
  EXPECT_EQ(tn_device_redirected(), nullptr);
  EXPECT_EQ(sum.sum().item<float>(), 0);
  EXPECT_EQ((x + x).to_vector<float>(), (x * 2).to_vector<float>());
  EXPECT_EQ(gpu().memory().used, used + 2 * 64);
}

TEST(Capture, IndicesAreCheckedAtEachReplay) {
  const Tensor x = ramp(0, {10});
  Tensor index = zeros({3}, DType::I64, gpu()), out;
  Graph graph = capture(gpu(), [&] { out = take(x, index); });
  graph.replay();
  gpu().synchronize();
  index.copy_(to(tensor<int64_t>({1, 99, 2}), gpu()));
  graph.replay();
  const test::Outcome outcome = outcome_of([] { gpu().synchronize(); });
  EXPECT_EQ(outcome.code, uint32_t{TN_OUT_OF_RANGE}) << outcome;
  EXPECT_NE(outcome.message.find("index 99"), std::string::npos) << outcome;
  graph.replay();
  graph.reset();  // the error that it found is reported all the same
  EXPECT_EQ(outcome_of([] { gpu().synchronize(); }).code, uint32_t{TN_OUT_OF_RANGE});
  gpu().synchronize();
}

TEST(Capture, GraphsThatAreGoneOrOfOtherDevicesAreErrors) {
  Graph graph = capture(gpu(), [] {});
  EXPECT_EQ(graph.nodes(), 0u);
  graph.replay();
  Graph moved = std::move(graph);
  moved.replay();
  moved.reset();
  moved.reset();
  EXPECT_EQ(outcome_of([&] { moved.replay(); }).code, uint32_t{TN_FAILED_PRECONDITION});
  const Graph inner = capture(gpu(), [] {});
  EXPECT_EQ(outcome_of([&] { capture(gpu(), [&] { inner.replay(); }); }).code,
            uint32_t{TN_FAILED_PRECONDITION});
  const test::Outcome cpu = outcome_of([] { capture(Device("cpu"), [] {}); });
  EXPECT_EQ(cpu.code, uint32_t{TN_UNIMPLEMENTED}) << cpu;
  const std::string type(gpu().id().substr(0, gpu().id().find(':')));
  EXPECT_NE(cpu.message.find("device types that can: " + type), std::string::npos) << cpu;
  EXPECT_FALSE(can_capture(Device("cpu")));
  EXPECT_TRUE(can_capture(gpu()));
}

}  // namespace
