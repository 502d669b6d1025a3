#include "autograd/record.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "autograd/op_node.hpp"

namespace tenon::core {

thread_local constinit uint32_t t_modes TN_TLS = TN_MODE_GRAD;

bool list_requires_grad(const tn_value& list) {
  for (uint32_t e = 0; e < list.count; ++e) {
    tn_tensor* entry = list.as.tensors[e];
    if (entry != nullptr && requires_grad(*entry)) return true;
  }
  return false;
}

namespace {

// How much a node must hold.
struct Extent {
  uint32_t edges = 0;
  uint32_t saved = 0;
  size_t tail = 0;  // bytes of shapes, lists and strings
};

struct Masks {
  uint64_t in = 0;
  uint64_t out = 0;
};

Masks split(uint32_t mask) { return {mask & 0xffffu, mask >> 16}; }

// All that may be saved, whatever requires a gradient.
Masks widest(const tn_op& op) {
  if (op.gradient == nullptr) return {op.foreign->saved_inputs, op.foreign->saved_outputs};
  const GradFormula& f = *op.gradient;
  return split(f.always | f.if_needs[0] | f.if_needs[1] | f.if_needs[2]);
}

bool has_gradient(const tn_op& op) {
  return op.gradient != nullptr ? op.gradient->apply != nullptr
                                : op.foreign != nullptr && op.foreign->gradient != nullptr;
}

// Lists and strings that are the schema's own defaults live as long as the op.
bool is_default(const tn_op& op, uint32_t arg, const tn_value& value) {
  return value.as.pointer == op.schema.args[arg].default_value.as.pointer;
}

// Few dimensions are quicker than a call of memcmp or memcpy.
bool same_dims(std::span<const int64_t> a, std::span<const int64_t> b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d)
    if (a[d] != b[d]) return false;
  return true;
}
void copy_dims(std::span<const int64_t> from, int64_t* to) {
  if (from.size() > 4) return static_cast<void>(std::memcpy(to, from.data(), from.size_bytes()));
  if (from.size() > 0) to[0] = from[0];
  if (from.size() > 1) to[1] = from[1];
  if (from.size() > 2) to[2] = from[2];
  if (from.size() > 3) to[3] = from[3];
}

size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

Extent measure(const tn_op& op, const tn_value* args, uint32_t nargs, tn_tensor* const* outs, uint32_t nouts) {
  const Masks masks = widest(op);
  Extent extent;
  for (uint32_t i = 0; i < nargs; ++i) {
    const tn_value& value = args[i];
    const uint32_t saves = masks.in >> i & 1;
    switch (value.tag) {
      case TN_VALUE_TENSOR:
        ++extent.edges;
        extent.saved += saves;
        extent.tail += value.as.tensor->ndim() * sizeof(int64_t);
        break;
      case TN_VALUE_TENSORS:
        extent.edges += value.count;
        extent.saved += saves * value.count;
        for (uint32_t e = 0; e < value.count; ++e)
          if (const tn_tensor* entry = value.as.tensors[e]) extent.tail += entry->ndim() * sizeof(int64_t);
        break;
      case TN_VALUE_INTS:
        if (!is_default(op, i, value)) extent.tail += value.count * sizeof(int64_t);
        break;
      case TN_VALUE_STR:
        if (!is_default(op, i, value)) extent.tail += padded(value.count);
        break;
      case TN_VALUE_COMPLEX: extent.tail += 2 * sizeof(double); break;
      default: break;
    }
  }
  for (uint32_t k = 0; k < nouts; ++k) {
    extent.saved += masks.out >> k & 1;
    extent.tail += outs[k]->ndim() * sizeof(int64_t);
  }
  return extent;
}

// What is saved when `needs(arg)` tells which arguments require a gradient.
template <class Needs>
Masks saves(const tn_op& op, const tn_value* args, Needs&& needs) {
  if (op.gradient == nullptr) return widest(op);
  const GradFormula& f = *op.gradient;
  uint32_t mask = f.always;
  for (uint32_t a = 0; a < std::size(f.if_needs) && a < op.schema.args.size(); ++a)
    if (f.if_needs[a] != 0 && needs(a)) mask |= f.if_needs[a];
  if (f.unread != nullptr) mask &= ~f.unread(args);
  return split(mask);
}

// Fills one node; what it holds is copied behind it, in one block.
class Builder {
 public:
  // `originals`: of a call in place, by output, what it overwrote; NULL entries where nobody needs that.
  Builder(const tn_op& op, const tn_value* args, tn_tensor* const* outs, uint32_t nouts, const Ref* originals)
      : op_(op), args_(args), nargs_(static_cast<uint32_t>(op.schema.args.size())), outs_(outs), nouts_(nouts),
        originals_(originals) {
    const Extent extent = measure(op, args, nargs_, outs, nouts);
    const size_t arrays = extent.edges * (sizeof(Edge) + sizeof(TensorMeta)) + nouts * sizeof(TensorMeta) +
                          extent.saved * sizeof(Saved) + nargs_ * sizeof(tn_value);
    uint8_t block_class;
    char* memory = static_cast<char*>(take_node_memory(sizeof(OpNode) + arrays + extent.tail, block_class));
    tail_ = memory + sizeof(OpNode);
    Edge* edges = take<Edge>(extent.edges);
    node_ = new (memory) OpNode(op, nouts, 0, edges, block_class);
    owner_.reset(node_);
    node_->nargs = nargs_;
    node_->inputs = take<TensorMeta>(extent.edges);
    node_->results = take<TensorMeta>(nouts);
    node_->saved = take<Saved>(extent.saved);
    node_->args = take<tn_value>(nargs_);
  }

