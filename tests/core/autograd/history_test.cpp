// What a program may see of the tape.
#include "tenon/history.h"
#include "support.hpp"

namespace tenon::testing {
namespace {

struct Seen {
  tn_step step{sizeof(tn_step), 0, 0, 0, 0};
  std::vector<Tensor> places;
};

Seen look(const Tensor& x) {
  Seen seen;
  detail::check(tn_tensor_step(x.get(), &seen.step, nullptr, 0));
  std::vector<tn_tensor*> handles(1 + seen.step.operands);
  detail::check(
      tn_tensor_step(x.get(), &seen.step, handles.data(), static_cast<uint32_t>(handles.size())));
  for (tn_tensor* handle : handles) seen.places.push_back(Tensor::adopt(handle));
  return seen;
}

TEST(History, LeadsFromAResultToItsLeaves) {
  Tensor x = leaf({1, 2}), plain = tensor({3.f, 4.f});
  const Tensor y = exp(x * plain);
  const Seen last = look(y);
  ASSERT_EQ(last.places.size(), 2u);
  EXPECT_EQ(last.places[0].grad_fn_name(), "exp");
  EXPECT_EQ(look(last.places[0]).step.id, last.step.id);
  const Seen product = look(last.places[1]);
  EXPECT_EQ(product.places[0].grad_fn_name(), "mul");
  ASSERT_EQ(product.step.operands, 2u);
  EXPECT_FALSE(product.places[2].defined()) << "no gradient flows to a constant";
  const Seen end = look(product.places[1]);
  EXPECT_EQ(product.places[1].get(), x.get()) << "a leaf stands for itself";
  EXPECT_EQ(end.step.operands, 0u);
  EXPECT_EQ(end.step.id, look(x).step.id);
  EXPECT_NE(end.step.id, product.step.id);
}

TEST(History, ResultsOfOneCallShareAStep) {
  Tensor x = leaf({3, 1, 2});
  const auto found = topk(x, 2);
  EXPECT_EQ(look(found.values).step.result, 0u);
  EXPECT_ERROR(look(found.indices), "[step]", "requires no gradient");
  EXPECT_EQ(look(found.values).places[0].shape(0), 2);
}

TEST(History, PlacesStandForWhatIsGone) {
  Tensor x = leaf({1, 2});
  Seen seen;
  {
    Tensor y = x * 2;
    const Tensor z = y * y;
    seen = look(z);
    y.add_(1);  // another step
    EXPECT_NE(look(y).step.id, look(seen.places[1]).step.id);
  }
  const Tensor place = seen.places[1];
  EXPECT_EQ(values(place), (Values{0, 0}));
  EXPECT_EQ(place.dtype(), DType::F32);
  EXPECT_EQ(values(gradient({place}, {x}, {tensor({1.f, 10.f})})[0]), (Values{2, 20}));
}

TEST(History, OfALeafThatIsGone) {
  const Tensor y = leaf({1, 2}) * 2;
  const Tensor place = look(y).places[1];
  EXPECT_EQ(place.grad_fn_name(), "leaf");
  EXPECT_EQ(values(place), (Values{0, 0}));
  EXPECT_EQ(look(place).step.operands, 0u);
}

TEST(History, OfATensorWithoutGradient) {
  EXPECT_ERROR(look(tensor({1.f})), "[step]", "requires no gradient");
  tn_step old{offsetof(tn_step, operands), 9, 9, 9, 9};
  Tensor x = leaf({1});
  ASSERT_EQ(tn_tensor_step((x * x).get(), &old, nullptr, 0), nullptr);
  EXPECT_EQ(old.operands, 9u) << "beyond struct_size";
  EXPECT_NE(old.id, 9u);
}

// ---- What steps keep, and hooks of steps -------------------------------------------------------

std::vector<std::pair<std::string, Tensor>> kept(const Tensor& x) {
  std::vector<std::pair<std::string, Tensor>> found;
  for (uint32_t i = 0;; ++i) {
    tn_saved saved{sizeof(tn_saved), 0, {nullptr, 0}, nullptr};
    detail::check(tn_tensor_saved(x.get(), i, &saved));
    if (saved.tensor == nullptr) return found;
    found.emplace_back(std::string(saved.name.data, saved.name.size) + std::to_string(saved.entry),
                       Tensor::adopt(saved.tensor));
  }
}

TEST(History, ShowsWhatAStepKeeps) {
  Tensor x = leaf({1, 2});
  const Tensor y = x * tensor({3.f, 4.f});
  const auto found = kept(y);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, "y0");
  EXPECT_EQ(values(found[0].second), (Values{3, 4}));
  const auto result = kept(exp(x));
  ASSERT_EQ(result.size(), 1u);
  EXPECT_EQ(result[0].second.grad_fn_name(), "exp");
  EXPECT_TRUE(kept(x).empty()) << "a leaf keeps nothing";
  tn_saved saved{sizeof(tn_saved), 0, {nullptr, 0}, nullptr};
  EXPECT_ERROR(detail::check(tn_tensor_saved(tensor({1.f}).get(), 0, &saved)), "[saved]",
               "requires no gradient");
}

TEST(History, WhatAStepKeptIsFreedOrChanged) {
  Tensor x = leaf({1, 2});
  tn_saved saved{sizeof(tn_saved), 0, {nullptr, 0}, nullptr};
  const Tensor y = exp(x);
  sum(y).backward();
  EXPECT_ERROR(detail::check(tn_tensor_saved(y.get(), 0, &saved)), "[exp]", "freed");
  Tensor z = x * 1;
  const Tensor s = sin(z);
  z.add_(1);
  EXPECT_ERROR(detail::check(tn_tensor_saved(s.get(), 0, &saved)), "[sin]", "changed in place");
}

struct Watch {
  std::vector<Values> passed, arrived;
  float factor = 1;
};

tn_status* watch(void* ctx, tn_tensor* const* passed, uint32_t operands, tn_tensor* const* arrived,
                 uint32_t results, tn_tensor** replacements) {
  auto& seen = *static_cast<Watch*>(ctx);
  for (uint32_t i = 0; i < results; ++i) seen.arrived.push_back(values(Tensor::share(arrived[i])));
  for (uint32_t i = 0; i < operands; ++i) {
    if (passed[i] == nullptr) continue;
    seen.passed.push_back(values(Tensor::share(passed[i])));
    if (seen.factor != 1) replacements[i] = (Tensor::share(passed[i]) * seen.factor).take();
  }
  return nullptr;
}

TEST(History, HooksOfStepsSeeAndReplaceWhatIsPassedOn) {
  Tensor x = leaf({1, 2});
  Watch seen{.passed = {}, .arrived = {}, .factor = 10};
  uint64_t id = 0;
  Tensor y = x * tensor({3.f, 4.f});
  detail::check(tn_tensor_add_step_hook(y.get(), watch, &seen, nullptr, &id));
  sum(y * 2).backward();
  EXPECT_EQ(seen.arrived, (std::vector<Values>{{2, 2}}));
  EXPECT_EQ(seen.passed, (std::vector<Values>{{6, 8}}));
  EXPECT_EQ(values(x.grad()), (Values{60, 80}));
  y = x * tensor({2.f, 2.f});
  detail::check(tn_tensor_add_step_hook(y.get(), watch, &seen, nullptr, &id));
  EXPECT_EQ(values(gradient(sum(y), x)), (Values{20, 20}));
  y = x * tensor({2.f, 2.f});
  detail::check(tn_tensor_add_step_hook(y.get(), watch, &seen, nullptr, &id));
  detail::check(tn_tensor_remove_hook(y.get(), id));
  EXPECT_EQ(values(gradient(sum(y), x)), (Values{2, 2}));
  EXPECT_EQ(seen.passed.size(), 2u);
  EXPECT_ERROR(detail::check(tn_tensor_add_step_hook(x.get(), watch, &seen, nullptr, &id)),
               "[hook]", "leaf");
}

}  // namespace
}  // namespace tenon::testing
