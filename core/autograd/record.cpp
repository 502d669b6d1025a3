#include "dispatch/record.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "autograd/op_node.hpp"
#include "autograd/tape.hpp"

namespace tenon::core {

thread_local constinit uint32_t t_modes TN_TLS = TN_MODE_GRAD;
static thread_local constinit const tn_saved_hooks* t_saved_hooks TN_TLS = nullptr;

bool requires_grad(const tn_value& value) {
  for (tn_tensor* tensor : tensors_in(value))
    if (tensor != nullptr && requires_grad(*tensor)) return true;
  return false;
}

namespace {

// How much a node must hold.
struct Extent {
  uint32_t edges = 0;
  uint32_t saved = 0;
  size_t tail = 0;  // bytes of shapes, lists and strings
};

Masks split(uint32_t mask) { return {mask & 0xffffu, mask >> 16}; }

// Entries of a list of results share its bit: those beyond the mask's last bit have what that has.
Masks with_entries(const tn_op& op, Masks masks) {
  const size_t list = op.schema.results.size() - 1;
  if (op.schema.list_result && (masks.out >> list & 1) != 0) masks.out |= ~uint64_t{0} << list;
  return masks;
}
bool has_result(const Masks& masks, uint32_t k) { return (masks.out >> std::min(k, 63u) & 1) != 0; }

// All that may be saved, whatever requires a gradient.
Masks widest(const tn_op& op) {
  if (op.gradient == nullptr)
    return with_entries(op, {op.foreign->def.saved_inputs, op.foreign->def.saved_outputs});
  const GradFormula& f = *op.gradient;
  return split(f.always | f.if_needs[0] | f.if_needs[1] | f.if_needs[2]);
}

// The masks of a plugin's op for one call, within those for all calls.
Masks narrowed(const tn_op& op, const tn_value* args) {
  const tn_op_def& def = op.foreign->def;
  const Masks all = widest(op);
  if (def.saves == nullptr || !op.foreign->live) return all;
  Masks now{def.saved_inputs, def.saved_outputs};
  const auto nargs = static_cast<uint32_t>(op.schema.args.size());
  uint32_t needed = 0;
  for (uint32_t a = 0; a < nargs; ++a) needed |= uint32_t{requires_grad(args[a])} << a;
  def.saves(def.self, args, nargs, needed, &now.in, &now.out);
  now = with_entries(op, now);
  return {now.in & all.in, now.out & all.out};
}

// Lists and strings that are the schema's own defaults live as long as the op.
bool is_default(const tn_op& op, uint32_t arg, const tn_value& value) {
  return value.as.pointer == op.schema.args[arg].default_value.as.pointer;
}

size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

Extent measure(const tn_op& op, const tn_value* args, uint32_t nargs, tn_tensor* const* outs,
               uint32_t nouts) {
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
        for (const tn_tensor* entry : tensors_in(value))
          if (entry != nullptr) extent.tail += entry->ndim() * sizeof(int64_t);
        break;
      case TN_VALUE_INTS:
        if (!is_default(op, i, value)) extent.tail += value.count * sizeof(int64_t);
        break;
      case TN_VALUE_STR:
        if (!is_default(op, i, value)) extent.tail += padded(value.count);
        break;
      case TN_VALUE_COMPLEX:
        extent.tail += 2 * sizeof(double);
        break;
      default:
        break;
    }
  }
  for (uint32_t k = 0; k < nouts; ++k) {
    extent.saved += has_result(masks, k);
    extent.tail += outs[k]->ndim() * sizeof(int64_t);
  }
  return extent;
}

// Fills one node; what it holds is copied behind it, in one block.
class Builder {
 public:
  // `originals`: of a call in place, by output, what it overwrote; NULL entries where
  // nobody needs that.
  Builder(const tn_op& op, const tn_value* args, tn_tensor* const* outs, uint32_t nouts,
          const Ref* originals)
      : op_(op),
        args_(args),
        nargs_(static_cast<uint32_t>(op.schema.args.size())),
        outs_(outs),
        nouts_(nouts),
        originals_(originals) {
    const Extent extent = measure(op, args, nargs_, outs, nouts);
    const size_t arrays = extent.edges * (sizeof(Edge) + sizeof(TensorMeta)) +
                          nouts * sizeof(TensorMeta) + extent.saved * sizeof(Saved) +
                          nargs_ * sizeof(tn_value);
    uint8_t block_class;
    char* memory =
        static_cast<char*>(take_node_memory(sizeof(OpNode) + arrays + extent.tail, block_class));
    tail_ = memory + sizeof(OpNode);
    Edge* edges = take<Edge>(extent.edges);
    node_ = new (memory) OpNode(op, nouts, edges, block_class);
    owner_.reset(node_);
    may_save_ = extent.saved != 0;
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
    if (may_save_) save();
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
    TensorMeta meta = meta_of_tensor(tensor);
    if (like != nullptr && same_dims(like->sizes(), tensor.sizes())) {
      meta.shape = like->shape;
    } else {
      int64_t* copy = take<int64_t>(tensor.ndim());
      copy_dims(tensor.sizes(), copy);
      meta.shape = copy;
    }
    return meta;
  }

