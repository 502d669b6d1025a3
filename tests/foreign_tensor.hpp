// Somebody else's tensor (2, 3) as DLPack describes it, which counts how often it was released.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>

namespace tenon::test {

struct Foreign {
  alignas(64) float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};  // the last two are none of its elements
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {1, 2};
  int released = 0;
  DLManagedTensorVersioned managed{};

  explicit Foreign(DLDevice device = {kDLCPU, 0}) {
    managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->released;
    };
    managed.dl_tensor = {data, device, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  }
  Foreign(const Foreign&) = delete;
};

}  // namespace tenon::test