  // The node with all but its place in the history of the results.
  NodeRef build() {
    for (uint32_t k = 0; k < nouts_; ++k) node_->results[k] = describe(*outs_[k], nullptr);
    for (uint32_t i = 0; i < nargs_; ++i) copy_arg(i);
    save();
    number_node(*node_);
    return std::move(owner_);
  }

 private:
  template <class T>
  T* take(size_t n) {
    T* array = reinterpret_cast<T*>(tail_);
    tail_ += n * sizeof(T);
    return array;
  }

  TensorMeta describe(const tn_tensor& tensor, const TensorMeta* like) {
    const int64_t* shape;
    if (like != nullptr && same_dims(like->sizes(), tensor.sizes())) {
      shape = like->shape;
    } else {
      int64_t* copy = take<int64_t>(tensor.ndim());
      copy_dims(tensor.sizes(), copy);
      shape = copy;
    }
    return {shape, tensor.device, static_cast<uint8_t>(tensor.ndim()), static_cast<uint8_t>(tensor.dtype()), true};
  }

  void add_edge(tn_tensor* tensor) {
    const uint32_t e = node_->nedges;
    node_->inputs[e] = tensor != nullptr ? describe(*tensor, nouts_ != 0 ? &node_->results[0] : nullptr) : TensorMeta{};
    node_->edges[e] = tensor != nullptr ? gradient_edge(*tensor) : Edge{};
    node_->nedges = e + 1;
  }

  void copy_arg(uint32_t i) {
    const tn_value& given = args_[i];
    tn_value& kept = node_->args[i];
    kept = given;
    switch (given.tag) {
      case TN_VALUE_TENSOR:
        kept.as.i = node_->nedges;
        kept.count = 1;
        add_edge(given.as.tensor);
        break;
      case TN_VALUE_TENSORS:
        kept.as.i = node_->nedges;
        for (uint32_t e = 0; e < given.count; ++e) add_edge(given.as.tensors[e]);
        break;
      case TN_VALUE_INTS:
        if (!is_default(op_, i, given)) kept.as.ints = copy(given.as.ints, given.count);
        break;
      case TN_VALUE_STR:
        if (!is_default(op_, i, given)) {
          kept.as.str = copy(given.as.str, given.count);
          tail_ += padded(given.count) - given.count;
        }
        break;
      case TN_VALUE_COMPLEX: kept.as.floats = copy(given.as.floats, 2); break;
      case TN_VALUE_GENERATOR: kept = tn_value{}; break;  // borrowed; no gradient draws its numbers again
      default: break;
    }
  }

