#include "autograd/op_node.hpp"

#include <complex>

#include "dispatch/foreign.hpp"
#include "dispatch/record.hpp"

namespace tenon::core {

OpNode::~OpNode() {
  if (freed) return;
  for (uint32_t i = 0; i < nsaved; ++i) tenon::core::release(saved[i].alias);
}

void OpNode::apply(Run& run, tn_tensor* const* grads, tn_tensor** outputs) {
  Unpacked values(*this, run.keeps_graph());
  GradCall call(*this, run, values, grads, outputs);
  try {
    if (hooks != nullptr) values.restore(*this);
    if (op.gradient != nullptr)
      op.gradient->apply(call);
    else
      apply_foreign(call);
  } catch (const Error& error) {
    const std::string place = fmt::format("[{}]", op.name());
    if (std::string_view(error.what()).starts_with(place)) throw;
    throw Error(error.code(), fmt::format("{} in its gradient: {}", place, error.what()));
  }
}

// ---- Saved values ------------------------------------------------------------------------------

void fail_freed(const Node& node) {
  fail(TN_FAILED_PRECONDITION,
       "[{}] what its gradient needs was freed by an earlier backward through this graph; pass "
       "retain_graph to that one",
       node.name());
}

Unpacked::Unpacked(OpNode& node, bool keep) {
  if (node.nsaved == 0) return;
  {
    std::lock_guard guard(node.lock);
    if (!node.freed) {
      saved_.make(node.nsaved);
      std::copy_n(node.saved, node.nsaved, saved_.data());
      if (keep)
        for (const Saved& one : saved_) retain(one.alias);
      else
        node.freed = true;
    }
  }
  if (saved_.size() == 0) fail_freed(node);
}

Unpacked::~Unpacked() {
  for (const Saved& one : saved_) release(one.alias);
}

const Saved* Unpacked::find(uint32_t place) const {
  for (const Saved& one : saved_)
    if (one.place == place) return &one;
  return nullptr;
}

void Unpacked::restore(const OpNode& node) {
  const Without unrecorded(TN_MODE_GRAD);
  for (Saved& saved : saved_) {
    tn_tensor* found = nullptr;
    check(node.hooks->unpack(node.hooks->ctx, saved.alias, &found));
    Ref value(found);
    const uint32_t index = saved.place & ~kResultBit;
    const TensorMeta& meta = saved.place != index ? node.results[index] : node.inputs[index];
    if (!value || value->dtype() != meta.dtype || value->device != meta.device ||
        !std::ranges::equal(value->sizes(), meta.sizes()))
      fail(TN_INVALID_ARGUMENT,
           "[{}] what hooks unpacked is not the tensor of shape {} that was saved, but {}",
           node.name(), format_shape(meta.sizes()),
           value ? fmt::format("{}", describe(*value)) : "nothing");
    release(std::exchange(saved.alias, value.take()));
    saved.version = saved.alias->storage->version.load(std::memory_order_acquire);
  }
}

Ref unchanged(const OpNode& node, const Saved& saved) {
  const uint32_t version = saved.alias->storage->version.load(std::memory_order_acquire);
  if (version != saved.version)
    fail(TN_FAILED_PRECONDITION,
         "[{}] a tensor needed for the gradient was changed in place after it was saved (version "
         "{}, saved at {})",
         node.name(), version, saved.version);
  return Ref::share(saved.alias);
}

// A result is tied to the node itself, an argument to where its gradient goes.
Ref with_history(OpNode& node, const Saved& saved) {
  Ref value = unchanged(node, saved);
  const uint32_t index = saved.place & ~kResultBit;
  const Edge edge = saved.place != index ? Edge{&node, index} : node.edges[index];
  const bool tied_before = value->grad_fn != nullptr;
  if (edge.node == nullptr || !is_differentiable(value->dtype()) || tied_before) return value;
  // Tensors that hooks unpacked are ours, and a layer may know them by their handles.
  if (node.hooks == nullptr) value = Ref(make_alias(*value));
  retain(edge.node);
  value->grad_fn = edge.node;
  value->output_nr = static_cast<uint16_t>(edge.nr);
  value->flags |= kRequiresGrad;
  return value;
}

Tensor GradCall::unpack(const Saved& saved) const {
  Ref value = run_.create_graph() ? with_history(node_, saved) : unchanged(node_, saved);
  return Tensor::adopt(value.take());
}

// ---- What formulas ask -------------------------------------------------------------------------

const tn_op& GradCall::op() const { return node_.op; }
uint32_t GradCall::nargs() const { return node_.nargs; }
uint32_t GradCall::nresults() const { return node_.nresults; }

const tn_value& GradCall::value(uint32_t arg) const {
  if (arg >= node_.nargs)
    fail(TN_INTERNAL, "[{}] its gradient asks for argument {} of {}", node_.name(), arg,
         node_.nargs);
  return node_.args[arg];
}

bool GradCall::is_tensor(uint32_t arg) const {
  const uint32_t tag = value(arg).tag;
  return tag == TN_VALUE_TENSOR || tag == TN_VALUE_TENSORS;
}

const TensorMeta* GradCall::input(uint32_t arg, uint32_t entry) const {
  const tn_value& v = value(arg);
  if ((v.tag != TN_VALUE_TENSOR && v.tag != TN_VALUE_TENSORS) || entry >= v.count) return nullptr;
  const TensorMeta& meta = node_.inputs[static_cast<uint32_t>(v.as.i) + entry];
  return meta.device != nullptr ? &meta : nullptr;
}

uint32_t GradCall::edge(uint32_t arg, uint32_t entry) const {
  return static_cast<uint32_t>(value(arg).as.i) + entry;
}

std::string_view GradCall::arg_name(uint32_t arg) const { return node_.op.schema.args[arg].name; }

Tensor GradCall::grad(uint32_t result) const {
  return result < node_.nresults ? Tensor::share(grads_[result]) : Tensor();
}

Tensor GradCall::in(uint32_t arg, uint32_t entry) const {
  if (input(arg, entry) == nullptr) return Tensor();
  const Saved* saved = saved_.find(edge(arg, entry));
  if (saved == nullptr)
    fail(TN_INTERNAL, "[{}] its gradient did not save argument '{}'", node_.name(), arg_name(arg));
  return unpack(*saved);
}

std::vector<Tensor> GradCall::ins(uint32_t arg) const {
  std::vector<Tensor> entries(count(arg));
  for (uint32_t e = 0; e < entries.size(); ++e) entries[e] = in(arg, e);
  return entries;
}

Tensor GradCall::out(uint32_t result) const {
  const Saved* saved = saved_.find(result | kResultBit);
  if (saved == nullptr)
    fail(TN_INTERNAL, "[{}] its gradient did not save result {}", node_.name(), result);
  return unpack(*saved);
}

bool GradCall::needs(uint32_t arg) const {
  for (uint32_t e = 0; e < count(arg); ++e)
    if (needs(arg, e)) return true;
  return false;
}

bool GradCall::needs(uint32_t arg, uint32_t entry) const {
  if (input(arg, entry) == nullptr) return false;
  const Node* next = node_.edges[edge(arg, entry)].node;
  return next != nullptr && run_.wants(next);
}

std::span<const int64_t> GradCall::shape(uint32_t arg, uint32_t entry) const {
  const TensorMeta* meta = input(arg, entry);
  return meta != nullptr ? meta->sizes() : std::span<const int64_t>();
}

const TensorMeta& GradCall::tensor_of(uint32_t arg, std::string_view what) const {
  if (const TensorMeta* meta = input(arg, 0)) return *meta;
  fail(TN_INTERNAL, "[{}] its gradient asks for the {} of '{}'", node_.name(), what, arg_name(arg));
}

tn_dtype GradCall::dtype(uint32_t arg) const { return tensor_of(arg, "dtype").dtype; }

uint32_t GradCall::count(uint32_t arg) const { return is_tensor(arg) ? value(arg).count : 0; }

std::span<const int64_t> GradCall::result_shape(uint32_t result) const {
  return node_.results[result].sizes();
}

double GradCall::real(uint32_t arg) const { return real_of(value(arg)); }

bool GradCall::is_number(uint32_t arg) const {
  return node_.op.schema.args[arg].type == ArgType::Tensor && core::is_number(value(arg));
}

Scalar GradCall::number(uint32_t arg) const {
  const tn_value& v = value(arg);
  if (v.tag == TN_VALUE_BOOL) return v.as.i != 0;
  if (v.tag == TN_VALUE_INT) return v.as.i;
  if (v.tag == TN_VALUE_FLOAT) return v.as.f;
  return std::complex<double>(v.as.floats[0], v.as.floats[1]);
}

Device GradCall::device(uint32_t arg) const { return Device(tensor_of(arg, "device").device); }

void GradCall::set(uint32_t arg, uint32_t entry, Tensor gradient) {
  if (!needs(arg, entry)) return;
  const uint32_t e = edge(arg, entry);
  Ref fitted;
  if (gradient.defined())
    fitted = conform(Ref(gradient.take()), node_.inputs[e], node_.name(), arg_name(arg));
  release(std::exchange(outputs_[e], fitted.take()));
}

Tensor GradCall::arrived(uint32_t arg) {
  return needs(arg) ? Tensor::adopt(run_.take_sum(node_.edges[edge(arg, 0)]).take()) : Tensor();
}

}  // namespace tenon::core
