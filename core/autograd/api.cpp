// The C functions of tenon/autograd.h, but tn_function_record; hooks of steps.
#include <algorithm>
#include <atomic>

#include "autograd/engine.hpp"
#include "boundary.hpp"
#include "dispatch/record.hpp"

using namespace tenon::core;

namespace {

constexpr uint32_t kPublicModes = TN_MODE_GRAD | TN_MODE_INFERENCE | TN_MODE_ANOMALY;

bool is_leaf(tn_tensor& tensor) { return !requires_grad(tensor) || tensor.grad_fn == nullptr; }

// A view that becomes a leaf no longer follows its base.
void leave_base(tn_tensor& tensor) {
  if ((tensor.flags & kIsView) == 0) return;
  tensor.flags &= static_cast<uint8_t>(~kIsView);
  release(std::exchange(tensor.meta->base, nullptr));
}

void set_requires_grad(tn_tensor& tensor, bool on) {
  constexpr std::string_view kName = "requires_grad";
  if (on && !is_differentiable(tensor.dtype()))
    fail(TN_INVALID_ARGUMENT,
         "[{}] a tensor of dtype {} has no gradient; a float or complex dtype has", kName,
         dtype_name(tensor.dtype()));
  if (!is_leaf(tensor)) {
    if (on) return;
    fail(TN_FAILED_PRECONDITION,
         "[{}] the result of '{}' cannot stop requiring a gradient; detach() it", kName,
         tensor.grad_fn->name());
  }
  if (on && (tensor.flags & kInference))
    fail(TN_FAILED_PRECONDITION,
         "[{}] a tensor made in inference mode cannot join a graph; clone it outside of that mode",
         kName);
  if (on) {
    leave_base(tensor);
    leaf_of(tensor);
    tensor.flags |= kRequiresGrad;
  } else {
    tensor.flags &= static_cast<uint8_t>(~kRequiresGrad);
  }
}

void set_grad(tn_tensor& tensor, tn_tensor* grad) {
  if (grad == nullptr) {
    if (tensor.meta != nullptr && tensor.meta->leaf != nullptr) tensor.meta->leaf->set_grad(Ref());
    return;
  }
  if (!same_kind(*grad, tensor))
    fail(TN_INVALID_ARGUMENT, "[set_grad] the gradient is {}, expected {}", describe(*grad),
         describe(tensor));
  if (grad == &tensor) fail(TN_INVALID_ARGUMENT, "[set_grad] a tensor cannot be its own gradient");
  leaf_of(tensor).set_grad(Ref::share(grad));
}

void set_data(tn_tensor& tensor, const tn_tensor& data) {
  constexpr std::string_view kName = "set_data";
  if (!is_leaf(tensor) || (tensor.flags & kIsView) != 0)
    fail(TN_FAILED_PRECONDITION,
         "[{}] {} is {}: only a leaf that is no view takes other elements; detach() it", kName,
         describe(tensor), is_leaf(tensor) ? "a view" : "the result of an op");
  if (!same_dims(tensor.sizes(), data.sizes()))
    fail(TN_INVALID_ARGUMENT, "[{}] the elements are {}, expected shape {}", kName, describe(data),
         format_shape(tensor.sizes()));
  if (tensor.requires_grad() && !is_differentiable(data.dtype()))
    fail(TN_INVALID_ARGUMENT, "[{}] elements of dtype {} have no gradient, which {} requires",
         kName, dtype_name(data.dtype()), describe(tensor));
  if (tensor.requires_grad() && (data.flags & kInference) != 0)
    fail(
        TN_FAILED_PRECONDITION,
        "[{}] elements made in inference mode cannot join a graph; clone them outside of that mode",
        kName);
  if (&tensor == &data) return;
  const bool alike = same_kind(tensor, data);
  show_elements(tensor, data);
  if (!alike) renew_leaf(tensor);
}

// The hook gets its number and place here, and owns its context from here on.
uint64_t add_hook(tn_tensor& tensor, Hook given, void (*destroy)(void*)) {
  static std::atomic<uint64_t> next{1};
  if (!requires_grad(tensor))
    fail(TN_FAILED_PRECONDITION, "[hook] a tensor that requires no gradient never gets one");
  if (given.after != nullptr && tensor.grad_fn == nullptr)
    fail(TN_FAILED_PRECONDITION, "[hook] a leaf passes nothing on");
  given.id = next.fetch_add(1, std::memory_order_relaxed);
  given.nr = tensor.grad_fn != nullptr ? tensor.output_nr : 0u;
  Node* node = tensor.grad_fn != nullptr ? tensor.grad_fn : tensor.meta->leaf;
  HookList& hooks = hooks_of(*node);
  AutogradMeta& meta = meta_of(tensor);
  if (!node->is_leaf) {
    retain(node);
    meta.hooked.push_back({given.id, NodeRef(node)});
  }
  auto hook = own(given);
  hooks.add(hook);
  hook->destroy = destroy;
  return given.id;
}

void remove_hook(tn_tensor& tensor, uint64_t id) {
  AutogradMeta* meta = tensor.meta;
  if (meta != nullptr && meta->leaf != nullptr && hooks_of(*meta->leaf).remove(id)) return;
  if (meta != nullptr) {
    const auto found = std::find_if(meta->hooked.begin(), meta->hooked.end(),
                                    [&](const auto& entry) { return entry.id == id; });
    if (found != meta->hooked.end()) {
      const NodeRef node = std::move(found->node);
      meta->hooked.erase(found);
      hooks_of(*node).remove(id);
      return;
    }
  }
  fail(TN_NOT_FOUND, "[remove_hook] the tensor has no hook {}", id);
}

// ---- Backward ----------------------------------------------------------------------------------

Ref first_gradient(tn_tensor& output, tn_tensor* given, uint32_t i, std::string_view name) {
  if (given == nullptr) {
    if (output.numel != 1)
      fail(TN_INVALID_ARGUMENT,
           "[{}] output {} has shape {}: a gradient must be given unless there is one element",
           name, i, format_shape(output.sizes()));
    if (is_complex(output.dtype()))
      fail(TN_INVALID_ARGUMENT, "[{}] output {} is complex: its gradient must be given", name, i);
    return constant_like(meta_of_tensor(output), 1);
  }
  if (!same_kind(*given, output))
    fail(TN_INVALID_ARGUMENT, "[{}] the gradient of output {} is {}, expected {}", name, i,
         describe(*given), describe(output));
  if ((t_modes & TN_MODE_ANOMALY) && has_nan(*given))
    fail(TN_FAILED_PRECONDITION, "[{}] the gradient given for output {} is NaN", name, i);
  return Ref::share(given);
}

void add_roots(Run& run, tn_tensor* const* outputs, uint32_t count, tn_tensor* const* grads,
               std::string_view name) {
  for (uint32_t i = 0; i < count; ++i) {
    if (outputs[i] == nullptr)
      fail(TN_INVALID_ARGUMENT, "[{}] output {} is a null handle", name, i);
    if (!requires_grad(*outputs[i]))
      fail(TN_FAILED_PRECONDITION,
           "[{}] output {} requires no gradient: nothing it was computed from does, or recording "
           "was off",
           name, i);
    run.add_root(*outputs[i],
                 first_gradient(*outputs[i], grads == nullptr ? nullptr : grads[i], i, name));
  }
}

void compute_gradients(tn_tensor* const* outputs, uint32_t noutputs, tn_tensor* const* grads,
                       tn_tensor* const* inputs, uint32_t ninputs, uint32_t flags,
                       tn_tensor** results) {
  constexpr std::string_view kName = "gradient";
  if (ninputs == 0) return;
  std::fill_n(results, ninputs, nullptr);
  Run run(flags);
  add_roots(run, outputs, noutputs, grads, kName);
  for (uint32_t i = 0; i < ninputs; ++i) {
    if (inputs[i] == nullptr) fail(TN_INVALID_ARGUMENT, "[{}] input {} is a null handle", kName, i);
    if (!requires_grad(*inputs[i]))
      fail(TN_FAILED_PRECONDITION, "[{}] input {} requires no gradient", kName, i);
    run.capture(*inputs[i]);
  }
  run.execute();
  std::vector<Ref> found(ninputs);
  for (uint32_t i = 0; i < ninputs; ++i) {
    found[i] = run.captured(i);
    if (!found[i] && (flags & TN_BACKWARD_ALLOW_UNUSED) == 0)
      fail(TN_FAILED_PRECONDITION,
           "[{}] the outputs do not depend on input {}; allow_unused gives an absent gradient "
           "instead",
           kName, i);
  }
  for (uint32_t i = 0; i < ninputs; ++i) results[i] = found[i].take();
}

}  // namespace

