// Views and writes in place.
// A view shares elements with its base, so a write to either changes the other's history. When a
// view is written, its base gets the history of as_strided_scatter(base, view); when anything else
// changes a base, its other views take as_strided(base) the next time they are asked. Both are
// ordinary ops, so gradients of gradients follow.
#include <utility>

#include "autograd/engine.hpp"
#include "autograd/tape.hpp"
#include "dispatch/call.hpp"
#include "dispatch/record.hpp"
#include "dispatch/written.hpp"

namespace tenon::core {
namespace {

struct Geometry {
  Dims shape, strides;
  int64_t offset;  // elements from the first of the base's buffer
};

// The base's elements as a row-major buffer: itself when it is row-major, else the span it covers.
struct Buffer {
  int64_t low = 0, size = 0;  // elements before the base's first one; elements in all
};

Buffer buffer_of(const tn_tensor& base) {
  if (base.contiguous()) return {0, base.numel};
  const auto [low, high] = reach_of(base);
  return {-low, base.numel == 0 ? 0 : high - low + 1};
}

Geometry geometry_in(const tn_tensor& base, const tn_tensor& tensor) {
  const int64_t bytes = tensor.view.offset - base.view.offset;
  return {Dims(tensor.sizes()), Dims(std::span(tensor.strides(), tensor.ndim())),
          buffer_of(base).low + bytes / static_cast<int64_t>(dtype_size(base.dtype()))};
}

void record_one(const tn_op& op, const tn_value* args, tn_tensor& out) {
  tn_tensor* const outs[] = {&out};
  record(op, args, outs, 1);
}

// Gives `out` the history of a part of `x`, without computing it.
void tie_part(tn_tensor& out, tn_tensor& x, const Geometry& part) {
  static const tn_op& op = builtin("as_strided");
  const tn_value args[] = {tensor_value(&x), ints_value(part.shape), ints_value(part.strides),
                           int_value(TN_VALUE_INT, part.offset)};
  record_one(op, args, out);
}

// Gives `out` the history of `x` with `src` put into a part of it.
void tie_scattered(tn_tensor& out, tn_tensor& x, tn_tensor& src, const Geometry& part) {
  static const tn_op& op = builtin("as_strided_scatter");
  const tn_value args[] = {tensor_value(&x), tensor_value(&src), ints_value(part.shape),
                           ints_value(part.strides), int_value(TN_VALUE_INT, part.offset)};
  record_one(op, args, out);
}

// A header of a buffer's shape, for history alone: its elements are those of `base`, and not
// to be read.
Ref placeholder(const tn_tensor& base) {
  const int64_t shape[] = {buffer_of(base).size}, strides[] = {0};
  return Ref(make_view(base, shape, strides, 0));
}

// The base as its buffer, with its history.
Ref as_buffer(tn_tensor& base) {
  if (base.contiguous()) return Ref::share(&base);
  Ref empty = placeholder(base), filled = placeholder(base);
  if (requires_grad(base)) tie_scattered(*filled, *empty, base, geometry_in(base, base));
  return filled;
}

void renew_view(tn_tensor& view) {
  tn_tensor& base = *view.meta->base;
  if (!base.requires_grad()) return forget_history(view);
  tie_part(view, *as_buffer(base), geometry_in(base, view));
}

// After `view` got the history of what was written to it: its base takes that over.
void rebase(tn_tensor& view) {
  AutogradMeta& meta = *view.meta;
  tn_tensor& base = *meta.base;
  if (base.storage != view.storage) return;  // the base shows other elements now
  // The view's history is right as it is.
  meta.base_fn.store(base.grad_fn, std::memory_order_relaxed);
  if (view.requires_grad() || base.requires_grad()) {
    const Geometry part = geometry_in(base, view);
    if (base.contiguous()) {
      tie_scattered(base, base, view, part);
    } else {
      Ref before = as_buffer(base), after = placeholder(base);
      tie_scattered(*after, *before, view, part);
      tie_part(base, *after, geometry_in(base, base));
    }
  }
  meta.base_fn.store(base.grad_fn, std::memory_order_release);
}

void check_target(const Frame& frame, const tn_tensor& target, bool recorded) {
  check_writable(frame, target);
  if (!recording()) return;
  const bool view = (target.flags & kIsView) != 0;
  const tn_tensor& owner = view ? *target.meta->base : target;
  if (owner.requires_grad() && owner.grad_fn == nullptr)
    frame.fail(TN_FAILED_PRECONDITION,
               "{} that requires a gradient cannot be changed in place; use no_grad or a copy",
               view ? "a view of a leaf" : "a leaf");
  if (!recorded) return;
  if (target.flags & kInference)
    frame.fail(
        TN_FAILED_PRECONDITION,
        "a tensor made in inference mode cannot join a graph; clone it outside of that mode");
  // If nobody else uses these elements, nobody's history misses the write.
  if ((target.flags & kUntracked) && target.storage->refs.load(std::memory_order_acquire) != 1)
    frame.fail(TN_FAILED_PRECONDITION,
               "a view made with recording off cannot be changed in place with recording on: the "
               "tensor it shows would miss it");
}

// What was overwritten gets a gradient of zeros; the tensor stays in the graph.
void tie_overwritten(tn_tensor& out) {
  static const tn_op& op = builtin("floor");  // any op with such a gradient
  const tn_value before = tensor_value(&out);
  record_one(op, &before, out);
}

}  // namespace

bool view_requires_grad(tn_tensor& view) {
  AutogradMeta& meta = *view.meta;
  const Node* base_fn = meta.base->grad_fn;
  if (meta.base_fn.load(std::memory_order_acquire) != base_fn) [[unlikely]] {
    std::lock_guard guard(meta.lock);
    if (meta.base_fn.load(std::memory_order_relaxed) != base_fn) {
      renew_view(view);
      meta.base_fn.store(base_fn, std::memory_order_release);
    }
  }
  return view.requires_grad();
}

void record_view(const Frame& frame, tn_tensor* out) {
  tn_tensor& x = frame.tensor(0);
  if (!is_differentiable(x.dtype()) || ((x.flags | out->flags) & kInference) != 0) return;
  if (requires_grad(x)) record(frame, &out, 1);
  out->flags |= x.flags & kUntracked;
  tn_tensor* base = (x.flags & kIsView) ? x.meta->base : &x;
  AutogradMeta& meta = meta_of(*out);
  retain(base);
  meta.base = base;
  meta.base_fn.store(base->grad_fn, std::memory_order_relaxed);
  out->flags |= kIsView;
}

// ---- In place ----------------------------------------------------------------------------------

InPlace::InPlace(const Frame& frame, tn_tensor* const* outs, uint32_t nouts)
    : frame_(frame), outs_(outs), nouts_(nouts) {
  recorded_ = wants_record(frame);
  for (uint32_t k = 0; k < nouts; ++k) check_target(frame, *outs[k], recorded_);
  if (recorded_ && has_gradient(frame.op())) keep_originals();
}

void InPlace::keep_originals() {
  static const tn_op& clone = builtin("clone");
  originals_.make(nouts_);
  const Masks which = saves(frame_.op(), frame_.args());
  for (uint32_t i = 0; i < frame_.nargs() && which.in >> i != 0; ++i) {
    if ((which.in >> i & 1) == 0 || !frame_.is_tensor(i)) continue;
    for (uint32_t k = 0; k < nouts_; ++k) {
      if (&frame_.tensor(i) != outs_[k] || originals_[k]) continue;
      const Without quiet(TN_MODE_GRAD);
      originals_[k] = call_one(clone, frame_.args() + i, 1);
    }
  }
}

void InPlace::record() {
  for (uint32_t k = 0; k < nouts_; ++k) bump_version(*outs_[k]);
  if (!recording()) return;
  const Ref* const originals = originals_.size() != 0 ? originals_.data() : nullptr;
  const bool tied = recorded_ && core::record(frame_.op(), frame_.args(), outs_, nouts_, originals);
  for (uint32_t k = 0; k < nouts_; ++k) {
    tn_tensor& out = *outs_[k];
    if (!tied && out.grad_fn != nullptr) tie_overwritten(out);
    if (out.flags & kIsView) rebase(out);
  }
}

}  // namespace tenon::core
