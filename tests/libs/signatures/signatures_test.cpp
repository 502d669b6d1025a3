// Checks every class and function of nn and optim against libs/signatures.toml, from which tools/generate_signatures.py makes the calls.
// tests/python/nn/test_signatures.py does the same in Python.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <type_traits>

#include "../scratch.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

namespace tenon {
namespace {

// A parameter of two elements that has a gradient.
std::vector<Tensor> trained() {
  Tensor w = tensor({1.f, 2.f}).requires_grad_();
  w.set_grad(tensor({0.5f, 0.25f}));
  return {w};
}

// Schedules that live as long as the program.
std::vector<std::reference_wrapper<optim::LRScheduler>> exponential(optim::Optimizer& optimizer,
                                                                    int count) {
  static std::deque<optim::ExponentialLR> kept;
  std::vector<std::reference_wrapper<optim::LRScheduler>> made;
  for (int i = 0; i < count; ++i) made.emplace_back(kept.emplace_back(optimizer, 0.5));
  return made;
}

template <class Optimizer>
Optimizer after_a_step(Optimizer optimizer) {
  optimizer.step();
  return optimizer;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// "bias f32 (2), weight f32 (2, 3)"
template <class Owner>
std::string state_of(const Owner& owner) {
  std::vector<std::string> lines;
  for (const auto& [name, x] : owner.state_dict()) {
    std::vector<std::string> sizes;
    for (const int64_t size : x.shape()) sizes.push_back(std::to_string(size));
    lines.push_back(name + ' ' + std::string(name_of(x.dtype())) + " (" + joined(sizes) + ')');
  }
  return joined(lines);
}

template <class Scheduler>
std::string keys_of(const Scheduler& scheduler) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : scheduler.state_dict()) keys.push_back(key);
  return joined(keys);
}

template <class Fn>
void expect_same(const char* wanted, Fn&& fn) {
  EXPECT_NO_THROW(EXPECT_EQ(fn(), wanted));
}
template <class Fn>
void expect_taken(Fn&& fn) {
  EXPECT_EQ(error_of(fn), "");
}
template <class Fn>
void expect_refused(const char* message, Fn&& fn) {
  EXPECT_EQ(error_of(fn), message);
}
// The op behind the loss has the option, with the same default.
void expect_option(const char* op, const std::string& option) {
  const std::string schema(Op(op).schema());
  EXPECT_NE(schema.find(option), std::string::npos) << option << " is not in " << schema;
}

#include "signatures.inc"

}  // namespace
}  // namespace tenon
