#include "dispatch/frame.hpp"

#include <algorithm>
#include <bit>

#include "dispatch/foreign.hpp"
#include "memory/generator.hpp"

namespace tenon::core {
namespace {

// Whether a value's tag fits an argument of this kind (optional absence is checked by the caller).
bool fits(const ArgSpec& spec, const tn_value& value, bool takes_numbers) {
  if (spec.list)
    return spec.type == ArgType::Tensor ? value.tag == TN_VALUE_TENSORS
                                        : value.tag == TN_VALUE_INTS;
  if (value.tag == kArgTypes[static_cast<size_t>(spec.type)].tag) return true;
  if (spec.type == ArgType::Float) return value.tag == TN_VALUE_INT;
  return (spec.type == ArgType::Scalar || (spec.type == ArgType::Tensor && takes_numbers)) &&
         is_number(value);
}

std::string_view type_name(const ArgSpec& spec) {
  if (spec.list) return spec.type == ArgType::Tensor ? "a list of tensors" : "a list of integers";
  return kArgTypes[static_cast<size_t>(spec.type)].said;
}

}  // namespace

Frame::Frame(const tn_op& op, const tn_value* args, uint32_t nargs)
    : op_(op), nargs_(static_cast<uint32_t>(op.schema.args.size())) {
  if (nargs > nargs_)
    fail(TN_INVALID_ARGUMENT, "{} arguments given, at most {} taken", nargs, nargs_);
  for (uint32_t i = 0; i < nargs_; ++i) {
    casts_[i] = kNoCast;
    const ArgSpec& spec = op.schema.args[i];
    if (i < nargs && args[i].tag != TN_VALUE_NONE) {
      args_[i] = args[i];
      if (args[i].tag != TN_VALUE_TENSOR || args[i].as.tensor == nullptr ||
          spec.type != ArgType::Tensor || spec.list)
        check_arg(i, args[i]);
    } else if (spec.has_default) {
      args_[i] = spec.default_value;
    } else if (spec.optional) {
      args_[i] = tn_value{};
    } else {
      fail(TN_INVALID_ARGUMENT, "argument '{}' is missing: {}", spec.name, op.schema.text);
    }
  }
  find_device();
  results_.make(op.schema.list_result ? count_results(*this)
                                      : static_cast<uint32_t>(op.schema.results.size()));
}

void Frame::fail_text(uint32_t code, std::string_view message) const {
  core::fail(code, "[{}] {}", op_.name(), message);
}

void Frame::fail_no_tensor(uint32_t i) const {
  fail(TN_INVALID_ARGUMENT, "argument '{}' must be a tensor: {}", op_.schema.args[i].name,
       op_.schema.text);
}

void Frame::check_arg(uint32_t i, const tn_value& value) {
  const ArgSpec& spec = op_.schema.args[i];
  bool takes_numbers = op_.elementwise || op_.kind == OpKind::Composite;
  if (!fits(spec, value, takes_numbers)) [[unlikely]]
    fail(TN_INVALID_ARGUMENT, "argument '{}' must be {}: {}", spec.name, type_name(spec),
         op_.schema.text);
  if (spec.type == ArgType::Float && value.tag == TN_VALUE_INT) {
    args_[i].tag = TN_VALUE_FLOAT;
    args_[i].as.f = static_cast<double>(value.as.i);
  }
  if (value.tag == TN_VALUE_DTYPE)
    require(value.as.i >= 0 && value.as.i < TN_DTYPE_COUNT, "unknown dtype code {}", value.as.i);
  bool handle = value.tag == TN_VALUE_TENSOR || value.tag == TN_VALUE_DEVICE ||
                value.tag == TN_VALUE_GENERATOR || value.tag == TN_VALUE_COMPLEX;
  bool list =
      value.tag == TN_VALUE_INTS || value.tag == TN_VALUE_TENSORS || value.tag == TN_VALUE_STR;
  bool null = value.as.pointer == nullptr && (handle || (list && value.count != 0));
  require(!null, "argument '{}' is a null handle", spec.name);
  if (value.tag == TN_VALUE_TENSORS && !spec.optional_entries)
    for (tn_tensor* tensor : tensors(i))
      require(tensor != nullptr, "argument '{}' has a null entry", spec.name);
}

void Frame::find_device() {
  tn_device* scalar_device = nullptr;  // of a rank-0 host tensor, which may join any device
  auto visit = [&](tn_tensor* tensor) {
    if (tensor == nullptr || tensor->device == device_) return;
    if (tensor->ndim() == 0 && tensor->device->is_host())
      scalar_device = tensor->device;
    else if (device_ == nullptr)
      device_ = tensor->device;
    else
      stray_ = tensor->device;
  };
  for (uint32_t i = 0; i < nargs_; ++i) {
    const tn_value& value = args_[i];
    if (value.tag == TN_VALUE_TENSOR) visit(value.as.tensor);
    if (value.tag == TN_VALUE_TENSORS)
      for (tn_tensor* tensor : tensors(i)) visit(tensor);
    // The device argument of a factory. That of `to` is its destination, not where it runs.
    if (value.tag == TN_VALUE_DEVICE && op_.schema.args[0].type != ArgType::Tensor)
      device_ = value.as.device;
  }
  if (device_ == nullptr) device_ = scalar_device != nullptr ? scalar_device : &host_device();
}

void Frame::require_one_device() const {
  if (stray_ != nullptr) [[unlikely]]
    fail(TN_INVALID_ARGUMENT, "operands on {} and {}; move one with to()", device_->id, stray_->id);
}

void Frame::set_real(uint32_t i, double value) {
  args_[i] = tn_value{TN_VALUE_FLOAT, 0, {}};
  args_[i].as.f = value;
}

void Frame::set_ints(uint32_t i, std::span<const int64_t> values) {
  if (nstored_ == std::size(stored_) || values.size() > TN_MAX_DIMS)
    fail(TN_INTERNAL, "no room to rewrite '{}'", op_.schema.args[i].name);
  int64_t* kept = stored_[nstored_++];
  std::copy(values.begin(), values.end(), kept);
  args_[i] = ints_value({kept, values.size()});
}

void Frame::cast_all(tn_dtype dtype) {
  for (uint32_t i = 0; i < nargs_; ++i)
    if (op_.schema.args[i].type == ArgType::Tensor) casts_[i] = dtype;
}

void Frame::result(uint32_t k, tn_dtype dtype, std::span<const int64_t> shape) {
  results_[k].dtype = dtype;
  results_[k].shape.assign(shape);
  results_[k].dynamic = false;
}

void Frame::dynamic_result(uint32_t k, tn_dtype dtype) {
  results_[k].dtype = dtype;
  results_[k].shape.n = 0;
  results_[k].dynamic = true;
}

void Frame::along(uint32_t dim_arg, uint32_t dim) {
  form = Form::AlongDim;
  along_ = dim;
  along_arg_ = dim_arg;
}

}  // namespace tenon::core
