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

}  // namespace
}  // namespace tenon::testing
