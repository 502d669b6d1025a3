// Lists of sizes: no index reads outside them, and none has more than TN_MAX_DIMS entries.
#include <gtest/gtest.h>

#include <vector>

#include "status.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

TEST(Dims, IndicesAreChecked) {
  Dims dims(std::vector<int64_t>{2, 3});
  EXPECT_EQ(dims[1], 3);
  EXPECT_THROW(static_cast<void>(dims[2]), Error);
  EXPECT_THROW(dims[SIZE_MAX] = 1, Error);
  const Dims none{};
  EXPECT_THROW(static_cast<void>(none[0]), Error);
}

TEST(Dims, HaveAMost) {
  Dims dims;
  for (int64_t d = 0; d < TN_MAX_DIMS; ++d) dims.push(d);
  EXPECT_THROW(dims.push(1), Error);
  EXPECT_EQ(dims.size(), static_cast<size_t>(TN_MAX_DIMS));
  EXPECT_THROW(Dims(std::vector<int64_t>(TN_MAX_DIMS + 1, 1)), Error);
}

}  // namespace
}  // namespace tenon::core
