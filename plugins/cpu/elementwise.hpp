// Elementwise kernels: a descriptor says how to compute a contiguous stretch; the walk over layouts
// and threads is shared.
#pragma once

#include "kernels.hpp"
#include "threads.hpp"

namespace tenon::cpu {

constexpr uint32_t kMaxInputs = 3;

// out[i] = f(in[0][i], …) for i in [0, n). `params` are the op's attributes.
using StretchFn = void (*)(const void* params, void* out, const void* const* in, int64_t n);
// The same for rows of n elements; the output's and each input's lie steps[0], steps[1], … bytes apart.
using RowsFn = void (*)(const void* params, void* out, const void* const* in, int64_t n,
                        int64_t rows, const int64_t* steps);

// What a kernel's `self` points at. Static.
struct Elementwise {
  StretchFn fn[4];   // indexed by the inputs that are one value for the whole stretch (bit k: input
                     // k); fn[0]: all contiguous. NULL: such an input is expanded first.
  uint8_t inputs;    // views among args[0..inputs)
  uint8_t out_size;  // bytes of an element
  uint8_t in_size[kMaxInputs];
  int64_t grain;                                              // elements that pay for a thread
  void (*read)(const tn_call& call, void* params) = nullptr;  // attributes into at most kParamBytes
  RowsFn rows[3] = {};                                        // as fn, for short rows; may be NULL
};
constexpr size_t kParamBytes = 64;

// tn_kernel.run with self = Elementwise.
tn_status* run_elementwise(void* self, void* plan, const tn_call* call);
// The same for f16 and bf16 inputs where `self` computes on f32; a result of 2 bytes is rounded,
// others stay as they are. `self` says in_size 4, and out_size 4 where the result is a half.
tn_status* run_elementwise_f16(void* self, void* plan, const tn_call* call);
tn_status* run_elementwise_bf16(void* self, void* plan, const tn_call* call);

// Computes n contiguous elements as a call of the kernel would, conversions of the half types included.
using ComputeFn = void (*)(const Elementwise& self, const void* params, uint32_t ones, char* out,
                           const char* const* in, int64_t n);
ComputeFn compute_through(Through through);

// How many elements a call over a TN_CALL_CONTIGUOUS loop has.
inline int64_t flat_count(const tn_call& call) {
  return call.loop->ndim == 0 ? 1 : call.loop->shape[0];
}
// Whether operand k (0 is the output) of such a call is one value.
inline bool is_one_value(const tn_call& call, uint32_t k) {
  return call.loop->ndim == 0 || call.loop->strides[k][0] == 0;
}

inline Through through_of(tn_status* (*run)(void*, void*, const tn_call*)) {
  return run == run_elementwise_f16    ? Through::kF16
         : run == run_elementwise_bf16 ? Through::kBF16
                                       : Through::kMemory;
}

constexpr uint32_t kElementwiseFlags = TN_KERNEL_STRIDED | TN_KERNEL_HOST_SCALARS;

inline void add_elementwise(KernelList& list, std::string_view schema, uint64_t dtypes,
                            const Elementwise& self,
                            tn_status* (*run)(void*, void*, const tn_call*) = run_elementwise) {
  const auto itself = [](const void* self_pointer, const tn_call&) {
    return static_cast<const Elementwise*>(self_pointer);
  };
  list.add({.schema = schema,
            .dtypes = dtypes,
            .run = run,
            .flags = kElementwiseFlags,
            .self = const_cast<Elementwise*>(&self),
            .stretch = {itself, through_of(run)}});
}

}  // namespace tenon::cpu
