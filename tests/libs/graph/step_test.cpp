// Training steps recorded as programs. Over many steps they leave the same bits as eager steps in parameters, buffers and optimizer state,
// and they may alternate with eager steps.
#include <gtest/gtest.h>

#include <filesystem>

#include "observed.hpp"
#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"
#include "tenon/graph_step.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"
#include "tenon/random.hpp"

namespace {

using namespace tenon;
using In = std::span<const Tensor>;
using Results = std::vector<Tensor>;
using tenon::test::bytes_of;
using tenon::test::error_of;

// A network, its optimizer and its step, always made from the same seed.
struct Training {
  nn::Sequential net;
  std::unique_ptr<optim::Optimizer> optimizer;
  bool clips = false;

  Results operator()(In in) {
    optimizer->zero_grad();
    const Tensor loss = cross_entropy(net(in[0]), in[1]);
    loss.backward();
    if (clips) optim::clip_grad_norm_(optimizer->parameters(), 0.5);
    optimizer->step();
    return {loss};
  }
};

nn::Sequential mlp() {
  manual_seed(3);
  return nn::Sequential(nn::Linear(12, 16), nn::Tanh(), nn::Linear(16, 5));
}

nn::Sequential convolutional() {
  manual_seed(3);
  return nn::Sequential(nn::Conv2d(2, 6, 3, {.padding = {1}}), nn::BatchNorm2d(6), nn::ReLU(),
                        nn::Dropout(0.25), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(6 * 9, 5));
}

template <class Optimizer, class... Options>
Training training(nn::Sequential net, Options... options) {
  std::vector<Tensor> params;
  for (const auto& [name, param] : net.named_parameters()) params.push_back(param);
  return {std::move(net), std::make_unique<Optimizer>(params, options...)};
}

std::map<std::string, Tensor> all_of(const Training& training) {
  std::map<std::string, Tensor> all = training.optimizer->state_dict();
  for (const auto& [name, tensor] : training.net.state_dict()) all.emplace(name, tensor);
  return all;
}

void expect_same(const Training& a, const Training& b) {
  const auto left = all_of(a), right = all_of(b);
  ASSERT_EQ(left.size(), right.size());
  for (const auto& [name, tensor] : left)
    EXPECT_EQ(bytes_of(tensor), bytes_of(right.at(name))) << name;
}

Results batch_of(uint64_t seed, bool pictures) {
  manual_seed(seed);
  const Tensor x = pictures ? randn({7, 2, 6, 6}) : randn({7, 12});
  return {x, randint({7}, 0, 5)};
}

// `steps` steps of both on the same batches; where `eagerly(i)` is true, the recorded one also runs eagerly.
template <class Make>
void compare(
    Make&& make, bool pictures = false, int steps = 12,
    const std::function<bool(int)>& eagerly = [](int) { return false; }) {
  Training eager = make(), other = make();
  graph::Step step([&](In in) { return other(in); });
  for (int i = 0; i < steps; ++i) {
    const Results batch = batch_of(static_cast<uint64_t>(i), pictures);
    const double rate = 0.05 / (1 + i);
    eager.optimizer->set_lr(rate), other.optimizer->set_lr(rate);
    const Tensor wanted = eager(batch)[0];
    batch_of(static_cast<uint64_t>(i), pictures);  // draws the same numbers as before
    const Tensor found = eagerly(i) ? other(batch)[0] : step(batch)[0];
    EXPECT_EQ(bytes_of(wanted), bytes_of(found)) << "step " << i;
  }
  EXPECT_TRUE(step.program(batch_of(0, pictures)).defined());
  expect_same(eager, other);
}

TEST(Step, EveryOptimizer) {
  compare([] { return training<optim::SGD>(mlp()); });
  compare([] {
    return training<optim::SGD>(mlp(), optim::SGDOptions{.momentum = 0.9, .weight_decay = 1e-3});
  });
  compare([] {
    return training<optim::SGD>(mlp(), optim::SGDOptions{.momentum = 0.9, .nesterov = true});
  });
  compare([] { return training<optim::Adam>(mlp()); });
  compare([] { return training<optim::Adam>(mlp(), optim::AdamOptions{.amsgrad = true}); });
  compare([] { return training<optim::AdamW>(mlp()); });
  compare([] {
    return training<optim::RMSprop>(mlp(),
                                    optim::RMSpropOptions{.momentum = 0.5, .centered = true});
  });
  compare([] { return training<optim::Adagrad>(mlp(), optim::AdagradOptions{.lr_decay = 0.01}); });
}

TEST(Step, NormsDropoutAndClipping) {
  compare([] { return training<optim::SGD>(convolutional(), optim::SGDOptions{.momentum = 0.9}); },
          true);
  compare(
      [] {
        Training made = training<optim::AdamW>(convolutional());
        made.clips = true;
        return made;
      },
      true);
}

TEST(Step, EagerStepsMayLieBetween) {
  compare([] { return training<optim::Adam>(mlp()); }, false, 12,
          [](int i) { return i == 4 || i == 5 || i == 9; });
}

TEST(Step, GradientsDieInside) {
  Training made = training<optim::SGD>(mlp());
  graph::Step step([&](In in) { return made(in); });
  for (int i = 0; i < 3; ++i) step(batch_of(1, false));
  for (const Tensor& param : made.optimizer->parameters()) EXPECT_FALSE(param.grad().defined());
}

TEST(Step, WritesRaiseVersions) {
  Training made = training<optim::SGD>(mlp());
  graph::Step step([&](In in) { return made(in); });
  for (int i = 0; i < 2; ++i) step(batch_of(1, false));
  const Tensor weight = made.optimizer->parameters()[0];
  const Tensor y = weight.square().sum();  // reads the weight in the backward pass
  step(batch_of(1, false));
  EXPECT_NE(error_of([&] { y.backward(); }).find("changed"), std::string::npos)
      << error_of([&] { y.backward(); });
}

TEST(Step, NewShapesAndOptionsAreRecordedAgain) {
  Training eager = training<optim::SGD>(mlp(), optim::SGDOptions{.momentum = 0.9}),
           other = training<optim::SGD>(mlp(), optim::SGDOptions{.momentum = 0.9});
  graph::Step step([&](In in) { return other(in); });
  for (int i = 0; i < 9; ++i) {
    const int64_t rows = i % 3 == 2 ? 4 : 7;
    Results batch = batch_of(static_cast<uint64_t>(i), false);
    for (Tensor& x : batch) x = x.narrow(0, 0, rows);
    if (i == 6)
      for (Training* one : {&eager, &other})
        dynamic_cast<optim::SGD&>(*one->optimizer).groups()[0].options.weight_decay = 0.1;
    EXPECT_EQ(bytes_of(eager(batch)[0]), bytes_of(step(batch)[0])) << i;
  }
  expect_same(eager, other);
}

TEST(Step, LoadedStateIsTaken) {
  Training made = training<optim::Adam>(mlp());
  graph::Step step([&](In in) { return made(in); });
  for (int i = 0; i < 3; ++i) step(batch_of(1, false));
  optim::StateDict state;
  for (const auto& [name, tensor] : made.optimizer->state_dict()) state[name] = tensor.clone();
  optim::StateDict weights;
  for (const auto& [name, tensor] : made.net.state_dict()) weights[name] = tensor.clone();
  const auto wanted = bytes_of(step(batch_of(2, false))[0]);
  const auto then = all_of(made);
  std::map<std::string, std::vector<char>> bytes;
  for (const auto& [name, tensor] : then) bytes[name] = bytes_of(tensor);
  made.optimizer->load_state_dict(state);
  made.net.load_state_dict(weights);
  EXPECT_EQ(bytes_of(step(batch_of(2, false))[0]), wanted);
  for (const auto& [name, tensor] : all_of(made)) EXPECT_EQ(bytes_of(tensor), bytes[name]) << name;
}

TEST(Step, AProgramOfAFileTrainsOn) {
  Training made = training<optim::AdamW>(convolutional());
  graph::Step step([&](In in) { return made(in); });
  const Results batch = batch_of(1, true);
  for (int i = 0; i < 4; ++i) step(batch);
  const auto path =
      (std::filesystem::temp_directory_path() / "tenon_step_test.safetensors").string();
  step.program(batch).save(path);
  graph::Program other = graph::load(path);
  std::filesystem::remove(path);
  EXPECT_GT(other.info().state, 0u);
  EXPECT_EQ(other.numbers().at("optimizer0.group.0.lr"), 1e-3);
  EXPECT_EQ(other.numbers().at("optimizer0.group.0.step"), 5);
  for (int i = 0; i < 5; ++i) {
    if (i == 3) made.optimizer->set_lr(0.01), other.set_number("optimizer0.group.0.lr", 0.01);
    manual_seed(9);
    const auto wanted = bytes_of(step(batch)[0]);
    manual_seed(9);
    EXPECT_EQ(bytes_of(other(batch)[0]), wanted) << i;
  }
  EXPECT_NE(error_of([&] { other.set_number("lr", 1); }).find("no number is called lr"),
            std::string::npos);
}

TEST(Step, BakedInValuesAreRefused) {
  const Results batch = batch_of(1, false);
  const auto refused = [&](const std::function<void(Training&, const Tensor&)>& change) {
    Training made = training<optim::SGD>(mlp());
    graph::Step step([&](In in) {
      made.optimizer->zero_grad();
      const Tensor loss = cross_entropy(made.net(in[0]), in[1]);
      change(made, loss);
      made.optimizer->step();
      return Results{loss};
    });
    const auto bytes = [&] {
      std::vector<std::vector<char>> all;
      for (const auto& [name, tensor] : all_of(made)) all.push_back(bytes_of(tensor));
      return all;
    };
    step(batch);
    const auto before = bytes();
    std::string said = error_of([&] { step(batch); });
    EXPECT_TRUE(said.empty() || bytes() == before) << "a refused step changed something";
    return said;
  };
  int calls = 0;
  EXPECT_NE(refused([&](Training&, const Tensor& loss) {
              (loss * (0.1 * ++calls)).backward();
            }).find("[graph] mul: its argument"),
            std::string::npos);
  EXPECT_NE(refused([](Training&, const Tensor& loss) {
              loss.item<float>(), loss.backward();
            }).find("is read while a function is traced"),
            std::string::npos);
  Tensor memory = zeros({2});
  EXPECT_EQ(refused([&](Training&, const Tensor& loss) {
              loss.backward();
              memory += 1;
            }),
            "");
  EXPECT_EQ(memory.to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(Step, GradientsOfStepsBeforeAreRefused) {
  Training made = training<optim::SGD>(mlp());
  graph::Step accumulate([&](In in) {
    const Tensor loss = cross_entropy(made.net(in[0]), in[1]);
    loss.backward();
    return Results{loss};
  });
  const Results batch = batch_of(1, false);
  accumulate(batch);
  EXPECT_NE(error_of([&] { accumulate(batch); }).find("zero_grad()"), std::string::npos);
}

TEST(Step, MemoryThatIsNotThereYet) {
  Training made = training<optim::Adam>(mlp());
  graph::Step step([&, first = true](In in) mutable {
    if (std::exchange(first, false)) return Results{in[0]};
    return made(in);
  });
  const Results batch = batch_of(1, false);
  step(batch);
  EXPECT_NE(error_of([&] { step(batch); }).find("no state yet"), std::string::npos);
  EXPECT_EQ(made.optimizer->state_dict().size(), 5u);  // only the options
}

TEST(Step, WritesIntoInputs) {
  Tensor weight = ones({3});
  weight.requires_grad_();
  optim::SGD sgd({weight});
  graph::Step step([&](In in) {
    sgd.zero_grad();
    Tensor x = in[0];
    (x * weight).sum().backward();
    sgd.step();
    x += 1;
    return Results{x};
  });
  for (int i = 0; i < 3; ++i) {
    const Tensor x = ones({3});
    EXPECT_EQ(step({x})[0].to_vector<float>(), std::vector<float>(3, 2));
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(3, 2));
  }
  EXPECT_NE(error_of([&] {
              step({ones({3, 2}).select(1, 0)});
            }).find("is not contiguous"),
            std::string::npos);
}

}  // namespace
