// One call in progress: checked arguments, the results that the shape rule declares, the canonical form.
#pragma once

#include <fmt/core.h>

#include <span>
#include <string_view>

#include "dispatch/op.hpp"
#include "status.hpp"
#include "tensor/outs.hpp"

namespace tenon::core {

constexpr uint32_t kMaxArgs = 16;
constexpr uint32_t kMaxResults = 8;  // of a schema; a list counts as one
constexpr uint32_t kNoCast = TN_DTYPE_COUNT;

inline tn_value tensor_value(const tn_tensor* tensor) {
  tn_value value{TN_VALUE_TENSOR, 0, {}};
  value.as.tensor = const_cast<tn_tensor*>(tensor);
  return value;
}
inline tn_value int_value(uint32_t tag, int64_t i) {
  tn_value value{tag, 0, {}};
  value.as.i = i;
  return value;
}
inline tn_value ints_value(std::span<const int64_t> ints) {
  tn_value value{TN_VALUE_INTS, static_cast<uint32_t>(ints.size()), {}};
  value.as.ints = ints.data();
  return value;
}
inline bool is_number(const tn_value& value) {
  return value.tag == TN_VALUE_INT || value.tag == TN_VALUE_FLOAT || value.tag == TN_VALUE_BOOL ||
         value.tag == TN_VALUE_COMPLEX;
}

// Of a number of any kind; the real part of a complex one.
inline double real_of(const tn_value& value) {
  if (value.tag == TN_VALUE_FLOAT) return value.as.f;
  if (value.tag == TN_VALUE_COMPLEX) return value.as.floats[0];
  return static_cast<double>(value.as.i);
}
// The tensor of a value, or those of its list, where absent entries are NULL; none of other values.
inline std::span<tn_tensor* const> tensors_in(const tn_value& value) {
  if (value.tag == TN_VALUE_TENSOR) return {&value.as.tensor, 1};
  if (value.tag == TN_VALUE_TENSORS) return {value.as.tensors, value.count};
  return {};
}

struct ResultSpec {
  tn_dtype dtype = TN_DTYPE_F32;
  Dims shape;
  bool dynamic = false;  // the kernel allocates it through make_output
};

// How the operands are brought into canonical form before the kernel runs.
enum class Form : uint8_t {
  Plain,        // inputs contiguous unless the kernel takes strides; outputs contiguous
  Elementwise,  // a loop over the broadcast shape of result 0; inputs of any strides
  Reduce,       // a loop over input 0, reduced dimensions last
  AlongDim,  // inputs contiguous, the dimension `dim` moved last on all full-rank tensors for kernels that want it so
};

// What a shape rule sees and fills. Argument indices are positions in the schema.
class Frame {
 public:
  // Checks `args` against the schema and fills in defaults. Throws Error.
  Frame(const tn_op& op, const tn_value* args, uint32_t nargs);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const tn_op& op() const { return op_; }
  uint32_t nargs() const { return nargs_; }

  // ---- arguments
  const tn_value& arg(uint32_t i) const { return args_[i]; }
  bool has(uint32_t i) const { return args_[i].tag != TN_VALUE_NONE; }
  // False if a number was given in place of a tensor.
  bool is_tensor(uint32_t i) const { return args_[i].tag == TN_VALUE_TENSOR; }
  // Throws where a number or nothing was given.
  tn_tensor& tensor(uint32_t i) const {
    if (!is_tensor(i)) [[unlikely]]
      fail_no_tensor(i);
    return *args_[i].as.tensor;
  }
  std::span<tn_tensor* const> tensors(uint32_t i) const {
    return {args_[i].as.tensors, args_[i].count};
  }
  int64_t integer(uint32_t i) const { return args_[i].as.i; }
  bool flag(uint32_t i) const { return args_[i].as.i != 0; }
  // Of Float and Scalar arguments, whatever number was given.
  double real(uint32_t i) const { return real_of(args_[i]); }
  std::string_view str(uint32_t i) const { return {args_[i].as.str, args_[i].count}; }
  std::span<const int64_t> ints(uint32_t i) const { return {args_[i].as.ints, args_[i].count}; }
  tn_dtype dtype_or(uint32_t i, tn_dtype otherwise) const {
    return has(i) ? static_cast<tn_dtype>(args_[i].as.i) : otherwise;
  }
  // Replaces an argument (attributes only); `ints` are copied.
  void set_integer(uint32_t i, int64_t value) { args_[i] = int_value(TN_VALUE_INT, value); }
  void set_real(uint32_t i, double value);
  void set_ints(uint32_t i, std::span<const int64_t> values);

