// clone and contiguous: elements from one layout to another, by their size.
#include "elementwise.hpp"

namespace tenon::gpu {
namespace {

struct Same {
  template <class C>
  GPU_FN C operator()(C x) const {
    return x;
  }
};

void run_copy(const tn_call& call, uint32_t) {
  switch (size_of(output(call).dtype)) {
    case 1:
      return run_elementwise<uint8_t, uint8_t>(call, Same{});
    case 2:
      return run_elementwise<uint16_t, uint16_t>(call, Same{});
    case 4:
      return run_elementwise<uint32_t, uint32_t>(call, Same{});
    default:
      return run_elementwise<uint64_t, uint64_t>(call, Same{});
  }
}

}  // namespace

void add_copy_kernels(KernelList& list) {
  for (const auto schema : {TN_SCHEMA_CLONE, TN_SCHEMA_CONTIGUOUS})
    list.add_strided(schema, All::kMask | TN_MASK(TN_DTYPE_C64), run_copy);
}

}  // namespace tenon::gpu
