#include "dispatch/execution.hpp"

#include <algorithm>
#include <cstring>

#include "dispatch/call.hpp"
#include "dispatch/scalar.hpp"
#include "on_exit.hpp"

namespace tenon::core {
namespace {

bool same_elements(const tn_tensor& a, const tn_tensor& b) {
  return a.storage == b.storage && a.view.offset == b.view.offset && a.dtype() == b.dtype() &&
         std::ranges::equal(a.sizes(), b.sizes()) &&
         std::equal(a.strides(), a.strides() + a.ndim(), b.strides());
}

}  // namespace

Execution::Execution(Frame& frame, tn_tensor* const* into)
    : frame_(frame), into_(into), out_views_(frame.nresults()), outputs_(frame.nresults()) {
  for (uint32_t i = 0; i < frame.nargs(); ++i) take_argument(i);
  make_outputs();
}

// ---- inputs -------------------------------------------------------------------------------------

// Along a dimension of a tensor of rank 0.
bool Execution::one_row() const {
  return frame_.form == Form::AlongDim && frame_.tensor(0).ndim() == 0;
}

void Execution::take_argument(uint32_t i) {
  const tn_value& value = frame_.arg(i);
  args_[i] = value;
  if (value.tag == TN_VALUE_TENSORS) return take_list(i);
  const tn_view* view = nullptr;
  if (value.tag == TN_VALUE_TENSOR) {
    view = take_tensor(i, *value.as.tensor);
    if (frame_.raises(i) || one_row()) view = raised(view);
  } else if (frame_.op().schema.args[i].type == ArgType::Tensor && value.tag != TN_VALUE_NONE) {
    view = number(i);
  } else {
    return;
  }
  args_[i].tag = TN_VALUE_VIEW;
  args_[i].as.view = view;
}

void Execution::take_list(uint32_t i) {
  auto& list = lists_.emplace_back();
  list.reserve(frame_.tensors(i).size());
  for (tn_tensor* tensor : frame_.tensors(i))
    list.push_back(tensor == nullptr ? nullptr : take_tensor(i, *tensor));
  args_[i].tag = TN_VALUE_VIEWS;
  args_[i].as.views = list.data();  // stays, whatever becomes of lists_
}

const tn_view* Execution::take_tensor(uint32_t i, tn_tensor& tensor) {
  if (!has_elements(tensor)) fail_released(tensor);
  tn_dtype dtype = frame_.cast_of(i) == kNoCast ? tensor.dtype() : frame_.cast_of(i);
  if (tensor.device != &frame_.device()) {  // a rank-0 host tensor, which may join any device
    tn_view& view = next_scalar();
    make_scalar_view(view, dtype, tensor.view.data, tensor.dtype());
    return &view;
  }
  if (dtype == tensor.dtype()) return &tensor.view;
  kept_.push_back(cast_tensor(tensor, dtype));
  return &kept_.back()->view;
}

tn_view& Execution::next_scalar() {
  if (nscalars_ == std::size(scalars_))
    frame_.fail(TN_INVALID_ARGUMENT, "more than {} numbers among the operands",
                std::size(scalars_));
  return scalars_[nscalars_++];
}

const tn_view* Execution::number(uint32_t i) {
  const tn_value& value = frame_.arg(i);
  tn_view& view = next_scalar();
  tn_dtype dtype = frame_.cast_of(i) == kNoCast ? default_dtype(value) : frame_.cast_of(i);
  make_scalar_view(view, dtype, value);
  return &view;
}

// Shows a rank-0 view as shape (1,). A number from the host stays a number.
const tn_view* Execution::raised(const tn_view* view) {
  if (view->ndim != 0 || (view->flags & TN_VIEW_SCALAR) != 0) return view;
  // tn_tensor begins with its view.
  kept_.push_back(move_last(*reinterpret_cast<const tn_tensor*>(view)));
  return &kept_.back()->view;
}

// ---- outputs ------------------------------------------------------------------------------------

// The dimension the op works along moved last, as a view.
Ref Execution::move_last(const tn_tensor& tensor) const {
  if (tensor.ndim() == 0) {
    int64_t one = 1;
    return Ref(make_view(tensor, {&one, 1}, {&one, 1}, 0));
  }
  Dims shape(tensor.sizes()), strides({tensor.strides(), tensor.ndim()});
  uint32_t dim = frame_.along_dim();
  std::rotate(shape.begin() + dim, shape.begin() + dim + 1, shape.end());
  std::rotate(strides.begin() + dim, strides.begin() + dim + 1, strides.end());
  return Ref(make_view(tensor, shape, strides, 0));
}

// Whether the kernel can write the caller's destination directly.
bool Execution::writes_directly(uint32_t k) const {
  const tn_tensor& target = *into_[k];
  if (frame_.raises_results() && target.ndim() == 0) return false;
  if (frame_.form != Form::Elementwise && !target.contiguous()) return false;
  for (uint32_t i = 0; i < frame_.nargs(); ++i) {
    const bool in_place = frame_.form == Form::Elementwise || (i == 0 && frame_.op().updates_first);
    for (const tn_tensor* input : tensors_in(frame_.arg(i))) {
      if (input == nullptr || input->storage != target.storage) continue;
      if (!in_place || !same_elements(*input, target)) return false;
    }
  }
  return true;
}

// The strides whose order a result takes, or NULL for rows: those of the first operand of that shape for an elementwise op.
const int64_t* Execution::layout(std::span<const int64_t> shape) const {
  const auto is_dense = [](const tn_view& view) {
    return std::find(view.strides, view.strides + view.ndim, 0) == view.strides + view.ndim;
  };
  if (frame_.like != nullptr) return is_dense(frame_.like->view) ? frame_.like->strides() : nullptr;
  if (frame_.form != Form::Elementwise) return nullptr;
  for (uint32_t i = 0; i < frame_.nargs(); ++i) {
    if (args_[i].tag != TN_VALUE_VIEW ||
        !same_dims({args_[i].as.view->shape, args_[i].as.view->ndim}, shape))
      continue;
    const tn_view& view = *args_[i].as.view;
    if ((view.flags & TN_VIEW_CONTIGUOUS) != 0) return nullptr;
    if (is_dense(view)) return view.strides;
  }
  return nullptr;
}

void Execution::make_outputs() {
  for (uint32_t k = 0; k < outputs_.size(); ++k) {
    const ResultSpec& spec = frame_.result(k);
    auto& [target, result, direct] = outputs_[k];
    if (spec.dynamic) continue;
    if (into_ != nullptr) {
      const tn_tensor& given = *into_[k];
      if (!has_elements(given)) fail_released(given);
      if (given.dtype() != spec.dtype || !std::ranges::equal(given.sizes(), spec.shape))
        frame_.fail(TN_INVALID_ARGUMENT, "the result is {}{}, but the output is {}",
                    dtype_name(spec.dtype), format_shape(spec.shape), describe(given));
      frame_.require(given.device == &frame_.device(), "the result is on {}, but the output on {}",
                     frame_.device().id, given.device->id);
      direct = writes_directly(k);
    }
    if (direct) {
      target = into_[k];
    } else {
      result = Ref(make_tensor(spec.dtype, spec.shape, frame_.device(), layout(spec.shape)));
      target = result.get();
      if ((frame_.form == Form::AlongDim || frame_.raises_results()) && spec.shape.size() == 0) {
        kept_.push_back(move_last(*target));
        target = kept_.back().get();
      }
      if (frame_.like != nullptr && !target->contiguous()) {
        kept_.emplace_back(make_view(*target, spec.shape, contiguous_strides(spec.shape), 0));
        target = kept_.back().get();
      }
    }
    out_views_[k] = &target->view;
  }
}

const tn_view* Execution::make_output(uint32_t index, std::span<const int64_t> shape) {
  if (index >= outputs_.size() || !frame_.result(index).dynamic)
    frame_.fail(TN_INTERNAL, "the kernel asked for output {}, which it may not allocate", index);
  Output& out = outputs_[index];
  out.given = Ref(make_tensor(frame_.result(index).dtype, shape, frame_.device()));
  out.target = out.given.get();
  return out_views_[index] = &out.target->view;
}

// ---- the call -----------------------------------------------------------------------------------

// Kernels are found by the dtype of the first tensor, or of the result where there is none.
tn_dtype Execution::key_dtype() const {
  for (uint32_t i = 0; i < frame_.nargs(); ++i) {
    if (args_[i].tag == TN_VALUE_VIEW) return args_[i].as.view->dtype;
    if (args_[i].tag != TN_VALUE_VIEWS) continue;
    for (uint32_t k = 0; k < args_[i].count; ++k)
      if (args_[i].as.views[k] != nullptr) return args_[i].as.views[k]->dtype;
  }
  return outputs_.size() > 0 ? frame_.result(0).dtype : static_cast<tn_dtype>(TN_DTYPE_F32);
}

void Execution::build_loop() {
  const tn_view* operands[kMaxOperands];
  uint32_t n = 0;
  for (const tn_view* view : out_views_) operands[n++] = view;
  if (frame_.form == Form::Reduce) {
    operands[n++] = args_[0].as.view;
    loop_.reduce({operands, n}, frame_.reduced_mask(), frame_.op().ordered);
  } else {
    for (uint32_t i = 0; i < frame_.nargs(); ++i)
      if (args_[i].tag == TN_VALUE_VIEW) operands[n++] = args_[i].as.view;
    loop_.elementwise(frame_.result(0).shape, {operands, n});
  }
  call_.loop = loop_.get();
  call_.flags = loop_.contiguous() ? TN_CALL_CONTIGUOUS : 0;
}

void Execution::build_call() {
  call_ = tn_call{};
  call_.struct_size = sizeof(tn_call);
  call_.args = args_;
  call_.nargs = frame_.nargs();
  call_.nouts = outputs_.size();
  call_.outs = out_views_.data();
  call_.stream = frame_.device().queue();
  call_.device_index = frame_.device().index;
  call_.context = this;
  for (uint32_t i = 0; i < frame_.nargs(); ++i) {
    if (frame_.op().schema.args[i].type != ArgType::Generator || args_[i].tag == TN_VALUE_INTS)
      continue;
    generator_ = frame_.has(i) ? args_[i].as.generator : nullptr;
    args_[i] = ints_value({reinterpret_cast<const int64_t*>(&draws_.seed), 2});
  }
  if (frame_.form == Form::AlongDim) {
    args_[frame_.along_arg()] = int_value(TN_VALUE_INT, frame_.along_dim());
    if (frame_.along_dim() + 1 < frame_.tensor(0).ndim()) call_.flags |= TN_CALL_ANY_DIM;
  }
  if (frame_.form == Form::Elementwise || frame_.form == Form::Reduce) build_loop();
}

void Execution::make_inputs_contiguous() {
  contiguous_done_ = true;
  // The tensor behind a view: an argument's own, a temporary, or NULL for a scalar.
  auto dense = [&](const tn_view* view, bool written) -> const tn_view* {
    if (view == nullptr || (view->flags & (TN_VIEW_SCALAR | TN_VIEW_CONTIGUOUS)) != 0) return view;
    // tn_tensor begins with its view.
    auto* tensor = reinterpret_cast<tn_tensor*>(const_cast<tn_view*>(view));
    Ref copy = make_contiguous(*tensor);
    if (written) copy_back_.push_back({tensor, copy});
    kept_.push_back(copy);
    return &copy->view;
  };
  for (uint32_t i = 0; i < frame_.nargs(); ++i) {
    bool written = frame_.op().schema.args[i].written;
    if (args_[i].tag == TN_VALUE_VIEW) args_[i].as.view = dense(args_[i].as.view, written);
    if (args_[i].tag == TN_VALUE_VIEWS)
      for (auto& list : lists_)
        if (list.data() == args_[i].as.views)
          for (const tn_view*& view : list) view = dense(view, written);
  }
}

// Gives the kernel tensors of full rank whose last dimension is the one that the op works along.
void Execution::move_dim_last() {
  call_.flags &= ~TN_CALL_ANY_DIM;
  const uint32_t rank = frame_.tensor(0).ndim(), dim = frame_.along_dim();
  for (uint32_t i = 0; i < frame_.nargs(); ++i) {
    if (args_[i].tag != TN_VALUE_VIEW || args_[i].as.view->ndim != rank) continue;
    const auto& tensor = *reinterpret_cast<const tn_tensor*>(args_[i].as.view);
    kept_.push_back(make_contiguous(*move_last(tensor)));
    args_[i].as.view = &kept_.back()->view;
  }
  for (uint32_t k = 0; k < outputs_.size(); ++k) {
    const tn_tensor* target = outputs_[k].target;
    if (target == nullptr || target->ndim() <= dim + 1) continue;
    kept_.push_back(move_last(*target));
    tn_tensor* const turned = kept_.back().get();
    const Ref rows(make_tensor(turned->dtype(), turned->sizes(), frame_.device()));
    copy_back_.push_back({turned, rows});
    out_views_[k] = &rows->view;
  }
  args_[frame_.along_arg()] = int_value(TN_VALUE_INT, rank - 1);
}

void Execution::put_scalars_on_device() {
  scalars_done_ = true;
  for (uint32_t i = 0; i < frame_.nargs(); ++i) {
    if (args_[i].tag != TN_VALUE_VIEW || (args_[i].as.view->flags & TN_VIEW_SCALAR) == 0) continue;
    const tn_view& host = *args_[i].as.view;
    const int64_t one = 1;
    Ref tensor(make_tensor(host.dtype, {&one, frame_.raises(i) ? 1u : 0u}, frame_.device()));
    copy_bytes(frame_.device(), tensor->view.buffer, 0, host_device(), host.data, 0,
               dtype_size(host.dtype));
    args_[i].as.view = &tensor->view;
    kept_.push_back(std::move(tensor));
  }
  if (call_.loop != nullptr) build_loop();
}

bool Execution::try_kernel(const KernelEntry& entry) {
  const tn_kernel& kernel = entry.table;
  if (nscalars_ != 0 && !scalars_done_ && (kernel.flags & TN_KERNEL_HOST_SCALARS) == 0)
    put_scalars_on_device();
  if ((call_.flags & TN_CALL_ANY_DIM) != 0 && (kernel.flags & TN_KERNEL_ANY_DIM) == 0)
    move_dim_last();
  bool strided = (kernel.flags & TN_KERNEL_STRIDED) != 0 && frame_.form != Form::AlongDim;
  if (call_.loop == nullptr && !strided && !contiguous_done_) make_inputs_contiguous();
  if (kernel.supports != nullptr) {
    uint32_t yes = 0;
    check(kernel.supports(kernel.self, &call_, &yes));
    if (yes == 0) return false;
  }
  std::shared_ptr<Plan> plan;
  void* handle = nullptr;
  if (kernel.prepare != nullptr) {
    plan = find_plan(entry, call_);
    handle = plan->handle;
  }
  // Not earlier: if the host takes the call instead, it reserves its own draws.
  if (generator_) {
    const tn_tensor* first = outputs_.size() > 0 ? outputs_[0].target : nullptr;
    draws_ = reserve_draws(*generator_, first != nullptr ? static_cast<uint64_t>(first->numel) : 0);
  }
  const uint64_t bytes =
      kernel.scratch_size != nullptr ? kernel.scratch_size(kernel.self, &call_, handle) : 0;
  const Block scratch = bytes != 0 ? allocate(frame_.device(), bytes) : Block{};
  const OnExit over([&] {
    if (bytes != 0) deallocate(frame_.device(), scratch);
  });
  call_.scratch = scratch.data;
  call_.scratch_buffer = scratch.buffer;
  const InOrder order(frame_.device());
  if (call_.stream != nullptr)
    frame_.device().latest.store(&frame_.op(), std::memory_order_relaxed);
  check(kernel.run(kernel.self, handle, &call_));
  return true;
}

bool Execution::run(std::string_view& provider) {
  build_call();
  bool nothing_to_do = frame_.form == Form::Elementwise || frame_.form == Form::Reduce;
  for (const Output& out : outputs_)
    nothing_to_do &= out.target != nullptr && out.target->numel == 0;
  if (nothing_to_do && outputs_.size() > 0) return true;

  for (const KernelEntry* entry : candidates(frame_.op(), frame_.device(), key_dtype()))
    if (try_kernel(*entry)) {
      provider = entry->plugin;
      return true;
    }
  return false;
}

void Execution::finish(tn_tensor** outs) {
  for (CopyBack& back : copy_back_) copy_into(back.original, *back.copy);
  for (uint32_t k = 0; k < outputs_.size(); ++k) {
    Output& out = outputs_[k];
    if (out.target == nullptr)
      frame_.fail(TN_INTERNAL, "the kernel left result {} without an output", k);
    if (into_ == nullptr) {
      outs[k] = out.given.take();
    } else if (!out.direct) {
      copy_into(into_[k], *out.given);
    }
  }
}

}  // namespace tenon::core
