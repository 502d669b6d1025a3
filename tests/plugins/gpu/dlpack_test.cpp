// Memory that a device shares with other libraries through DLPack, on the device that TENON_TEST_DEVICE names: it goes out and comes in
// without a copy, in the right order, and bad descriptions of it are errors.
#include <dlpack/dlpack.h>
#include <gtest/gtest.h>

#include <functional>

#include "../vulkan/device.hpp"
#include "foreign_tensor.hpp"
#include "outcome.hpp"
#include "tenon/ext/draft/device.h"
#include "tenon/ext/draft/dlpack.h"
#include "tenon/plugins.h"

namespace {

using namespace tenon;
using test::Outcome;
using test::take;
using test_vulkan::gpu;

int32_t index_of(const Device& device) { return device.id().back() - '0'; }

// On the simulator's device, whose memory is the host's.
struct Foreign : test::Foreign {
  Foreign() : test::Foreign({kDLExtDev, index_of(gpu())}) {}
  Tensor import() {
    tn_tensor* made = nullptr;
    detail::check(tn_tensor_from_dlpack(&managed, &made));
    return Tensor::adopt(made);
  }
};

TEST(DeviceDlpack, ExportSharesMemoryAndKeepsItAlive) {
  Tensor whole = to(arange(0, 100, 1, DType::F32), gpu());
  Tensor x = slice(whole, 0, 10, 70, 2).reshape({5, 6}).transpose(0, 1);
  const Tensor same = x.detach();
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(tn_tensor_to_dlpack(x.get(), &managed), nullptr);
  const DLTensor& out = managed->dl_tensor;
  EXPECT_EQ(out.device.device_type, kDLExtDev);
  EXPECT_EQ(out.device.device_id, index_of(gpu()));
  EXPECT_EQ(out.strides[0], 2);
  EXPECT_EQ(out.strides[1], 12);
  ASSERT_EQ(tn_device_synchronize(gpu().get()), nullptr);
  EXPECT_EQ(static_cast<const float*>(out.data)[12], 22.0f);  // the simulator's memory
  x = whole = Tensor();
  tn_tensor* made = nullptr;
  ASSERT_EQ(tn_tensor_from_dlpack(managed, &made), nullptr);
  Tensor back = Tensor::adopt(made);
  EXPECT_EQ(back.device(), gpu());
  back.fill_(4);
  EXPECT_EQ(same.sum().item<float>(), 120.0f);
}

TEST(DeviceDlpack, ImportComputesThereAndGivesBack) {
  Foreign foreign;
  {
    Tensor x = foreign.import();
    EXPECT_EQ(x.device(), gpu());
    EXPECT_EQ((x * 2 + to(ones({2, 3}), gpu())).to_vector<float>(),
              (std::vector<float>{1, 5, 9, 3, 7, 11}));
    x += 10;
    const Tensor row = x[1];
    x = Tensor();
    EXPECT_EQ(foreign.released, 0);
    EXPECT_EQ(row.to_vector<float>(), (std::vector<float>{11, 13, 15}));
  }
  EXPECT_EQ(foreign.released, 1);
  EXPECT_EQ(foreign.data[5], 15.0f);
  EXPECT_EQ(foreign.data[6], 6.0f);
}

TEST(DeviceDlpack, OffsetsEmptyAndReadOnlyMemory) {
  Foreign offset;
  offset.managed.dl_tensor.byte_offset = 4;
  EXPECT_EQ(offset.import().to_vector<float>(), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  Foreign empty;
  empty.shape[0] = 0;
  empty.managed.dl_tensor.data = nullptr;
  EXPECT_EQ(empty.import().numel(), 0);
  EXPECT_EQ(empty.released, 1);
  Foreign fixed;
  fixed.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  Tensor x = fixed.import();
  EXPECT_THROW(x.fill_(0), Error);
  EXPECT_EQ(fixed.data[0], 0.0f);
}

TEST(DeviceDlpack, BoolsMustBeBools) {
  Foreign foreign;
  foreign.managed.dl_tensor.dtype = {kDLBool, 8, 1};
  auto* const bytes = reinterpret_cast<unsigned char*>(foreign.data);
  bytes[4] = 3;
  tn_tensor* made = nullptr;
  const Outcome outcome = take(tn_tensor_from_dlpack(&foreign.managed, &made));
  EXPECT_EQ(outcome.code, TN_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("0 and 1"), std::string::npos) << outcome.message;
  EXPECT_EQ(foreign.released, 0);
  std::fill(bytes, bytes + 8, 1);
  EXPECT_EQ(foreign.import().device(), gpu());
}

TEST(DeviceDlpack, BadDescriptionsAreRefusedAndStayWithTheirOwner) {
  const auto refused = [](auto change, uint32_t code, const char* reason) {
    Foreign foreign;
    change(foreign);
    tn_tensor* tensor = nullptr;
    const Outcome outcome = take(tn_tensor_from_dlpack(&foreign.managed, &tensor));
    EXPECT_EQ(outcome.code, code) << outcome.message;
    EXPECT_NE(outcome.message.find(reason), std::string::npos) << outcome.message;
    EXPECT_EQ(foreign.released, 0);
  };
  const auto of = [](Foreign& f) -> DLTensor& { return f.managed.dl_tensor; };
  refused([&](Foreign& f) { of(f).device.device_id = 9; }, TN_UNIMPLEMENTED, "device 9");
  refused([&](Foreign& f) { of(f).device.device_id = -1; }, TN_UNIMPLEMENTED, "device -1");
  refused([&](Foreign& f) { of(f).device.device_type = kDLMetal; }, TN_UNIMPLEMENTED, "type 8");
  refused([&](Foreign& f) { f.managed.version.major = 0; }, TN_INVALID_ARGUMENT, "DLPack 0.");
  refused([&](Foreign& f) { of(f).data = nullptr; }, TN_INVALID_ARGUMENT, "no data");
  refused([&](Foreign& f) { of(f).byte_offset = 2; }, TN_INVALID_ARGUMENT, "multiple of 4");
  refused([&](Foreign& f) { of(f).byte_offset = ~uint64_t{0} - 3; }, TN_INVALID_ARGUMENT,
          "beyond what has addresses");
  refused([&](Foreign& f) { f.strides[0] = INT64_MAX; }, TN_INVALID_ARGUMENT,
          "further than memory");
  refused([&](Foreign& f) { f.strides[0] = f.strides[1] = INT64_MIN; }, TN_INVALID_ARGUMENT,
          "further than memory");
  refused([&](Foreign& f) { f.shape[0] = f.shape[1] = INT64_MAX; }, TN_INVALID_ARGUMENT,
          "more elements");
  refused(
      [&](Foreign& f) {
        of(f).dtype = {kDLComplex, 64, 1};
        of(f).byte_offset = 4;
      },
      TN_INVALID_ARGUMENT, "multiple of 8");
}

// Asks for the interface as the Python package does.
tn_status* precede(const Device& device, const int64_t* queue) {
  const auto use = [](void* ctx, const tn_extension* given) -> tn_status* {
    const auto* table = static_cast<const tn_dlpack*>(given->table);
    return table->precede(table->self, given->index, given->stream,
                          static_cast<const int64_t*>(ctx));
  };
  return tn_device_extend(device.get(), detail::to_str(TN_DLPACK_NAME), TN_DLPACK_REVISION, use,
                          const_cast<int64_t*>(queue));
}

TEST(DeviceDlpack, OtherQueuesWait) {
  const int64_t one = 1, none = 0;
  EXPECT_EQ(precede(gpu(), &one), nullptr);
  EXPECT_EQ(precede(gpu(), nullptr), nullptr);
  EXPECT_EQ(take(precede(gpu(), &none)).code, TN_INVALID_ARGUMENT);
}

TEST(DeviceDlpack, APluginStaysWhileItsDeviceShowsMemoryOfOthers) {
  Foreign foreign;
  Tensor x = foreign.import();
  const std::string plugin(detail::to_view(tn_device_plugin(gpu().get())));
  EXPECT_EQ(take(tn_plugin_quiesce(detail::to_str(plugin))).code, TN_FAILED_PRECONDITION);
  x = Tensor();
  EXPECT_EQ(take(tn_plugin_quiesce(detail::to_str(plugin))).code, TN_OK);
}

}  // namespace
