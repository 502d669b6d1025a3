// clone and contiguous: bytes from one layout to another.
#include <cstring>

#include "dispatch.hpp"
#include "loops.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

void copy(const tn_call& call) {
  const tn_view& to = output(call);
  const Operands<2> operands = operands_of<2>(call);
  const int64_t size = operands.size[0];
  if ((call.flags & TN_CALL_CONTIGUOUS) != 0) {
    parallel_for(numel(to) * size, kGrainCopy * 4, [&](int64_t begin, int64_t end) {
      std::memcpy(operands.data[0] + begin, operands.data[1] + begin,
                  static_cast<size_t>(end - begin));
    });
    return;
  }
  visit_size(static_cast<uint64_t>(size), [&]<class T>(Tag<T>) {
    for_each_row<2>(*call.loop, operands, kGrainCopy,
                    [](int64_t n, const auto& data, const auto& step) {
                      for (int64_t i = 0; i < n; ++i)
                        *reinterpret_cast<T*>(data[0] + i * step[0]) =
                            *reinterpret_cast<const T*>(data[1] + i * step[1]);
                    });
  });
}

}  // namespace

void add_copy_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_CLONE,
            .dtypes = TN_MASK_ALL,
            .run = run_of<copy>,
            .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_CONTIGUOUS,
            .dtypes = TN_MASK_ALL,
            .run = run_of<copy>,
            .flags = TN_KERNEL_STRIDED});
}

}  // namespace tenon::cpu
