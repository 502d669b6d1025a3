// The class Tensor. Include tenon/tensor.hpp instead, which also has its operators and methods.
#ifndef TENON_TENSOR_CLASS_HPP
#define TENON_TENSOR_CLASS_HPP

#include <functional>
#include <string>
#include <utility>

#include "tenon/autograd.h"
#include "tenon/tensor.h"
#include "tenon/value.hpp"

namespace tenon {

class Index;
class Indexed;
class Operand;
class TensorList;

// A shared handle to a strided n-d array on a device. Copies share elements, gradient and history; clone() copies the elements.
class Tensor {
 public:
  Tensor() noexcept : handle_(nullptr) {}
  Tensor(const Tensor& other) noexcept : handle_(tn_retained(other.handle_)) {}
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(const Tensor& other) noexcept { return *this = Tensor(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_ != nullptr) tn_tensor_release(handle_);
  }

  // Conversions from and to C handles: adopt takes over a reference, share adds one, take gives it away.
  static Tensor adopt(tn_tensor* handle) noexcept {
    Tensor tensor;
    tensor.handle_ = handle;
    return tensor;
  }
  static Tensor share(tn_tensor* handle) noexcept { return adopt(tn_retained(handle)); }
  tn_tensor* get() const noexcept { return handle_; }
  tn_tensor* take() noexcept { return std::exchange(handle_, nullptr); }

  // Properties. All but defined() require a defined tensor.
  bool defined() const noexcept { return handle_ != nullptr; }
  // Ambiguous: say defined(), or item<bool>() for the element.
  explicit operator bool() const = delete;
  int64_t ndim() const { return tn_tensor_ndim(handle()); }
  std::span<const int64_t> shape() const {
    return {tn_tensor_shape(handle()), tn_tensor_ndim(handle_)};
  }
  int64_t shape(int64_t dim) const { return shape()[wrap(dim)]; }
  std::span<const int64_t> strides() const {
    return {tn_tensor_strides(handle()), tn_tensor_ndim(handle_)};
  }
  int64_t numel() const { return tn_tensor_numel(handle()); }
  uint64_t nbytes() const { return static_cast<uint64_t>(numel()) * size_of(dtype()); }
  DType dtype() const { return static_cast<DType>(tn_tensor_dtype(handle())); }
  Device device() const { return Device(tn_tensor_device(handle())); }
  bool is_contiguous() const { return tn_tensor_is_contiguous(handle()) != 0; }
  bool shares_storage(const Tensor& other) const {
    return tn_tensor_shares_storage(handle(), other.handle()) != 0;
  }
  uint32_t version() const { return tn_tensor_version(handle()); }

  // Elements as T, which must be the dtype's type. data() requires memory that the host can address.
  template <class T>
  T* data() const;
  template <class T>
  T item() const;  // requires one element; converts
  template <class T>
  std::vector<T> to_vector() const;  // row-major
  void to_host(void* destination, uint64_t bytes) const {
    detail::check(tn_tensor_to_host(handle(), destination, bytes));
  }

  // Autograd.
  bool requires_grad() const { return tn_tensor_requires_grad(handle()) != 0; }
  Tensor& requires_grad_(bool on = true) {
    detail::check(tn_tensor_set_requires_grad(handle(), on));
    return *this;
  }
  bool is_leaf() const { return tn_tensor_is_leaf(handle()) != 0; }
  Tensor grad() const { return adopt(tn_tensor_grad(handle())); }  // undefined if there is none
  void set_grad(const Tensor& grad) { detail::check(tn_tensor_set_grad(handle(), grad.handle_)); }
  void zero_grad() { set_grad({}); }
  // Makes this leaf show the elements of `data`, which must have the same shape; see tn_tensor_set_data.
  void set_data(const Tensor& data) { detail::check(tn_tensor_set_data(handle(), data.handle())); }
  Tensor detach() const {
    tn_tensor* out = nullptr;
    detail::check(tn_tensor_detach(handle(), &out));
    return adopt(out);
  }
  std::string_view grad_fn_name() const {
    return detail::to_view(tn_tensor_grad_fn_name(handle()));
  }
  // Accumulates gradients into the leaves; `grad` may be left out for one element.
  void backward(const Tensor& grad = {}, bool retain_graph = false,
                bool create_graph = false) const;
  // Calls the hook with the complete gradient; if it returns a defined tensor, that replaces the gradient. The id removes the hook.
  uint64_t register_hook(std::function<Tensor(const Tensor&)> hook);
  // Lets the result of an op keep its gradient in grad(), which is zero until a backward pass adds to it; a leaf keeps it anyway.
  void retain_grad();
  void remove_hook(uint64_t id) { detail::check(tn_tensor_remove_hook(handle(), id)); }

  // NumPy's indexing: x[0], x[{Slice(0, 4), 2}], x[mask], x[{None, Ellipsis, rows}]. Assigning to it writes to x.
  Indexed operator[](const Index& index) const;
  Indexed operator[](std::initializer_list<Index> indices) const;
  Indexed at(std::span<const Index> indices) const;

  // Every op of a tensor x: x.topk(3). With `_` it writes into x: gradients are recorded, and the result is this tensor.
#include "tenon/op_methods.def"

