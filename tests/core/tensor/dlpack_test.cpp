#include <dlpack/dlpack.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "foreign_tensor.hpp"
#include "outcome.hpp"
#include "tenon/tenon.h"

namespace tenon::test {
namespace {

TEST(Dlpack, ExportSharesMemoryAndKeepsItAlive) {
  const int64_t shape[] = {2, 3};
  for (tn_dtype dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype) {
    tn_tensor* tensor = nullptr;
    ASSERT_EQ(tn_tensor_empty(dtype, 2, shape, nullptr, &tensor), nullptr);
    DLManagedTensorVersioned* managed = nullptr;
    ASSERT_EQ(tn_tensor_to_dlpack(tensor, &managed), nullptr);
    const DLTensor& exported = managed->dl_tensor;
    EXPECT_EQ(managed->version.major, 1u);
    EXPECT_EQ(exported.data, tn_tensor_data(tensor));
    EXPECT_EQ(exported.device.device_type, kDLCPU);
    EXPECT_EQ(exported.ndim, 2);
    EXPECT_EQ(exported.shape[1], 3);
    EXPECT_EQ(exported.strides[0], 3);
    EXPECT_EQ(exported.dtype.bits, 8 * tn_dtype_size(dtype));
    EXPECT_EQ(managed->flags, 0u);
    tn_tensor_release(tensor);  // the export lives on
    std::memset(exported.data, 1, 6 * tn_dtype_size(dtype));
    tn_tensor* back = nullptr;
    ASSERT_EQ(tn_tensor_from_dlpack(managed, &back), nullptr);
    EXPECT_EQ(tn_tensor_dtype(back), dtype);
    EXPECT_EQ(tn_tensor_data(back), exported.data);
    tn_tensor_release(back);
  }
}

TEST(Dlpack, ImportTakesStridesAndOffset) {
  Foreign foreign;
  foreign.managed.dl_tensor.byte_offset = 4;
  foreign.shape[0] = 1;
  tn_tensor* tensor = nullptr;
  ASSERT_EQ(tn_tensor_from_dlpack(&foreign.managed, &tensor), nullptr);
  EXPECT_EQ(tn_tensor_data(tensor), foreign.data + 1);
  EXPECT_EQ(tn_tensor_strides(tensor)[1], 2);
  float values[3];
  ASSERT_EQ(tn_tensor_to_host(tensor, values, sizeof values), nullptr);
  EXPECT_EQ(values[2], 5);
  EXPECT_EQ(foreign.released, 0);
  tn_tensor_release(tensor);
  EXPECT_EQ(foreign.released, 1);
}

TEST(Dlpack, ScalarsAndEmptyTensors) {
  Foreign scalar;
  scalar.managed.dl_tensor.ndim = 0;
  scalar.managed.dl_tensor.shape = scalar.managed.dl_tensor.strides = nullptr;
  tn_tensor* tensor = nullptr;
  ASSERT_EQ(tn_tensor_from_dlpack(&scalar.managed, &tensor), nullptr);
  EXPECT_EQ(tn_tensor_numel(tensor), 1);
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(tn_tensor_to_dlpack(tensor, &managed), nullptr);
  EXPECT_EQ(managed->dl_tensor.ndim, 0);
  managed->deleter(managed);
  tn_tensor_release(tensor);

  Foreign empty;
  empty.shape[0] = 0;
  empty.managed.dl_tensor.data = nullptr;
  ASSERT_EQ(tn_tensor_from_dlpack(&empty.managed, &tensor), nullptr);
  EXPECT_EQ(tn_tensor_numel(tensor), 0);
  tn_tensor_release(tensor);
  EXPECT_EQ(empty.released, 1);
}

TEST(Dlpack, ReadOnlyStaysReadOnly) {
  Foreign foreign;
  foreign.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  tn_tensor* tensor = nullptr;
  ASSERT_EQ(tn_tensor_from_dlpack(&foreign.managed, &tensor), nullptr);
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(tn_tensor_to_dlpack(tensor, &managed), nullptr);
  EXPECT_EQ(managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  managed->deleter(managed);
  tn_tensor_release(tensor);
}

// Kernels rely on bools being 0 or 1.
TEST(Dlpack, OtherBytesThanBoolsAreNotShared) {
  Foreign foreign;
  unsigned char bytes[] = {0, 1, 255, 2, 1, 0};
  foreign.strides[0] = 3;
  foreign.strides[1] = 1;
  foreign.managed.dl_tensor.data = bytes;
  foreign.managed.dl_tensor.dtype = {kDLBool, 8, 1};
  tn_tensor* tensor = nullptr;
  const auto refused = [](tn_status* status, const char* name) {
    const Outcome outcome = take(status);
    EXPECT_EQ(outcome.code, TN_INVALID_ARGUMENT) << outcome.message;
    EXPECT_TRUE(outcome.message.starts_with(name)) << outcome.message;
    EXPECT_NE(outcome.message.find("0 and 1"), std::string::npos) << outcome.message;
  };
  refused(tn_tensor_from_dlpack(&foreign.managed, &tensor), "[from_dlpack]");
  refused(tn_tensor_wrap_host(bytes, TN_DTYPE_BOOL, 2, foreign.shape, foreign.strides, nullptr,
                              nullptr, &tensor),
          "[tn_tensor_wrap_host]");
  EXPECT_EQ(foreign.released, 0);
  ASSERT_EQ(tn_tensor_from_host(bytes, 6, TN_DTYPE_BOOL, 2, foreign.shape, nullptr, &tensor),
            nullptr);
  const unsigned char bools[] = {0, 1, 1, 1, 1, 0};
  EXPECT_EQ(std::memcmp(tn_tensor_data(tensor), bools, 6), 0);
  tn_tensor_release(tensor);
  bytes[2] = bytes[3] = 1;
  ASSERT_EQ(tn_tensor_from_dlpack(&foreign.managed, &tensor), nullptr);
  EXPECT_EQ(tn_tensor_data(tensor), bytes);
  tn_tensor_release(tensor);
  EXPECT_EQ(foreign.released, 1);
}

TEST(Dlpack, BadInputIsRefusedAndStaysWithItsOwner) {
  const auto refused = [](auto change, uint32_t code, const char* reason) {
    Foreign foreign;
    change(foreign);
    tn_tensor* tensor = nullptr;
    const Outcome outcome = take(tn_tensor_from_dlpack(&foreign.managed, &tensor));
    EXPECT_EQ(outcome.code, code) << outcome.message;
    EXPECT_NE(outcome.message.find(reason), std::string::npos) << outcome.message;
    EXPECT_TRUE(outcome.message.starts_with("[from_dlpack]")) << outcome.message;
    EXPECT_EQ(foreign.released, 0);
  };
  refused([](Foreign& f) { f.managed.version.major = 2; }, TN_INVALID_ARGUMENT, "DLPack 2.");
  refused([](Foreign& f) { f.managed.dl_tensor.device.device_type = kDLMetal; }, TN_UNIMPLEMENTED,
          "copy to the host");
  refused([](Foreign& f) { f.managed.dl_tensor.dtype.lanes = 4; }, TN_INVALID_ARGUMENT, "4 lanes");
  refused([](Foreign& f) { f.managed.dl_tensor.dtype.bits = 4; }, TN_INVALID_ARGUMENT, "of 4 bits");
  refused([](Foreign& f) { f.managed.dl_tensor.dtype.code = 99; }, TN_INVALID_ARGUMENT, "code 99");
  refused([](Foreign& f) { f.managed.dl_tensor.ndim = 17; }, TN_INVALID_ARGUMENT, "17 dimensions");
  refused([](Foreign& f) { f.managed.dl_tensor.ndim = -1; }, TN_INVALID_ARGUMENT, "-1 dimensions");
  refused([](Foreign& f) { f.managed.dl_tensor.shape = nullptr; }, TN_INVALID_ARGUMENT, "no shape");
  refused([](Foreign& f) { f.managed.dl_tensor.data = nullptr; }, TN_INVALID_ARGUMENT, "no data");
  refused([](Foreign& f) { f.managed.dl_tensor.byte_offset = 1; }, TN_INVALID_ARGUMENT,
          "multiple of 4 bytes");
  EXPECT_EQ(take(tn_tensor_from_dlpack(nullptr, nullptr)).code, TN_INVALID_ARGUMENT);
  EXPECT_EQ(take(tn_tensor_to_dlpack(nullptr, nullptr)).code, TN_INVALID_ARGUMENT);
}

// Strides along one element or none are never taken, and some libraries fill them with garbage.
TEST(Dlpack, StridesBeyondMemoryAreRefusedWhereTheyAreTaken) {
  const int64_t shapes[][2] = {{2, 3}, {1, 1}, {1, 0}};
  const int64_t strides[][2] = {{INT64_MAX, 1}, {1, INT64_MIN}, {1LL << 61, 1LL << 61}};
  for (const auto& shape : shapes)
    for (const auto& steps : strides) {
      Foreign foreign;
      std::copy_n(shape, 2, foreign.shape);
      std::copy_n(steps, 2, foreign.strides);
      tn_tensor* tensor = nullptr;
      const Outcome outcome = take(tn_tensor_from_dlpack(&foreign.managed, &tensor));
      EXPECT_EQ(outcome.code, shape[0] == 1 ? TN_OK : TN_INVALID_ARGUMENT) << outcome.message;
      if (tensor == nullptr) {
        EXPECT_NE(outcome.message.find("reach further than memory"), std::string::npos)
            << outcome.message;
        continue;
      }
      if (tn_tensor_numel(tensor) == 0) {
        EXPECT_EQ(tn_tensor_strides(tensor)[0], 1);
      }
      tn_value x{TN_VALUE_TENSOR, 0, {}};
      x.as.tensor = tensor;
      tn_tensor* copy = nullptr;
      EXPECT_EQ(take(tn_op_call(tn_op_find(str("clone")), &x, 1, &copy, 1)).code, TN_OK);
      EXPECT_EQ(tn_tensor_numel(copy), shape[1]);
      tn_tensor_release(copy);
      tn_tensor_release(tensor);
    }
}

TEST(Dlpack, TensorsThatRequireGradientsAreNotExported) {
  const int64_t shape[] = {2};
  tn_tensor* tensor = nullptr;
  ASSERT_EQ(tn_tensor_empty(TN_DTYPE_F32, 1, shape, nullptr, &tensor), nullptr);
  ASSERT_EQ(tn_tensor_set_requires_grad(tensor, 1), nullptr);
  DLManagedTensorVersioned* managed = nullptr;
  const Outcome outcome = take(tn_tensor_to_dlpack(tensor, &managed));
  EXPECT_EQ(outcome.code, TN_FAILED_PRECONDITION);
  EXPECT_NE(outcome.message.find("detach"), std::string::npos);
  tn_tensor_release(tensor);
}

}  // namespace
}  // namespace tenon::test
