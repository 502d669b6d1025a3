// Storage whose bytes are released and restored, through the C functions of tenon/tensor.h.
#include <gtest/gtest.h>

#include <cstring>

#include "observed.hpp"
#include "outcome.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

using tenon::test::error_of;

struct Storage : ::testing::TestWithParam<
                     int64_t> {  // elements: few enough for the header's block, and too many
  Tensor x = zeros({GetParam()}) + 3;
};
INSTANTIATE_TEST_SUITE_P(Sizes, Storage, ::testing::Values(4, 1000));

std::string refusal(tn_status* status) {
  std::string message(detail::to_view(tn_status_message(status)));
  EXPECT_EQ(tn_status_code(status), status == nullptr ? TN_OK : TN_FAILED_PRECONDITION) << message;
  tn_status_release(status);
  return message;
}

// Fills with a number, through an op.
tn_status* fill_with(void* number, tn_tensor* tensor) {
  return detail::guarded("fill", [&] {
    Tensor::share(tensor).copy_(
        full_like(Tensor::share(tensor).detach(), *static_cast<float*>(number)));
  });
}
tn_status* fail_to_fill(void*, tn_tensor*) {
  return tn_status_make(TN_IO, detail::to_str("the disk is gone"));
}
// The fill fails with TN_IO; x has no elements then, and can still be filled.
void expect_failed_fill(const Tensor& x, tn_status* (*fill)(void*, tn_tensor*)) {
  tn_status* status = tn_storage_restore(x.get(), fill, nullptr);
  EXPECT_EQ(tn_status_code(status), TN_IO);
  tn_status_release(status);
  EXPECT_EQ(tn_tensor_data(x.get()), nullptr);
  float one = 1;
  detail::check(tn_storage_restore(x.get(), fill_with, &one));
  EXPECT_EQ(x.to_vector<float>()[0], 1);
}

TEST_P(Storage, ViewsFollowTheirBytes) {
  detail::check(tn_storage_track(x.get()));
  const Tensor part = x.narrow(0, 1, 2), same = x.detach();
  detail::check(tn_storage_release(x.get()));
  for (const Tensor& each : {x, part, same}) {
    EXPECT_EQ(tn_tensor_data(each.get()), nullptr);
    EXPECT_TRUE(tn_tensor_is_contiguous(each.get()));
    EXPECT_NE(tn_tensor_view(each.get())->flags & TN_VIEW_RELEASED, 0u);
  }
  float seven = 7;
  detail::check(tn_storage_restore(part.get(), fill_with, &seven));
  EXPECT_EQ(part.to_vector<float>(), (std::vector<float>{7, 7}));
  EXPECT_EQ(static_cast<char*>(tn_tensor_data(part.get())),
            static_cast<char*>(tn_tensor_data(x.get())) + sizeof(float));
}

TEST_P(Storage, ReleasedStorageIsNeitherReadNorWritten) {
  detail::check(tn_storage_release(x.get()));
  detail::check(tn_storage_release(x.get()));  // a second time, which does nothing
  const std::string gone = "was released; restore it first";
  Tensor other = zeros({GetParam()});
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { (void)(x + 1); }, [&] { (void)(other + x); }, [&] { (void)x.sum(); },
           [&] { x.copy_(other); }, [&] { other.copy_(x); }, [&] { (void)x.to_vector<float>(); },
           [&] {
             (void)concat({x, other});
           },
           [&] { (void)x.clone(); }, [&] { (void)x.to(DType::F64); }}) {
    const std::string error = error_of(use);
    EXPECT_NE(error.find(gone), std::string::npos) << error;
  }
  DLManagedTensorVersioned* exported = nullptr;
  EXPECT_NE(refusal(tn_tensor_to_dlpack(x.get(), &exported)).find(gone), std::string::npos);
  EXPECT_EQ(x.reshape({-1, 1}).ndim(), 2);  // a view needs no elements
}

