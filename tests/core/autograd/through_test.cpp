// Ops that are differentiated through their decomposition must refuse the same calls whether or not they are recorded.
#include <gtest/gtest.h>

#include "tenon/tenon.hpp"

namespace {

using tenon::Tensor;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return "";
}

// Calls the op with g (argument 0) recorded and unrecorded: both refuse with the same message, which names the op.
void expect_same_refusal(const std::string& op, const std::function<void(const Tensor& g)>& call,
                         Tensor g) {
  const std::string plain = refusal([&] { call(g); });
  g.requires_grad_();
  const std::string recording = refusal([&] { call(g); });
  EXPECT_EQ(plain, recording);
  EXPECT_TRUE(plain.starts_with("[" + op + "]")) << plain;
}

Tensor ones(std::initializer_list<int64_t> shape) { return tenon::ones(shape); }

TEST(Through, NormalisationsOfTooFewDimensions) {
  expect_same_refusal(
      "batch_norm_backward",
      [](const Tensor& g) { batch_norm_backward(g, ones({}), ones({}), ones({}), {}, true); },
      ones({}));
  expect_same_refusal(
      "group_norm_backward",
      [](const Tensor& g) { group_norm_backward(g, ones({3}), ones({3}), ones({3}), {}, 1); },
      ones({3}));
  expect_same_refusal(
      "layer_norm_backward",
      [](const Tensor& g) {
        layer_norm_backward(g, ones({}), ones({}), ones({}), {}, {2, 2});
      },
      ones({}));
}

TEST(Through, GroupsThatDoNotDivide) {
  for (const int64_t groups : {0, -1, 2})
    expect_same_refusal(
        "group_norm_backward",
        [=](const Tensor& g) {
          group_norm_backward(g, ones({2, 3, 4}), ones({2, 3}), ones({2, 3}), {}, groups);
        },
        ones({2, 3, 4}));
}

TEST(Through, ShapesThatDiffer) {
  for (const int64_t dim : {0, 5})
    expect_same_refusal(
        "softmax_backward",
        [=](const Tensor& g) {
          softmax_backward(g, ones({2, 3}), dim);
        },
        ones({3}));
}

TEST(Through, AttentionWithoutHeadsOfKeys) {
  const Tensor q = ones({1, 2, 3, 4}), k = ones({1, 0, 5, 4}), lse = ones({1, 2, 3});
  expect_same_refusal(
      "attention_backward",
      [&](const Tensor& g) { attention_backward(g, q, k, k, q, lse, {}, {}, false, {}); },
      q.clone());
}

}  // namespace
