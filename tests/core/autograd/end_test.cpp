// Functions that are called when a backward pass is over (tn_backward_on_end).
#include <gtest/gtest.h>

#include <cstdlib>

#include "support.hpp"

namespace tenon::testing {
namespace {

// A hook on `x` requests that `name` is logged at the end.
class AtEnd {
 public:
  AtEnd(Tensor& x, std::string name, uint32_t error = TN_OK)
      : name_(std::move(name)), error_(error) {
    detail::check(tn_tensor_add_hook(
        x.get(),
        [](void* self, tn_tensor*, tn_tensor**) { return static_cast<AtEnd*>(self)->ask(); }, this,
        nullptr, nullptr));
  }
  static inline std::string log;
  static inline Tensor watched;  // its gradient must be there at the end

 private:
  tn_status* ask() {
    return tn_backward_on_end(
        [](void* self) { return static_cast<AtEnd*>(self)->done(); }, this,
        [](void* self) { log += "~" + static_cast<AtEnd*>(self)->name_ + " "; });
  }
  tn_status* done() const {
    log += name_ + (watched.defined() && watched.grad().defined() ? "! " : " ");
    return error_ == TN_OK ? nullptr : tn_status_make(error_, detail::to_str("not in time"));
  }
  std::string name_;
  uint32_t error_;
};

class BackwardEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    AtEnd::log.clear();
    AtEnd::watched = Tensor();
  }
};

TEST_F(BackwardEnd, ComesWhenEveryGradientIsInItsPlace) {
  Tensor x = leaf({1, 2}), y = leaf({3, 4});
  const Tensor product = x * y;
  Tensor twice = product * 2;
  AtEnd first(twice, "first"), second(x, "second");
  AtEnd::watched = x;
  twice.sum().backward();
  EXPECT_EQ(AtEnd::log, "first! second! ~first ~second ");
}

TEST_F(BackwardEnd, AnErrorIsThatOfThePass) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  AtEnd late(y, "late", TN_TIMEOUT), never(x, "never");
  EXPECT_ERROR(y.sum().backward(), "not in time");
  EXPECT_EQ(AtEnd::log, "late ~late ~never ");
}

TEST_F(BackwardEnd, AFailedPassCallsNothing) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2;
  const Tensor z = y.detach();
  Lambda fails{[](const Tensor&) -> Tensor { throw Error(TN_CANCELLED, "[lambda] no"); }};
  fails.record(y, z);
  Tensor last = z * 1;
  AtEnd end(last, "end");
  EXPECT_ERROR(last.sum().backward(), "[lambda] no");
  EXPECT_EQ(AtEnd::log, "~end ");
}

TEST_F(BackwardEnd, ANestedPassEndsWithTheOutermost) {
  Tensor inner = leaf({1, 2}), outer = leaf({5});
  AtEnd end(inner, "inner");
  Tensor y = outer * 2;
  const Tensor z = y.detach(), loss = (inner * 3).sum();
  Lambda nested{[&](const Tensor& gradient) {
    loss.backward();
    EXPECT_EQ(AtEnd::log, "");
    return gradient;
  }};
  nested.record(y, z);
  AtEnd::watched = outer;
  (z * 1).sum().backward();
  EXPECT_EQ(AtEnd::log, "inner! ~inner ");
}

// As a plugin for distributed training waits there for its peers.
TEST_F(BackwardEnd, APluginInCMayAskForItFromAGradient) {
  load_plugin(std::getenv("TENON_TEST_PLUGIN"));
  const void* found = nullptr;
  detail::check(
      tn_plugin_interface(detail::to_str("test.ops"), detail::to_str("test.ends"), 1, &found));
  const auto& ends = *static_cast<const uint32_t*>(found);
  Tensor x = leaf({1, 2});
  const auto reduced = [&](uint32_t answer) {
    return call("test.reduced", x * 3, static_cast<int64_t>(answer)).sum();
  };
  reduced(TN_OK).backward();
  EXPECT_EQ(grad_of(x), (Values{3, 3}));
  EXPECT_EQ(ends, 1u);
  for (const uint32_t answer : {TN_TIMEOUT, TN_PEER_LOST}) {
    try {
      reduced(answer).backward();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), answer);
      EXPECT_STREQ(error.what(), "rank 3 does not answer");
    }
  }
  EXPECT_EQ(ends, 3u);
}

TEST_F(BackwardEnd, IsRefusedOutsideOfAPass) {
  tn_status* status =
      tn_backward_on_end([](void*) -> tn_status* { return nullptr; }, nullptr, nullptr);
  EXPECT_EQ(tn_status_code(status), TN_FAILED_PRECONDITION);
  tn_status_release(status);
}

}  // namespace
}  // namespace tenon::testing