  Tensor to(Device device) const;
  Tensor to(DType dtype) const;
  Tensor to(Device device, DType dtype) const;
  Tensor cpu() const;
  Tensor contiguous() const;
  Tensor view(IntList shape) const;  // like reshape, but never copies
  Tensor t() const;                  // of a matrix
  Tensor mt() const;                 // transposes the last two dimensions
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  // Where |x - y| <= atol + rtol |y|, and whether that is so everywhere.
  Tensor isclose(const Tensor& y, double rtol = 1e-5, double atol = 1e-8,
                 bool equal_nan = false) const;
  bool allclose(const Tensor& y, double rtol = 1e-5, double atol = 1e-8,
                bool equal_nan = false) const;
  // Indices drawn by these weights (n,), or for each row of (m, n).
  Tensor multinomial(int64_t num_samples, bool replacement = false,
                     const Generator& generator = {}) const;

  Tensor& copy_(const Tensor& source);  // broadcasts, casts, copies between devices
  Tensor& fill_(const Scalar& value);
  Tensor& zero_();
  Tensor& uniform_(double low = 0, double high = 1, const Generator& generator = {});
  Tensor& normal_(double mean = 0, double std = 1, const Generator& generator = {});
  Tensor& index_put_(std::span<const Index> indices, const Tensor& values, bool accumulate = false);
  Tensor& index_put_(std::initializer_list<Index> indices, const Tensor& values,
                     bool accumulate = false);

 protected:
  tn_tensor* handle() const {
    if (handle_ == nullptr) [[unlikely]]
      throw_undefined();
    return handle_;
  }

 private:
  static tn_tensor* tn_retained(tn_tensor* handle) noexcept {
    return handle != nullptr ? tn_tensor_retain(handle) : nullptr;
  }
  [[noreturn, gnu::noinline, gnu::cold]] static void throw_undefined() {
    throw Error(TN_INVALID_ARGUMENT, "[Tensor] undefined tensor");
  }
  size_t wrap(int64_t dim) const {
    const int64_t rank = ndim();
    if (dim < -rank || dim >= rank) [[unlikely]]
      throw Error(TN_OUT_OF_RANGE, "[shape] dim " + std::to_string(dim) +
                                       " out of range for a tensor of rank " +
                                       std::to_string(rank));
    return static_cast<size_t>(dim < 0 ? dim + rank : dim);
  }

  tn_tensor* handle_;
};

namespace detail {
inline tn_value value(const Tensor& x) noexcept {
  tn_value v{};
  v.tag = x.defined() ? TN_VALUE_TENSOR : TN_VALUE_NONE;
  v.as.tensor = x.get();
  return v;
}
}  // namespace detail

// A tensor or a number, as an argument of elementwise functions. Borrows for the duration of the call.
class Operand {
 public:
  Operand(const Tensor& tensor) noexcept : value_(detail::value(tensor)) {}
  Operand(bool number) noexcept : value_(detail::value(number)) {}
  template <std::integral T>
  Operand(T number) noexcept : value_(detail::value(static_cast<int64_t>(number))) {}
  template <std::floating_point T>
  Operand(T number) noexcept : value_(detail::value(static_cast<double>(number))) {}
  Operand(const Scalar& number) noexcept : value_(number.value()) {}
  Operand(const std::complex<double>& number) noexcept : value_{} {
    value_.tag = TN_VALUE_COMPLEX;
    value_.count = 2;
    value_.as.floats = reinterpret_cast<const double(&)[2]>(number);
  }
  const tn_value& get() const noexcept { return value_; }

 private:
  tn_value value_;
};

// A borrowed list of tensors: write {a, b}, a vector, an array or a span.
class TensorList {
 public:
  TensorList() noexcept = default;
  TensorList(std::initializer_list<Tensor> list) noexcept : size_(list.size()) {
    data_ = list.begin();
  }
  TensorList(std::span<const Tensor> list) noexcept : data_(list.data()), size_(list.size()) {}
  TensorList(const std::vector<Tensor>& list) noexcept : data_(list.data()), size_(list.size()) {}
  template <size_t N>
  TensorList(const std::array<Tensor, N>& list) noexcept : data_(list.data()), size_(N) {}
  size_t size() const noexcept { return size_; }
  const Tensor* begin() const noexcept { return data_; }
  const Tensor* end() const noexcept { return data_ + size_; }
  const Tensor& operator[](size_t i) const noexcept { return data_[i]; }
  // A Tensor is only its handle.
  tn_tensor* const* handles() const noexcept { return reinterpret_cast<tn_tensor* const*>(data_); }

 private:
  const Tensor* data_ = nullptr;
  size_t size_ = 0;
};
static_assert(sizeof(Tensor) == sizeof(tn_tensor*) && std::is_standard_layout_v<Tensor>);

namespace detail {
inline tn_value value(const Operand& x) noexcept { return x.get(); }
inline tn_value value(const TensorList& x) noexcept {
  tn_value v{};
  v.tag = TN_VALUE_TENSORS;
  v.count = static_cast<uint32_t>(x.size());
  v.as.tensors = x.handles();
  return v;
}
}  // namespace detail

}  // namespace tenon
#endif