  void add_edge(tn_tensor* tensor) {
    const uint32_t e = node_->nedges;
    node_->inputs[e] = tensor != nullptr
                           ? describe(*tensor, nouts_ != 0 ? &node_->results[0] : nullptr)
                           : TensorMeta{};
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
        for (tn_tensor* entry : tensors_in(given)) add_edge(entry);
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
      case TN_VALUE_COMPLEX:
        kept.as.floats = copy(given.as.floats, 2);
        break;
      case TN_VALUE_GENERATOR:
        kept = tn_value{};
        break;  // borrowed; no gradient draws its numbers again
      default:
        break;
    }
  }

  template <class T>
  const T* copy(const T* values, uint32_t n) {
    T* kept = take<T>(n);
    if (n != 0) std::memcpy(kept, values, n * sizeof(T));
    return kept;
  }

  void save() {
    node_->hooks = t_saved_hooks;
    const Masks which = saves(op_, args_);
    for (uint32_t i = 0; i < nargs_ && which.in >> i != 0; ++i) {
      if ((which.in >> i & 1) == 0) continue;
      auto edge = static_cast<uint32_t>(node_->args[i].as.i);
      for (tn_tensor* tensor : tensors_in(args_[i])) {
        if (tensor != nullptr) save_one(*tensor, edge);
        ++edge;
      }
    }
    for (uint32_t k = 0; k < nouts_; ++k)
      if (has_result(which, k)) save_one(*outs_[k], k | kResultBit);
  }

  void save_one(tn_tensor& tensor, uint32_t place) {
    if (tensor.flags & kInference)
      fail(TN_FAILED_PRECONDITION,
           "[{}] a tensor made in inference mode cannot be saved for the gradient; clone it "
           "outside of that mode",
           op_.name());
    const tn_tensor* source = &tensor;
    bool overwritten = false;
    if (originals_ != nullptr && (place & kResultBit) == 0) {
      for (uint32_t k = 0; k < nouts_; ++k)
        if (outs_[k] == &tensor && originals_[k]) source = originals_[k].get();
      for (uint32_t k = 0; k < nouts_; ++k) overwritten |= source->storage == outs_[k]->storage;
    }
    // If the op overwrote the tensor through another view, the old elements are lost: an older version
    // makes reading it an error.
    const uint32_t version = source->storage->version.load(std::memory_order_relaxed) - overwritten;
    Ref kept(make_alias(*source));
    if (node_->hooks != nullptr) kept = packed(tensor, kept);
    node_->saved[node_->nsaved] = {kept.take(), version, place};
    ++node_->nsaved;
  }

  Ref packed(tn_tensor& tensor, const Ref& alias) {
    const Without unrecorded(TN_MODE_GRAD);
    tn_tensor* kept = nullptr;
    check(node_->hooks->pack(node_->hooks->ctx, &tensor, alias.get(), &kept));
    if (kept == nullptr)
      fail(TN_INVALID_ARGUMENT, "[{}] hooks packed a saved tensor into nothing", op_.name());
    return Ref(kept);
  }

  const tn_op& op_;
  const tn_value* args_;
  uint32_t nargs_;
  tn_tensor* const* outs_;
  uint32_t nouts_;
  const Ref* originals_;
  bool may_save_;
  char* tail_;
  OpNode* node_;
  NodeRef owner_;
};

}  // namespace

bool has_gradient(const tn_op& op) {
  return op.gradient != nullptr ? op.gradient->apply != nullptr
                                : op.foreign != nullptr && op.foreign->def.gradient != nullptr;
}

Masks saves(const tn_op& op, const tn_value* args) {
  if (op.gradient == nullptr) return narrowed(op, args);
  const GradFormula& f = *op.gradient;
  uint32_t mask = f.always;
  for (uint32_t a = 0; a < std::size(f.if_needs); ++a)
    if (f.if_needs[a] != 0 && requires_grad(args[a])) mask |= f.if_needs[a];
  if (f.unread != nullptr) mask &= ~f.unread(args);
  return split(mask);
}

void forget_history(tn_tensor& tensor) {
  tensor.flags &= static_cast<uint8_t>(~kRequiresGrad);
  release(std::exchange(tensor.grad_fn, nullptr));
}

bool record(const tn_op& op, const tn_value* args, tn_tensor* const* outs, uint32_t nouts,
            const Ref* originals) {
  if (!has_gradient(op)) return false;
  const uint32_t tied = count_differentiable(outs, nouts);
  if (tied == 0) return false;
  tie(Builder(op, args, outs, nouts, originals).build().release(), tied, outs, nouts);
  return true;
}

}  // namespace tenon::core

const tn_saved_hooks* tn_saved_hooks_set(const tn_saved_hooks* hooks) {
  return std::exchange(tenon::core::t_saved_hooks, hooks);
}