TEST_P(Storage, UnfilledBytesCountAsAChange) {
  Tensor w = zeros({GetParam()}) + 2;
  detail::check(tn_storage_track(w.get()));
  w.requires_grad_();
  const Tensor loss = w.square().sum();
  detail::check(tn_storage_release(w.get()));
  detail::check(tn_storage_restore(w.get(), nullptr, nullptr));
  EXPECT_NE(error_of([&] { loss.backward(); }).find("was changed in place"), std::string::npos);
}

TEST_P(Storage, FillRestoresTheOldContent) {
  Tensor w = zeros({GetParam()}) + 2;
  detail::check(tn_storage_track(w.get()));
  w.requires_grad_();
  const Tensor loss = w.square().sum();
  const uint32_t version = tn_tensor_version(w.get());
  detail::check(tn_storage_release(w.get()));
  float two = 2;
  detail::check(tn_storage_restore(w.get(), fill_with, &two));
  EXPECT_EQ(tn_tensor_version(w.get()), version);
  loss.backward();
  EXPECT_EQ(w.grad().to_vector<float>()[0], 4);
}

TEST_P(Storage, AFailedFillLeavesItReleased) {
  detail::check(tn_storage_release(x.get()));
  expect_failed_fill(x, fail_to_fill);
}

TEST_P(Storage, AFillMayReleaseItAgainAndFail) {
  detail::check(tn_storage_release(x.get()));
  const auto fill = [](void*, tn_tensor* tensor) -> tn_status* {
    tn_status_release(tn_storage_release(tensor));
    return tn_status_make(TN_IO, detail::to_str("no, after all"));
  };
  expect_failed_fill(x, fill);
  EXPECT_EQ((zeros({GetParam()}) + 1).to_vector<float>()[0], 1);
}

TEST_P(Storage, AFillMayGiveTheTensorOtherElements) {
  detail::check(tn_storage_release(x.get()));
  detail::check(tn_storage_restore(
      x.get(),
      [](void*, tn_tensor* tensor) {
        return tn_tensor_set_data(tensor, zeros({tn_tensor_numel(tensor)}).get());
      },
      nullptr));
  EXPECT_EQ(x.to_vector<float>()[0], 0);
}

TEST_P(Storage, WhoComesTooLateIsTold) {
  const Tensor view = x.narrow(0, 0, 1);
  EXPECT_NE(refusal(tn_storage_track(x.get())).find("before views are made"), std::string::npos);
  EXPECT_NE(refusal(tn_storage_release(x.get())).find("before views are made"), std::string::npos);
  EXPECT_NE(refusal(tn_storage_restore(x.get(), nullptr, nullptr)).find("was not released"),
            std::string::npos);
}

TEST(StorageOfOthers, IsNotOursToRelease) {
  float memory[4] = {};
  const int64_t size = 4;
  tn_tensor* wrapped = nullptr;
  detail::check(
      tn_tensor_wrap_host(memory, TN_DTYPE_F32, 1, &size, nullptr, nullptr, nullptr, &wrapped));
  EXPECT_NE(refusal(tn_storage_release(wrapped)).find("somebody else's"), std::string::npos);
  tn_tensor_release(wrapped);
}

// Headers are destroyed in any order, whether released or not, and the bytes are freed once.
TEST_P(Storage, ItsTensorsMayDieInAnyOrder) {
  const auto used = [] { return Device("cpu").memory().used; };
  const auto run = [&](bool released, bool base_first) {
    Tensor base = zeros({GetParam()});
    detail::check(tn_storage_track(base.get()));
    Tensor view = base.narrow(0, 1, 2), other = view.narrow(0, 1, 1);
    if (released) detail::check(tn_storage_release(view.get()));
    (base_first ? base : other) = Tensor();
    if (released) detail::check(tn_storage_restore(view.get(), nullptr, nullptr));
    view = Tensor();
  };
  run(true, true);
  const uint64_t before = used();
  for (bool released : {false, true})
    for (bool base_first : {false, true}) run(released, base_first);
  EXPECT_EQ(used(), before);
}

}  // namespace
}  // namespace tenon
