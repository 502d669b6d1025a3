// What the engine does with single gradients: sums, leaf accumulation, fitting to the tensor
// they belong to.
#include <algorithm>
#include <complex>
#include <cstring>

#include "autograd/engine.hpp"
#include "dispatch/call.hpp"
#include "modes.hpp"
#include "tenon/tensor.hpp"

namespace tenon::core {
namespace {

// Nobody else uses these elements, and they have their own memory.
bool is_sole(const tn_tensor& gradient) {
  const Storage& storage = *gradient.storage;
  return gradient.refs.load(std::memory_order_acquire) == 1 &&
         storage.refs.load(std::memory_order_acquire) == 1 && gradient.contiguous() &&
         storage.release == nullptr && storage.read_only == 0;
}
// Sole, and writing them is cheap.
bool is_ours(const tn_tensor& gradient) { return is_sole(gradient) && gradient.grad_fn == nullptr; }

const tn_op& add_op() {
  static const tn_op& op = builtin("add");
  return op;
}

Ref add(tn_tensor& a, tn_tensor& b) {
  const tn_value args[] = {tensor_value(&a), tensor_value(&b)};
  return call_one(add_op(), args, 2);
}

void add_into(tn_tensor& sum, tn_tensor& term) {
  const tn_value args[] = {tensor_value(&sum), tensor_value(&term)};
  tn_tensor* const outs[] = {&sum};
  call_into(add_op(), args, 2, outs, 1);
}

// Fit to be a leaf's gradient: a tensor of its own, not a part that keeps more memory alive.
bool is_own(const tn_tensor& gradient) { return is_sole(gradient) && gradient.view.offset == 0; }

Tensor share(const Ref& ref) { return Tensor::share(ref.get()); }

// Sums over the dimensions along which `want` was broadcast; undefined when that does not
// lead to it.
Ref sum_to(const Ref& gradient, std::span<const int64_t> want) {
  const auto have = gradient->sizes();
  if (have.size() < want.size()) return Ref();
  const size_t lead = have.size() - want.size();
  Dims dims;
  for (size_t d = 0; d < lead; ++d) dims.push(static_cast<int64_t>(d));
  for (size_t d = 0; d < want.size(); ++d) {
    if (want[d] == have[lead + d]) continue;
    if (want[d] != 1) return Ref();
    dims.push(static_cast<int64_t>(lead + d));
  }
  const bool only_lead = dims.size() == lead;
  Tensor summed = tenon::sum(share(gradient), std::span<const int64_t>(dims), !only_lead);
  if (!only_lead && lead != 0) summed = summed.reshape(want);
  return Ref(summed.take());
}

}  // namespace

Ref conform(Ref gradient, const TensorMeta& want, std::string_view name, std::string_view what) {
  if (same_dims(gradient->sizes(), want.sizes()) && gradient->dtype() == want.dtype &&
      gradient->device == want.device) [[likely]]
    return gradient;
  const auto refuse = [&](const tn_tensor& found) {
    fail(TN_INVALID_ARGUMENT, "[{}] the gradient {} is {}, expected {}{}@{}", name, what,
         describe(found), dtype_name(want.dtype), format_shape(want.sizes()), want.device->id);
  };
  // A number on the host may have joined a device's tensor.
  const bool joined = want.ndim == 0 && want.device->is_host();
  if (gradient->device != want.device && !joined && gradient->ndim() != 0) refuse(*gradient);
  if (!same_dims(gradient->sizes(), want.sizes())) {
    Ref summed = sum_to(gradient, want.sizes());
    if (!summed) refuse(*gradient);
    gradient = std::move(summed);
  }
  Tensor fitted = Tensor::adopt(gradient.take());
  if (fitted.device().get() != want.device) fitted = fitted.to(Device(want.device));
  if (static_cast<tn_dtype>(fitted.dtype()) != want.dtype) {
    if (!is_differentiable(static_cast<tn_dtype>(fitted.dtype()))) refuse(*fitted.get());
    if (is_complex(static_cast<tn_dtype>(fitted.dtype())) && !is_complex(want.dtype))
      fitted = tenon::real(fitted);
    fitted = fitted.to(static_cast<DType>(want.dtype));
  }
  return Ref(fitted.take());
}

Ref Run::sum(Ref a, Ref b) {
  if (!create_graph() && (t_modes & kModeLayers) == 0) {  // a layer knows more of b than of a
    if (!is_ours(*a) && is_ours(*b)) std::swap(a, b);
    if (is_ours(*a)) {
      add_into(*a, *b);
      return a;
    }
  }
  return add(*a, *b);
}

Ref Run::take_sum(Edge edge) {
  tn_tensor*& there = slot(edge);
  return there != nullptr && is_ours(*there) ? Ref(std::exchange(there, nullptr)) : Ref();
}

// No lock is held while an op runs: the gradient is taken out, added to and put back; if another
// thread put one there meanwhile, that is added as well.
void Run::accumulate(LeafNode& leaf, Ref gradient) {
  Ref sum = std::move(gradient);
  bool owned = is_own(*sum), held = false;
  while (true) {
    Ref there;
    {
      std::lock_guard guard(leaf.grad_lock);
      if (leaf.leaf == nullptr) return;
      there = Ref(std::exchange(leaf.grad, nullptr));
      if (!there && owned) {
        leaf.grad = sum.take();
        return;
      }
    }
    if (!there) {
      sum = copy_rows(*sum);
      owned = true;
      continue;
    }
    // The user may hold the gradient's tensor, so it stays the same one, unless a graph needs its old value.
    if (held) std::swap(there, sum);
    if (create_graph() || there->requires_grad()) {
      sum = add(*there, *sum);
    } else {
      try {
        add_into(*there, *sum);
      } catch (...) {
        leaf.set_grad(std::move(there));
        throw;
      }
      sum = std::move(there);
    }
    owned = held = true;
  }
}

bool has_nan(tn_tensor& gradient) {
  const Tensor nans = tenon::isnan(Tensor::share(&gradient).detach());
  return gradient.numel != 0 && nans.any().item<bool>();
}

Ref constant_like(const TensorMeta& like, double value) {
  tn_device& device = *like.device;
  Ref out;
  if (device.is_host() && like.ndim == 0 &&
      (like.dtype == TN_DTYPE_F32 || like.dtype == TN_DTYPE_F64)) {
    out = Ref(make_tensor(like.dtype, {}, device));
    const float single = static_cast<float>(value);
    if (like.dtype == TN_DTYPE_F32)
      std::memcpy(out->view.data, &single, sizeof single);
    else
      std::memcpy(out->view.data, &value, sizeof value);
    return out;
  }
  return Ref(
      tenon::full(like.sizes(), value, static_cast<DType>(like.dtype), Device(&device)).take());
}

}  // namespace tenon::core