uint32_t tn_mode_get(void) { return t_modes & kPublicModes; }

uint32_t tn_mode_set(uint32_t modes) {
  const uint32_t before = t_modes;
  t_modes = (before & ~kPublicModes) | (modes & kPublicModes);
  return before & kPublicModes;
}

uint32_t tn_tensor_requires_grad(const tn_tensor* tensor) {
  return answer(0u, [&]() -> uint32_t {
    return tensor != nullptr && requires_grad(const_cast<tn_tensor&>(*tensor));
  });
}

tn_status* tn_tensor_set_requires_grad(tn_tensor* tensor, uint32_t on) {
  TN_REQUIRE(tensor);
  return guarded([&] { set_requires_grad(*tensor, on != 0); });
}

uint32_t tn_tensor_is_leaf(const tn_tensor* tensor) {
  return answer(0u, [&]() -> uint32_t {
    return tensor != nullptr && is_leaf(const_cast<tn_tensor&>(*tensor));
  });
}

tn_tensor* tn_tensor_grad(const tn_tensor* tensor) {
  if (tensor == nullptr || tensor->meta == nullptr || tensor->meta->leaf == nullptr) return nullptr;
  return tensor->meta->leaf->get_grad().take();
}

tn_status* tn_tensor_set_grad(tn_tensor* tensor, tn_tensor* grad) {
  TN_REQUIRE(tensor);
  return guarded([&] { set_grad(*tensor, grad); });
}

