// The short path: one or two contiguous operands of one floating dtype, shape and device, of which one may be a number, and a kernel
// that needs neither plan nor scratch memory. All other calls take the general path.
#include "dispatch/call.hpp"
#include "dispatch/record.hpp"
#include "dispatch/scalar.hpp"

namespace tenon::core {
namespace {

constexpr int64_t kOne = 1, kZero = 0;

// Row-major, and its storage has not been released.
bool lies_plain(const tn_tensor& x) {
  constexpr uint32_t kSeen = TN_VIEW_CONTIGUOUS | TN_VIEW_RELEASED;
  return (x.view.flags & kSeen) == TN_VIEW_CONTIGUOUS;
}

// Tests the first operand; the others must match it.
bool is_plain(const tn_tensor& x, const tn_op& op) {
  return x.numel != 0 && (op.fast_dtypes & TN_MASK(x.dtype())) != 0;
}

const tn_kernel* plain_kernel(const tn_op& op, const tn_tensor& x) {
  const auto list = candidates(op, *x.device, x.dtype());
  if (list.empty()) return nullptr;
  const tn_kernel& kernel = list.front()->table;
  bool plain = kernel.supports == nullptr && kernel.prepare == nullptr &&
               kernel.scratch_size == nullptr && (kernel.flags & TN_KERNEL_HOST_SCALARS) != 0;
  return plain ? &kernel : nullptr;
}

// Numbers of these kinds change no floating dtype; a complex one would.
bool is_plain_number(const tn_value& value) {
  return value.tag == TN_VALUE_FLOAT || value.tag == TN_VALUE_INT || value.tag == TN_VALUE_BOOL;
}

}  // namespace

bool fast_call(const tn_op& op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
               uint32_t nouts) {
  if (nargs != op.fast_operands || nouts != 1) return false;
  const tn_tensor* like = nullptr;
  for (uint32_t i = 0; i < nargs; ++i) {
    if (args[i].tag == TN_VALUE_TENSOR) {
      const tn_tensor* x = args[i].as.tensor;
      if (x == nullptr || !lies_plain(*x)) return false;
      if (like == nullptr ? !is_plain(*x, op) : !same_kind(*like, *x)) return false;
      if (like == nullptr) like = x;
    } else if (!is_plain_number(args[i])) {
      return false;
    }
  }
  if (like == nullptr) return false;
  const tn_kernel* kernel = plain_kernel(op, *like);
  if (kernel == nullptr || (op.through && wants_record(args, nargs))) return false;

  tn_view scalar;
  tn_value views[2];
  int64_t numel = like->numel;
  const int64_t* strides[3] = {&kOne, &kOne, &kOne};
  for (uint32_t i = 0; i < nargs; ++i) {
    views[i].tag = TN_VALUE_VIEW;
    views[i].count = 0;
    if (args[i].tag == TN_VALUE_TENSOR) {
      views[i].as.view = &args[i].as.tensor->view;
    } else {
      make_scalar_view(scalar, like->dtype(), args[i]);
      views[i].as.view = &scalar;
      strides[i + 1] = &kZero;
    }
  }
  Ref out(make_like(*like));
  const tn_view* out_view = &out->view;
  tn_loop loop{sizeof(tn_loop), 1, 0, nargs + 1, &numel, strides};
  const tn_call call{
      sizeof(tn_call),       TN_CALL_CONTIGUOUS,  views, nargs,   1,       &out_view, &loop,
      like->device->queue(), like->device->index, 0,     nullptr, nullptr, nullptr};
  {
    const InOrder order(*like->device);
    if (call.stream != nullptr) like->device->latest.store(&op, std::memory_order_relaxed);
    check(kernel->run(kernel->self, nullptr, &call));
  }

  tn_tensor* const fresh[] = {out.get()};
  if (wants_record(args, nargs)) record(op, args, fresh, 1);
  outs[0] = out.take();
  return true;
}

}  // namespace tenon::core