  // ---- errors: "[op] …"
  template <class... A>
  [[noreturn]] void fail(uint32_t code, fmt::format_string<A...> format, A&&... args) const {
    fail_text(code, fmt::vformat(format, fmt::make_format_args(args...)));
  }
  template <class... A>
  void require(bool condition, fmt::format_string<A...> format, A&&... args) const {
    if (!condition) [[unlikely]]
      fail_text(TN_INVALID_ARGUMENT, fmt::vformat(format, fmt::make_format_args(args...)));
  }
  // All tensor arguments are on this device; rank-0 host tensors may join. Set before the rule runs.
  tn_device& device() const { return *device_; }
  // Called after the layers, one of which might have brought the operands together.
  void require_one_device() const;

  // ---- what a rule says
  Form form = Form::Plain;
  // Results whose elements are all equal get this tensor's order of dimensions; kernels write them in rows.
  const tn_tensor* like = nullptr;
  // Input i is converted before the kernel runs.
  void cast(uint32_t i, tn_dtype dtype) { casts_[i] = dtype; }
  void cast_all(tn_dtype dtype);  // every tensor argument, entries of lists as well
  void result(uint32_t k, tn_dtype dtype, std::span<const int64_t> shape);
  void dynamic_result(uint32_t k, tn_dtype dtype);
  // Form::Reduce over dimensions of argument 0.
  void reduces(uint32_t mask) {
    form = Form::Reduce;
    reduced_ = mask;
  }
  // The op works along a dimension of argument i. Kernels see a rank-0 argument, and rank-0 results, as
  // shape (1,).
  void raise(uint32_t i) { raised_ |= static_cast<uint32_t>(tensor(i).ndim() == 0) << i; }
  bool raises(uint32_t i) const { return (raised_ >> i & 1) != 0; }
  bool raises_results() const { return raised_ != 0; }
  // Form::AlongDim; results must be declared with the original dimension order.
  void along(uint32_t dim_arg, uint32_t dim);

  uint32_t nresults() const { return results_.size(); }
  const ResultSpec& result(uint32_t k) const { return results_[k]; }
  tn_dtype cast_of(uint32_t i) const { return casts_[i]; }
  uint32_t reduced_mask() const { return reduced_; }
  uint32_t along_dim() const { return along_; }
  uint32_t along_arg() const { return along_arg_; }
  const tn_value* args() const { return args_; }

 private:
  [[noreturn]] void fail_text(uint32_t code, std::string_view message) const;
  [[noreturn]] void fail_no_tensor(uint32_t i) const;
  void check_arg(uint32_t i, const tn_value& value);
  void find_device();

  const tn_op& op_;
  uint32_t nargs_;
  tn_device* device_ = nullptr;
  tn_device* stray_ = nullptr;  // a second device, that of another operand
  uint32_t reduced_ = 0;
  uint32_t raised_ = 0;
  uint32_t along_ = 0;
  uint32_t along_arg_ = 0;
  uint32_t nstored_ = 0;
  tn_value args_[kMaxArgs];
  tn_dtype casts_[kMaxArgs];
  Few<ResultSpec, kFewResults> results_;
  int64_t stored_[6][TN_MAX_DIMS];  // rewritten lists
};

}  // namespace tenon::core