  template <class T>
  const T* copy(const T* values, uint32_t n) {
    T* kept = take<T>(n);
    if (n != 0) std::memcpy(kept, values, n * sizeof(T));
    return kept;
  }

  bool arg_needs(uint32_t arg) const {
    const tn_value& value = node_->args[arg];
    if (value.tag != TN_VALUE_TENSOR && value.tag != TN_VALUE_TENSORS) return false;
    for (uint32_t e = 0; e < value.count; ++e)
      if (node_->edges[value.as.i + e].node != nullptr) return true;
    return false;
  }

  void save() {
    const Masks which = saves(op_, args_, [&](uint32_t arg) { return arg_needs(arg); });
    for (uint32_t i = 0; i < nargs_ && which.in >> i != 0; ++i) {
      if ((which.in >> i & 1) == 0) continue;
      const uint32_t first = static_cast<uint32_t>(node_->args[i].as.i);
      if (args_[i].tag == TN_VALUE_TENSOR) save_one(*args_[i].as.tensor, first);
      if (args_[i].tag == TN_VALUE_TENSORS)
        for (uint32_t e = 0; e < args_[i].count; ++e)
          if (args_[i].as.tensors[e] != nullptr) save_one(*args_[i].as.tensors[e], first + e);
    }
    for (uint32_t k = 0; k < nouts_; ++k)
      if (which.out >> k & 1) save_one(*outs_[k], k | kResultBit);
  }

  void save_one(const tn_tensor& tensor, uint32_t place) {
    if (tensor.flags & kInference)
      fail(TN_FAILED_PRECONDITION,
           "[{}] a tensor made in inference mode cannot be saved for the gradient; clone it outside of that mode",
           op_.name());
    const tn_tensor* source = &tensor;
    bool overwritten = false;
    if (originals_ != nullptr && (place & kResultBit) == 0) {
      for (uint32_t k = 0; k < nouts_; ++k)
        if (outs_[k] == &tensor && originals_[k]) source = originals_[k].get();
      for (uint32_t k = 0; k < nouts_; ++k) overwritten |= source->storage == outs_[k]->storage;
    }
    // What the op has overwritten by way of another view is gone: an older version makes that an error when it is asked for.
    const uint32_t version = source->storage->version.load(std::memory_order_relaxed) - overwritten;
    node_->saved[node_->nsaved] = {make_alias(*source), version, place};
    ++node_->nsaved;
  }

  const tn_op& op_;
  const tn_value* args_;
  uint32_t nargs_;
  tn_tensor* const* outs_;
  uint32_t nouts_;
  const Ref* originals_;
  char* tail_;
  OpNode* node_;
  NodeRef owner_;
};

void forget_history(tn_tensor& tensor) {
  tensor.flags &= static_cast<uint8_t>(~kRequiresGrad);
  release(std::exchange(tensor.grad_fn, nullptr));
}

// Puts the op on the tape; results of no differentiable dtype stay as they are. False when there is nothing to record.
bool put_on_tape(const tn_op& op, const tn_value* args, tn_tensor* const* outs, uint32_t nouts,
                 const Ref* originals = nullptr) {
  if (!has_gradient(op)) return false;
  uint32_t tied = 0;
  for (uint32_t k = 0; k < nouts; ++k) tied += is_differentiable(outs[k]->dtype());
  if (tied == 0) return false;
  Node* node = Builder(op, args, outs, nouts, originals).build().release();
  node->refs.store(tied, std::memory_order_relaxed);
  for (uint32_t k = 0; k < nouts; ++k) {
    tn_tensor& out = *outs[k];
    if (!is_differentiable(out.dtype())) continue;
    Node* old = std::exchange(out.grad_fn, node);
    out.output_nr = static_cast<uint16_t>(k);
    out.flags |= kRequiresGrad;
    release(old);
  }
  return true;
}

}  // namespace

void record(const Frame& frame, tn_tensor* const* outs, uint32_t nouts) {
  put_on_tape(frame.op(), frame.args(), outs, nouts);
}

