// The path of a call: a short one for elementwise ops with nothing to convert (fast.cpp), and the
// general one.
#include "dispatch/call.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "boundary.hpp"
#include "dispatch/execution.hpp"
#include "dispatch/fallback.hpp"
#include "dispatch/layers.hpp"
#include "dispatch/record.hpp"
#include "dispatch/written.hpp"
#include "loader.hpp"
#include "tensor/free_list.hpp"

namespace tenon::core {
namespace {

// Call hooks of this thread; t_modes has kModeHooks while they are set.
thread_local constinit const tn_call_hooks* t_hooks TN_TLS = nullptr;

// A copy of the current hooks; slots beyond the caller's struct_size are NULL.
tn_call_hooks current_hooks() {
  tn_call_hooks hooks{};
  if ((t_modes & kModeHooks) != 0 && t_hooks != nullptr)
    std::memcpy(&hooks, t_hooks, std::min<size_t>(t_hooks->struct_size, sizeof hooks));
  return hooks;
}

const tn_op& clone_op() {
  static const tn_op& op = builtin("clone");
  return op;
}

void clone_into(tn_tensor* target, const tn_tensor& source) {
  const tn_value arg = tensor_value(&source);
  call_into(clone_op(), &arg, 1, &target, 1);
}

void move_into(tn_tensor* const* into, Outs& results) {
  for (uint32_t k = 0; k < results.size(); ++k) clone_into(into[k], results[k]);
}

// Results of a decomposition are recorded op by op when recording is on.
void decompose(Frame& frame, tn_tensor* const* into, tn_tensor** outs) {
  if (into == nullptr) return frame.op().decompose(frame, outs);
  Outs results(frame.nresults());
  frame.op().decompose(frame, results.data());
  move_into(into, results);
}

// Without any plugin tensors can still be copied on the host.
bool copy_without_kernel(Frame& frame, tn_tensor* const* into, tn_tensor** outs) {
  if (&frame.op() != &clone_op() || !frame.device().addressable) return false;
  tn_tensor& x = frame.tensor(0);
  Ref made(into != nullptr ? nullptr : make_tensor(x.dtype(), x.sizes(), frame.device()));
  tn_tensor& target = into != nullptr ? *into[0] : *made;
  if (!same_kind(target, x)) return false;
  copy_strided_host(x.view, target.view);
  if (into == nullptr) outs[0] = made.take();
  return true;
}

// Throws what is being handled, whatever it is, as an Error that names an op.
[[noreturn]] void rethrow_named(const tn_op& op) {
  try {
    detail::throw_status(status_of_current_exception());
  } catch (const Error& error) {
    if (names_op(error.what())) throw;
    fail(error.code(), "[{}] {}", op.name(), error.what());
  }
}

// Adds the op's name to errors from below it (sizes, memory, the device, a kernel).
template <class Body>
auto named(const tn_op& op, Body&& body) {
  try {
    return body();
  } catch (...) {
    rethrow_named(op);
  }
}

// Where exceptions of a call become statuses.
template <class Body>
tn_status* guarded_call(const tn_op* op, Body&& body) noexcept {
  return guarded([&] { named(*op, body); });
}

std::string_view compute_unnamed(Frame& frame, tn_tensor* const* into, tn_tensor** outs) {
  const tn_op& op = frame.op();
  op.rule(frame);
  bool searched = false;
  do {
    Execution execution(frame, into);
    std::string_view provider = "core";
    if (execution.run(provider)) {
      execution.finish(outs);
      return provider;
    }
    // No loaded plugin supports the call; one that has not been scanned for yet may.
    searched = plugins::g_discovered.load(std::memory_order_acquire) || !plugins::discover_now();
    if (searched && op.decompose == nullptr && frame.device().is_host()) {
      if (copy_without_kernel(frame, into, outs)) return "core";
      fail_no_kernel(frame, execution.key_dtype());
    }
  } while (!searched);
  const Without quiet(TN_MODE_GRAD | kModeWatched);
  if (op.decompose != nullptr) {
    decompose(frame, into, outs);
    return kDecomposition;
  }
  run_on_host(frame, into, outs);
  return kHostFallback;
}

// Computes and records a call; returns who computed it.
std::string_view run_frame(Frame& frame, tn_tensor** outs) {
  const tn_op& op = frame.op();
  frame.require_one_device();
  switch (op.kind) {
    case OpKind::View: {
      tn_tensor& x = frame.tensor(0);
      outs[0] = op.view(frame, x);
      if (outs[0]->storage == x.storage) {
        if (recording())
          record_view(frame, outs[0]);
        else
          outs[0]->flags |= kUntracked;
      } else if (wants_record(frame)) {
        record(frame, outs, 1);
      }
      return "core";
    }
    case OpKind::Composite:
      op.decompose(frame, outs);
      return kDecomposition;
    case OpKind::Core:
      op.run(frame, outs);
      return "core";
    case OpKind::Kernel:
      break;
  }
  bool recorded = wants_record(frame);
  if (recorded && op.through) {
    op.rule(frame);  // refuses what a decomposition takes for granted
    op.decompose(frame, outs);
    return kDecomposition;
  }
  std::string_view provider = compute(frame, nullptr, outs);
  if (recorded) record(frame, outs, frame.nresults());
  return provider;
}

void check_nouts(const Frame& frame, uint32_t nouts) {
  if (nouts != frame.nresults())
    frame.fail(TN_INVALID_ARGUMENT, "{} results asked for, the call has {}", nouts,
               frame.nresults());
}

[[gnu::noinline]] void watched_call(Frame& frame, tn_tensor** outs) {
  const tn_call_hooks hooks = current_hooks();
  if (hooks.before != nullptr)
    check(hooks.before(hooks.ctx, &frame.op(), frame.args(), frame.nargs()));
  const bool replaced = (t_modes & kModeLayers) != 0 && layers_call(frame, outs);
  std::string_view provider = replaced ? "layer" : run_frame(frame, outs);
  if (g_count_placement.load(std::memory_order_relaxed)) count_placement(frame.op(), provider);
  if (hooks.after != nullptr)
    hooks.after(hooks.ctx, &frame.op(), frame.args(), frame.nargs(), outs, frame.nresults(),
                to_str(provider));
}

bool watched() {
  return (t_modes & kModeWatched) != 0 || g_count_placement.load(std::memory_order_relaxed);
}

}  // namespace

std::string_view compute(Frame& frame, tn_tensor* const* into, tn_tensor** outs) {
  return named(frame.op(), [&] { return compute_unnamed(frame, into, outs); });
}

void call(const tn_op& op, const tn_value* args, uint32_t nargs, tn_tensor** outs, uint32_t nouts) {
  Frame frame(op, args, nargs);
  check_nouts(frame, nouts);
  check_written(frame);
  Outs results(nouts);
  if (watched()) [[unlikely]]
    watched_call(frame, results.data());
  else
    run_frame(frame, results.data());
  bump_written(frame);
  for (uint32_t k = 0; k < nouts; ++k) outs[k] = results.take(k).take();
}

Ref call_one(const tn_op& op, const tn_value* args, uint32_t nargs) {
  tn_tensor* out = nullptr;
  call(op, args, nargs, &out, 1);
  return Ref(out);
}

// A call in place that is made of other ops. Their gradients may read an argument after it was
// overwritten, so they get a copy of it.
void write_through(const Frame& frame, tn_tensor* const* outs, uint32_t nouts) {
  tn_value args[kMaxArgs];
  Ref copies[kMaxArgs];
  const bool recorded = wants_record(frame);
  for (uint32_t i = 0; i < frame.nargs(); ++i) {
    args[i] = frame.arg(i);
    if (!recorded || !frame.is_tensor(i) ||
        std::find(outs, outs + nouts, args[i].as.tensor) == outs + nouts)
      continue;
    copies[i] = call_one(clone_op(), &args[i], 1);
    args[i] = tensor_value(copies[i].get());
  }
  Frame again(frame.op(), args, frame.nargs());
  Outs results(nouts);
  run_frame(again, results.data());
  move_into(outs, results);
}

void call_into(const tn_op& op, const tn_value* args, uint32_t nargs, tn_tensor* const* outs,
               uint32_t nouts) {
  Frame frame(op, args, nargs);
  check_nouts(frame, nouts);
  if (op.kind == OpKind::View)
    frame.fail(TN_INVALID_ARGUMENT, "a view has no place of its own to be written to");
  for (uint32_t k = 0; k < nouts; ++k)
    frame.require(outs[k] != nullptr, "output {} is a null handle", k);
  if ((t_modes & kModeLayers) != 0 && layers_call_into(frame, outs, nouts)) return;
  frame.require_one_device();
  InPlace written(frame, outs, nouts);
  if (op.kind != OpKind::Kernel || (op.through && wants_record(frame)))
    return write_through(frame, outs, nouts);
  std::string_view provider = compute(frame, outs, nullptr);
  if (g_count_placement.load(std::memory_order_relaxed)) [[unlikely]]
    count_placement(op, provider);
  written.record();
}

Ref copy_rows(const tn_tensor& tensor) {
  Ref rows(make_tensor(tensor.dtype(), tensor.sizes(), *tensor.device));
  clone_into(rows.get(), tensor);
  return rows;
}

void copy_into(tn_tensor* target, const tn_tensor& source) {
  const tn_value arg = tensor_value(&source);
  Frame frame(clone_op(), &arg, 1);
  compute(frame, &target, nullptr);
}

Ref make_contiguous(const tn_tensor& tensor) {
  if (tensor.contiguous()) return Ref::share(const_cast<tn_tensor*>(&tensor));
  Ref rows(make_tensor(tensor.dtype(), tensor.sizes(), *tensor.device));
  copy_into(rows.get(), tensor);
  return rows;
}

Ref cast_tensor(const tn_tensor& tensor, tn_dtype dtype) {
  static const tn_op& cast = builtin("cast");
  const tn_value args[] = {tensor_value(&tensor), int_value(TN_VALUE_DTYPE, dtype)};
  Frame frame(cast, args, 2);
  tn_tensor* out = nullptr;
  compute(frame, nullptr, &out);
  return Ref(out);
}

}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_op_call(const tn_op* op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                      uint32_t nouts) {
  TN_REQUIRE(op);
  TN_REQUIRE_ARRAY(args, nargs);
  TN_REQUIRE_ARRAY(outs, nouts);
  return guarded_call(op, [&] {
    if (op->fast_operands != 0 && !watched() && fast_call(*op, args, nargs, outs, nouts)) return;
    call(*op, args, nargs, outs, nouts);
  });
}

tn_status* tn_op_result_count(const tn_op* op, const tn_value* args, uint32_t nargs,
                              uint32_t* out) {
  TN_REQUIRE(op);
  TN_REQUIRE_ARRAY(args, nargs);
  TN_REQUIRE(out);
  return guarded_call(op, [&] { *out = Frame(*op, args, nargs).nresults(); });
}

tn_status* tn_op_call_into(const tn_op* op, const tn_value* args, uint32_t nargs,
                           tn_tensor* const* outs, uint32_t nouts) {
  TN_REQUIRE(op);
  TN_REQUIRE_ARRAY(args, nargs);
  TN_REQUIRE_ARRAY(outs, nouts);
  return guarded_call(op, [&] { call_into(*op, args, nargs, outs, nouts); });
}

void tn_call_hooks_set(const tn_call_hooks* hooks) {
  t_hooks = hooks;
  t_modes = hooks != nullptr ? t_modes | kModeHooks : t_modes & ~kModeHooks;
}