tn_status* tn_tensor_set_data(tn_tensor* tensor, const tn_tensor* data) {
  TN_REQUIRE(tensor, data);
  return guarded([&] { set_data(*tensor, *data); });
}

tn_status* tn_tensor_detach(tn_tensor* tensor, tn_tensor** out) {
  TN_REQUIRE(tensor, out);
  return guarded([&] {
    *out = make_alias(*tensor);
    (*out)->flags |= tensor->flags & kInference;
  });
}

tn_str tn_tensor_grad_fn_name(const tn_tensor* tensor) {
  return answer(tn_str{"", 0}, [&] {
    const bool has = tensor != nullptr && requires_grad(const_cast<tn_tensor&>(*tensor)) &&
                     tensor->grad_fn != nullptr;
    return to_str(has ? tensor->grad_fn->name() : "");
  });
}

tn_status* tn_backward(tn_tensor* const* outputs, uint32_t count, tn_tensor* const* grads,
                       uint32_t flags) {
  TN_REQUIRE_ARRAY(outputs, count);
  return guarded([&] {
    Run run(flags);
    add_roots(run, outputs, count, grads, "backward");
    run.execute();
  });
}

tn_status* tn_gradient(tn_tensor* const* outputs, uint32_t noutputs, tn_tensor* const* grads,
                       tn_tensor* const* inputs, uint32_t ninputs, uint32_t flags,
                       tn_tensor** results) {
  TN_REQUIRE_ARRAY(outputs, noutputs);
  TN_REQUIRE_ARRAY(inputs, ninputs);
  TN_REQUIRE_ARRAY(results, ninputs);
  return guarded(
      [&] { compute_gradients(outputs, noutputs, grads, inputs, ninputs, flags, results); });
}

tn_status* tn_tensor_add_hook(tn_tensor* tensor, tn_grad_hook_fn hook, void* ctx,
                              void (*destroy)(void* ctx), uint64_t* id) {
  TN_REQUIRE(tensor, hook);
  return guarded([&] {
    const uint64_t made = add_hook(*tensor, Hook{.run = hook, .ctx = ctx}, destroy);
    if (id != nullptr) *id = made;
  });
}

tn_status* tn_tensor_add_step_hook(tn_tensor* tensor, tn_step_hook_fn hook, void* ctx,
                                   void (*destroy)(void* ctx), uint64_t* id) {
  TN_REQUIRE(tensor, hook);
  return guarded([&] {
    const uint64_t made = add_hook(*tensor, Hook{.after = hook, .ctx = ctx}, destroy);
    if (id != nullptr) *id = made;
  });
}

tn_status* tn_tensor_remove_hook(tn_tensor* tensor, uint64_t id) {
  TN_REQUIRE(tensor);
  return guarded([&] { remove_hook(*tensor, id); });
}
