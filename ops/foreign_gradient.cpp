// Gradients of ops that plugins define: what tn_op_def.gradient reads and sets through the host's table.
#include "autograd/formula.hpp"
#include "dispatch/foreign.hpp"

// Keeps alive what the callback borrows until it returns.
struct tn_grad_call {
  tenon::core::GradCall& call;
  std::vector<tenon::Tensor> lent;

  tn_tensor* lend(tenon::Tensor tensor) {
    if (!tensor.defined()) return nullptr;
    lent.push_back(std::move(tensor));
    return lent.back().get();
  }
};

namespace tenon::core {
namespace {

// The table's getters return no status, so an error is kept and reported when the callback returns.
thread_local std::exception_ptr t_error;

template <class Fn>
auto lending(tn_grad_call* call, Fn&& fn) noexcept -> decltype(fn()) {
  try {
    if (call != nullptr) return fn();
  } catch (...) {
    if (!t_error) t_error = std::current_exception();
  }
  return {};
}

}  // namespace

void apply_foreign(GradCall& call) {
  const tn_op_def& def = in_service(call.op());
  tn_grad_call lent{call, {}};
  const std::exception_ptr outer = std::exchange(t_error, nullptr);
  tn_status* status = def.gradient(def.self, &lent);
  const std::exception_ptr error = std::exchange(t_error, outer);
  if (error) {
    tn_status_release(status);
    std::rethrow_exception(error);
  }
  check(status);
}

tn_tensor* grad_output(tn_grad_call* call, uint32_t result) noexcept {
  return lending(call, [&] { return call->lend(call->call.grad(result)); });
}

tn_tensor* grad_saved_input(tn_grad_call* call, uint32_t arg) noexcept {
  return grad_saved_entry(call, arg, 0);
}

tn_tensor* grad_saved_entry(tn_grad_call* call, uint32_t arg, uint32_t entry) noexcept {
  return lending(call, [&]() -> tn_tensor* {
    return arg < call->call.nargs() ? call->lend(call->call.in(arg, entry)) : nullptr;
  });
}

tn_tensor* grad_saved_output(tn_grad_call* call, uint32_t result) noexcept {
  return lending(call, [&]() -> tn_tensor* {
    return result < call->call.nresults() ? call->lend(call->call.out(result)) : nullptr;
  });
}

const tn_value* grad_arg(tn_grad_call* call, uint32_t arg) noexcept {
  return lending(call, [&]() -> const tn_value* {
    if (arg >= call->call.nargs() || call->call.is_tensor(arg) || !call->call.has(arg))
      return nullptr;
    return &call->call.value(arg);
  });
}

uint32_t grad_needed(tn_grad_call* call, uint32_t arg) noexcept {
  return lending(call, [&] { return uint32_t{arg < call->call.nargs() && call->call.needs(arg)}; });
}

uint32_t grad_entry_needed(tn_grad_call* call, uint32_t arg, uint32_t entry) noexcept {
  return lending(
      call, [&] { return uint32_t{arg < call->call.nargs() && call->call.needs(arg, entry)}; });
}

uint32_t grad_result_count(tn_grad_call* call) noexcept {
  return lending(call, [&] { return call->call.nresults(); });
}

uint32_t grad_entry_count(tn_grad_call* call, uint32_t arg) noexcept {
  return lending(call,
                 [&] { return arg < call->call.nargs() ? call->call.count(arg) : uint32_t{0}; });
}

tn_status* grad_set(tn_grad_call* call, uint32_t arg, tn_tensor* grad) noexcept {
  return grad_set_entry(call, arg, 0, grad);
}

tn_status* grad_set_entry(tn_grad_call* call, uint32_t arg, uint32_t entry,
                          tn_tensor* grad) noexcept {
  return guarded([&] {
    if (call == nullptr) fail(TN_INVALID_ARGUMENT, "[grad_set] no call given");
    call->call.set(arg, entry, Tensor::share(grad));
  });
}

}  // namespace tenon::core
