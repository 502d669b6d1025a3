#include "dispatch/core_ops.hpp"

#include "autograd/record.hpp"
#include "dispatch/call.hpp"
#include "shape/rules.hpp"

// These infer nothing: their ops are run by the core or by other ops.
TN_RULE(view) { frame.fail(TN_INTERNAL, "a view has no shape rule"); }
TN_RULE(composite) { frame.fail(TN_INTERNAL, "a composite op has no shape rule"); }
TN_RULE(to_device) { frame.fail(TN_INTERNAL, "run by the core"); }

namespace tenon::core {

void run_contiguous(Frame& frame, tn_tensor** outs) {
  tn_tensor& x = frame.tensor(0);
  if (x.contiguous()) {
    outs[0] = Ref::share(&x).take();
    return;
  }
  static const tn_op& clone = builtin("clone");
  tn_value arg = tensor_value(&x);
  call(clone, &arg, 1, outs, 1);
}

void run_to(Frame& frame, tn_tensor** outs) {
  tn_tensor& x = frame.tensor(0);
  tn_device& target = *frame.arg(1).as.device;
  if (x.device == &target) {
    outs[0] = Ref::share(&x).take();
    return;
  }
  Ref dense = make_contiguous(x);
  Ref copy(make_tensor(x.dtype(), x.sizes(), target));
  uint64_t bytes = static_cast<uint64_t>(x.numel) * dtype_size(x.dtype());
  if (bytes != 0)
    copy_bytes(target, copy->view.buffer, 0, *x.device, dense->view.buffer,
               static_cast<uint64_t>(dense->view.offset), bytes);
  outs[0] = copy.take();
  if (wants_record(frame)) record(frame, outs, 1);
}

}  // namespace tenon::core
