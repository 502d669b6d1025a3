// What devices share whose tensors have no elements: a number stands for each buffer.
#ifndef TENON_GRAPH_TRACE_ELEMENTLESS_HPP
#define TENON_GRAPH_TRACE_ELEMENTLESS_HPP

#include <atomic>
#include <cstdint>

#include "tenon/device_type.hpp"
#include "tenon/ext/draft/dispatch.h"

class Elementless {
 public:
  static constexpr uint32_t type_flags = TN_DEVICE_TYPE_UNLISTED;

 protected:
  static void describe(const char* name, uint64_t memory, tn_device_info* out) {
    out->kind = TN_DEVICE_KIND_OTHER;
    out->name = tenon::sdk::str_of(name);
    out->memory_total = out->memory_free = memory;
    out->compute_units = 1;
    out->subgroup_size = 1;
    out->dtypes = TN_MASK_ALL | TN_MASK_F8;
  }
  // The number of a new buffer.
  uint64_t number(void** buffer, void** address) {
    const uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    *buffer = reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr)
    *address = nullptr;
    return number;
  }

 private:
  std::atomic<uint64_t> next_{1};
};

#endif