void record(const tn_op& op, const tn_value* args, tn_tensor* const* outs, uint32_t nouts) {
  put_on_tape(op, args, outs, nouts);
}

// ---- Views --------------------------------------------------------------------------------------------------------------
// A view shares elements with its base, so a write to either changes the other's history. When a view is written, its base gets
// the history of as_strided_scatter(base, view); when anything else changes a base, its other views take as_strided(base)
// the next time they are asked. Both are ordinary ops, so gradients of gradients follow.

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
  int64_t low = 0, high = 0;
  for (uint32_t d = 0; d < base.ndim(); ++d) {
    const int64_t reach = (base.shape()[d] - 1) * base.strides()[d];
    (reach < 0 ? low : high) += reach;
  }
  return {-low, base.numel == 0 ? 0 : high - low + 1};
}

Geometry geometry_in(const tn_tensor& base, const Buffer& buffer, const tn_tensor& tensor) {
  const int64_t bytes = tensor.view.offset - base.view.offset;
  return {Dims(tensor.sizes()), Dims(std::span(tensor.strides(), tensor.ndim())),
          buffer.low + bytes / static_cast<int64_t>(dtype_size(base.dtype()))};
}

tn_value ints_value(const Dims& dims) {
  tn_value value{TN_VALUE_INTS, dims.n, {}};
  value.as.ints = dims.v;
  return value;
}
tn_value as_value(int64_t i) {
  tn_value value{TN_VALUE_INT, 0, {}};
  value.as.i = i;
  return value;
}
tn_value as_value(tn_tensor& tensor) {
  tn_value value{TN_VALUE_TENSOR, 0, {}};
  value.as.tensor = &tensor;
  return value;
}

// Gives `out` the history of a part of `x`, without computing it.
void tie_part(tn_tensor& out, tn_tensor& x, const Geometry& part) {
  static const tn_op& op = builtin("as_strided");
  const tn_value args[] = {as_value(x), ints_value(part.shape), ints_value(part.strides), as_value(part.offset)};
  tn_tensor* const outs[] = {&out};
  put_on_tape(op, args, outs, 1);
}

// Gives `out` the history of `x` with `src` put into a part of it.
void tie_scattered(tn_tensor& out, tn_tensor& x, tn_tensor& src, const Geometry& part) {
  static const tn_op& op = builtin("as_strided_scatter");
  const tn_value args[] = {as_value(x), as_value(src), ints_value(part.shape), ints_value(part.strides),
                           as_value(part.offset)};
  tn_tensor* const outs[] = {&out};
  put_on_tape(op, args, outs, 1);
}

// A header of a buffer's shape, for history alone: its elements are those of `base`, and not to be read.
Ref placeholder(const tn_tensor& base, const Buffer& buffer) {
  const int64_t shape[] = {buffer.size}, strides[] = {0};
  return Ref(make_view(base, shape, strides, 0));
}

// The base as its buffer, with its history.
Ref as_buffer(tn_tensor& base, const Buffer& buffer) {
  Ref empty = placeholder(base, buffer), filled = placeholder(base, buffer);
  if (requires_grad(base)) tie_scattered(*filled, *empty, base, geometry_in(base, buffer, base));
  return filled;
}

void renew_view(tn_tensor& view) {
  tn_tensor& base = *view.meta->base;
  if (!base.requires_grad()) return forget_history(view);
  const Buffer buffer = buffer_of(base);
  const Geometry part = geometry_in(base, buffer, view);
  if (base.contiguous()) tie_part(view, base, part);
  else tie_part(view, *as_buffer(base, buffer), part);
}

