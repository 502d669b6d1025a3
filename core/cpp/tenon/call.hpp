// How a C++ function calls an op: through a cached handle and one call over the C ABI.
#ifndef TENON_CALL_HPP
#define TENON_CALL_HPP

#include <atomic>

#include "tenon/op.h"
#include "tenon/tensor_class.hpp"

namespace tenon::detail {

// Looked up by name once. constinit avoids a guard variable.
struct OpHandle {
  const char* name;
  std::atomic<const tn_op*> op{nullptr};

  constexpr OpHandle(const char* op_name) noexcept : name(op_name) {}
  const tn_op* get() {
    const tn_op* found = op.load(std::memory_order_acquire);
    return found != nullptr ? found : find();
  }

 private:
  [[gnu::noinline, gnu::cold]] const tn_op* find() {
    const tn_op* found = nullptr;
    check(tn_op_require(to_str(name), &found));
    op.store(found, std::memory_order_release);
    return found;
  }
};

inline Tensor call(OpHandle& op, const tn_value* args, uint32_t nargs) {
  tn_tensor* out;
  check(tn_op_call(op.get(), args, nargs, &out, 1));
  return Tensor::adopt(out);
}
inline void call_many(OpHandle& op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                      uint32_t nouts) {
  check(tn_op_call(op.get(), args, nargs, outs, nouts));
}
inline void call_void(OpHandle& op, const tn_value* args, uint32_t nargs) {
  check(tn_op_call(op.get(), args, nargs, nullptr, 0));
}
// Writes the result into `out`, which keeps its reference.
inline void call_into(OpHandle& op, const tn_value* args, uint32_t nargs, const Tensor& out) {
  tn_tensor* const outs[] = {out.get()};
  check(tn_op_call_into(op.get(), args, nargs, outs, 1));
}

}  // namespace tenon::detail
#endif
