#include "tenon/reinterpret.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "outcome.hpp"
#include "tenon/tenon.hpp"

namespace tenon::test {
namespace {

Tensor reinterpret(const Tensor& x, DType dtype, IntList shape, IntList strides, int64_t offset) {
  tn_tensor* out = nullptr;
  detail::check(tn_tensor_reinterpret(x.get(), static_cast<tn_dtype>(dtype),
                                      static_cast<uint32_t>(shape.size()), shape.data(),
                                      strides.data(), offset, &out));
  return Tensor::adopt(out);
}

Tensor row_major(const Tensor& x, DType dtype, IntList shape, int64_t offset = 0) {
  tn_tensor* out = nullptr;
  detail::check(tn_tensor_reinterpret(x.get(), static_cast<tn_dtype>(dtype),
                                      static_cast<uint32_t>(shape.size()), shape.data(), nullptr,
                                      offset, &out));
  return Tensor::adopt(out);
}

void refused(uint32_t code, const char* reason, const std::function<void()>& fn) {
  try {
    fn();
    ADD_FAILURE() << "accepted, not: " << reason;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(reason), std::string_view::npos) << error.what();
  }
}

// Large enough not to lie in its header's block.
Tensor ramp(int64_t count) { return arange(0, count, 1, DType::F32); }

TEST(Reinterpret, SharesBytesVersionAndLife) {
  for (const int64_t count : {8, 1000}) {
    Tensor x = ramp(count);
    Tensor bits = row_major(x, DType::I32, {count});
    EXPECT_EQ(tn_tensor_shares_storage(x.get(), bits.get()), 1u);
    EXPECT_EQ(bits[1].item<int32_t>(), 0x3f800000);
    const uint32_t before = tn_tensor_version(x.get());
    bits.fill_(0x40000000);
    EXPECT_EQ(x[count - 1].item<float>(), 2.0f);
    EXPECT_GT(tn_tensor_version(x.get()), before);
    x = Tensor();
    EXPECT_EQ(bits[0].item<int32_t>(), 0x40000000);
  }
}

TEST(Reinterpret, ElementsOfOtherSizesAndStrides) {
  const Tensor x = ramp(6);
  EXPECT_EQ(row_major(x, DType::U8, {6, 4})[1][3].item<uint8_t>(), 0x3f);
  EXPECT_EQ(row_major(x, DType::C64, {3})[1].item<std::complex<float>>(),
            std::complex<float>(2, 3));
  EXPECT_EQ(reinterpret(x, DType::F32, {3}, {2}, 4)[2].item<float>(), 5.0f);
  EXPECT_EQ(reinterpret(x, DType::F32, {3}, {-2}, 20)[2].item<float>(), 1.0f);
  EXPECT_EQ(reinterpret(x, DType::U16, {2, 6}, {0, 2}, 2)[1][5].item<uint16_t>(), 0x40a0);
  EXPECT_EQ(row_major(x, DType::U8, {0, 7}).numel(), 0);
}

// A view shows a part; what lies before it is reached, what lies behind it is not.
TEST(Reinterpret, ReachesFromTheStorageToTheLastElement) {
  const Tensor x = ramp(100), part = slice(x, 0, 10, 20);
  EXPECT_EQ(row_major(part, DType::F32, {20}, -40)[19].item<float>(), 19.0f);
  const auto outside = [](const std::function<void()>& fn) {
    refused(TN_INVALID_ARGUMENT, "further than memory", fn);
  };
  outside([&] { row_major(part, DType::F32, {21}, -40); });
  outside([&] { row_major(part, DType::F32, {1}, -44); });
  outside([&] { row_major(part, DType::F64, {11}); });
  outside([&] { reinterpret(part, DType::F32, {2}, {-11}, 0); });
  outside([&] { reinterpret(part, DType::F32, {2}, {INT64_MAX}, 0); });
  outside([&] { reinterpret(part, DType::F32, {2, 2}, {INT64_MIN, INT64_MIN}, 0); });
  outside([&] { row_major(part, DType::F32, {1}, INT64_MIN + 4); });
  outside([&] { row_major(slice(x, 0, 10, 10), DType::F32, {11}, -40); });
}

TEST(Reinterpret, BadArguments) {
  const Tensor x = ramp(100);
  refused(TN_INVALID_ARGUMENT, "unknown dtype", [&] { row_major(x, static_cast<DType>(99), {1}); });
  refused(TN_INVALID_ARGUMENT, "multiple of 4", [&] { row_major(x, DType::F32, {1}, 2); });
  refused(TN_INVALID_ARGUMENT, "multiple of 8", [&] { row_major(x, DType::C64, {1}, 4); });
  refused(TN_INVALID_ARGUMENT, "negative size", [&] { row_major(x, DType::F32, {-1}); });
  refused(TN_INVALID_ARGUMENT, "memory can address", [&] {
    row_major(x, DType::F32, {INT64_MAX, INT64_MAX});
  });
  const std::vector<int64_t> many(17, 1);
  refused(TN_INVALID_ARGUMENT, "17 dimensions", [&] { row_major(x, DType::F32, many); });
  refused(TN_INVALID_ARGUMENT, "0 and 1", [&] { row_major(x, DType::Bool, {8}); });
  EXPECT_EQ(take(tn_tensor_reinterpret(nullptr, 0, 0, nullptr, nullptr, 0, nullptr)).code,
            TN_INVALID_ARGUMENT);
}

TEST(Reinterpret, WhereTheMemoryOfOthersLies) {
  alignas(8) unsigned char bytes[24] = {};
  const int64_t shape[] = {20};
  tn_tensor* made = nullptr;
  ASSERT_EQ(tn_tensor_wrap_host(bytes + 1, TN_DTYPE_U8, 1, shape, nullptr, nullptr, nullptr, &made),
            nullptr);
  const Tensor x = Tensor::adopt(made);
  refused(TN_INVALID_ARGUMENT, "multiple of 2", [&] { row_major(x, DType::I16, {1}); });
  refused(TN_INVALID_ARGUMENT, "further than memory", [&] { row_major(x, DType::U8, {1}, -1); });
  // Backwards: the first element is the last in memory.
  const int64_t back[] = {-1};
  ASSERT_EQ(tn_tensor_wrap_host(bytes + 15, TN_DTYPE_U8, 1, IntList({16}).data(), back, nullptr,
                                nullptr, &made),
            nullptr);
  bytes[0] = 7;
  EXPECT_EQ(row_major(Tensor::adopt(made), DType::U8, {1}, -15)[0].item<uint8_t>(), 7);
}

TEST(Reinterpret, BoolsMustBeBools) {
  Tensor x = zeros({200}, DType::U8);
  row_major(x, DType::Bool, {200});
  x[150].fill_(2);
  refused(TN_INVALID_ARGUMENT, "0 and 1", [&] { row_major(x, DType::Bool, {200}); });
  const Tensor most = row_major(x, DType::Bool, {150});
  EXPECT_EQ(row_major(most, DType::Bool, {10}, 5).numel(), 10);
}

// A gradient that keeps what was overwritten through the bits is noticed.
TEST(Reinterpret, HasNoHistoryAndItsWritesCount) {
  Tensor w = ramp(300).requires_grad_(), x = ramp(300);
  EXPECT_FALSE(row_major(w, DType::F32, {300}).requires_grad());
  const Tensor y = (w * x).sum();
  row_major(x, DType::I32, {300}).fill_(0);
  refused(TN_FAILED_PRECONDITION, "changed", [&] { y.backward(); });
}

TEST(Reinterpret, AReleasedStorageHasNoBits) {
  const Tensor x = ramp(300);
  ASSERT_EQ(tn_storage_release(x.get()), nullptr);
  Tensor bits = row_major(x, DType::I32, {300});
  refused(TN_FAILED_PRECONDITION, "released", [&] { bits[0].item<int32_t>(); });
  refused(TN_FAILED_PRECONDITION, "released", [&] { row_major(x, DType::Bool, {300}); });
  ASSERT_EQ(tn_storage_restore(x.get(), nullptr, nullptr), nullptr);
  bits.fill_(0x3f800000);
  EXPECT_EQ(x[299].item<float>(), 1.0f);
}

}  // namespace
}  // namespace tenon::test