// After `view` got the history of what was written to it: its base takes that over.
void rebase(tn_tensor& view) {
  AutogradMeta& meta = *view.meta;
  tn_tensor& base = *meta.base;
  meta.base_fn.store(base.grad_fn, std::memory_order_relaxed);  // the view's history is right as it is
  if (view.requires_grad() || base.requires_grad()) {
    const Buffer buffer = buffer_of(base);
    const Geometry part = geometry_in(base, buffer, view);
    if (base.contiguous()) {
      tie_scattered(base, base, view, part);
    } else {
      Ref before = as_buffer(base, buffer), after = placeholder(base, buffer);
      tie_scattered(*after, *before, view, part);
      tie_part(base, *after, geometry_in(base, buffer, base));
    }
  }
  meta.base_fn.store(base.grad_fn, std::memory_order_release);
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
  if (requires_grad(x)) put_on_tape(frame.op(), frame.args(), &out, 1);
  out->flags |= x.flags & kUntracked;
  tn_tensor* base = (x.flags & kIsView) ? x.meta->base : &x;
  AutogradMeta& meta = meta_of(*out);
  retain(base);
  meta.base = base;
  meta.base_fn.store(base->grad_fn, std::memory_order_relaxed);
  out->flags |= kIsView;
}

// ---- In place -----------------------------------------------------------------------------------------------------------

namespace {

void check_target(const Frame& frame, const tn_tensor& target, bool recorded) {
  if (target.storage->read_only) frame.fail(TN_FAILED_PRECONDITION, "the tensor to write to is read-only");
  if (!target.contiguous() && has_overlap(target))
    frame.fail(TN_INVALID_ARGUMENT, "elements of the tensor to write to, {}, share memory; clone() it", describe(target));
  if (!recording()) return;
  const bool view = (target.flags & kIsView) != 0;
  const tn_tensor& owner = view ? *target.meta->base : target;
  if (owner.requires_grad() && owner.grad_fn == nullptr)
    frame.fail(TN_FAILED_PRECONDITION, "{} that requires a gradient cannot be changed in place; use no_grad or a copy",
               view ? "a view of a leaf" : "a leaf");
  if (!recorded) return;
  if (target.flags & kInference)
    frame.fail(TN_FAILED_PRECONDITION, "a tensor made in inference mode cannot join a graph; clone it outside of that mode");
  // When nobody else sees these elements, nobody misses the write.
  if ((target.flags & kUntracked) && target.storage->refs.load(std::memory_order_acquire) != 1)
    frame.fail(TN_FAILED_PRECONDITION,
               "a view made with recording off cannot be changed in place with recording on: the tensor it shows would miss it");
}

}  // namespace

InPlace::InPlace(const Frame& frame, tn_tensor* const* outs, uint32_t nouts) : frame_(frame), outs_(outs), nouts_(nouts) {
  recorded_ = wants_record(frame);
  for (uint32_t k = 0; k < nouts; ++k) check_target(frame, *outs[k], recorded_);
  if (recorded_ && has_gradient(frame.op())) keep_originals();
}

void InPlace::keep_originals() {
  static const tn_op& clone = builtin("clone");
  const auto needs = [&](uint32_t arg) {
    const tn_value& value = frame_.arg(arg);
    return value.tag == TN_VALUE_TENSOR && requires_grad(*value.as.tensor);
  };
  const Masks which = saves(frame_.op(), frame_.args(), needs);
  for (uint32_t i = 0; i < frame_.nargs() && which.in >> i != 0; ++i) {
    if ((which.in >> i & 1) == 0 || !frame_.is_tensor(i)) continue;
    for (uint32_t k = 0; k < nouts_; ++k) {
      if (&frame_.tensor(i) != outs_[k] || originals_[k]) continue;
      const uint32_t modes = std::exchange(t_modes, t_modes & ~TN_MODE_GRAD);
      const tn_value arg = frame_.arg(i);
      tn_tensor* copy = nullptr;
      tn_status* status = tn_op_call(&clone, &arg, 1, &copy, 1);
      t_modes = modes;
      check(status);
      originals_[k] = Ref(copy);
    }
  }
}

void InPlace::record() {
  for (uint32_t k = 0; k < nouts_; ++k) bump_version(*outs_[k]);
  if (!recording()) return;
  const bool tied = recorded_ && put_on_tape(frame_.op(), frame_.args(), outs_, nouts_, originals_);
  for (uint32_t k = 0; k < nouts_; ++k) {
    tn_tensor& out = *outs_[k];
    if (!tied && out.grad_fn != nullptr) forget_history(out);
    if (out.flags & kIsView) rebase(out);
  }
}

}  // namespace tenon::core
