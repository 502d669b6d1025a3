// Creates tensors. full, linspace, eye, uniform, normal, randint and randperm are ops: see tenon/ops.hpp.
#ifndef TENON_CREATION_HPP
#define TENON_CREATION_HPP

#include "tenon/tensor.hpp"

namespace tenon {

// The dtype and device of a new tensor. A DType or a Device alone converts to this.
struct TensorOptions {
  std::optional<DType> dtype;
  Device device;
  TensorOptions() = default;
  TensorOptions(DType dtype_of_elements) : dtype(dtype_of_elements) {}
  TensorOptions(Device on) : device(on) {}
  TensorOptions(DType dtype_of_elements, Device on) : dtype(dtype_of_elements), device(on) {}
};

namespace detail {

// Copies row-major elements from host memory, and converts them on the host to another dtype if asked.
template <class T>
Tensor from_elements(const T* elements, size_t count, IntList shape, const TensorOptions& options) {
  const DType dtype = options.dtype.value_or(dtype_of<T>);
  tn_tensor* out = nullptr;
  const auto make = [&](const void* data, uint64_t bytes) {
    check(tn_tensor_from_host(data, bytes, static_cast<tn_dtype>(dtype),
                              static_cast<uint32_t>(shape.size()), shape.data(),
                              options.device.get(), &out));
  };
  if (dtype == dtype_of<T>) {
    make(elements, count * sizeof(T));
  } else {
    visit(dtype, [&]<class To>(To) {
      const auto converted = std::make_unique<To[]>(count);
      for (size_t i = 0; i < count; ++i) converted[i] = convert<To>(elements[i], "tensor");
      make(converted.get(), count * sizeof(To));
    });
  }
  return Tensor::adopt(out);
}

[[noreturn]] inline void throw_ragged() {
  throw Error(TN_INVALID_ARGUMENT, "[tensor] nested lists of different lengths");
}
// Sizes of nested lists; -1 until the first list of a level was seen.
struct NestedShape {
  int64_t sizes[4] = {-1, -1, -1, -1};
  size_t rank = 0;
  void note(size_t depth, size_t size) {
    if (sizes[depth] >= 0 && sizes[depth] != static_cast<int64_t>(size)) throw_ragged();
    sizes[depth] = static_cast<int64_t>(size);
    rank = std::max(rank, depth + 1);
  }
};
template <class T>
void gather_elements(std::initializer_list<T> list, size_t depth, std::vector<T>& out,
                     NestedShape& shape) {
  shape.note(depth, list.size());
  out.insert(out.end(), list.begin(), list.end());
}
template <class T, class U>
void gather_elements(std::initializer_list<std::initializer_list<U>> list, size_t depth,
                     std::vector<T>& out, NestedShape& shape) {
  shape.note(depth, list.size());
  for (const auto& inner : list) gather_elements(inner, depth + 1, out, shape);
}
template <class T, class List>
Tensor from_nested(const List& list, const TensorOptions& options) {
  std::vector<T> elements;
  NestedShape shape;
  gather_elements(list, 0, elements, shape);
  return from_elements(elements.data(), elements.size(),
                       std::span<const int64_t>(shape.sizes, shape.rank), options);
}
template <class T>
concept Element = std::is_arithmetic_v<T> || std::same_as<T, F16> || std::same_as<T, BF16> ||
    std::same_as<T, F8E4M3> || std::same_as<T, F8E5M2> || std::same_as<T, std::complex<float>> ||
    std::same_as<T, std::complex<double>>;

}  // namespace detail

// Of rank 0: tensor(3.f).
template <detail::Element T>
Tensor tensor(T value, const TensorOptions& options = {}) {
  return detail::from_elements(&value, 1, {}, options);
}
// From nested lists: tensor({{1.f, 2.f}, {3.f, 4.f}}). The C++ type gives the dtype.
template <detail::Element T>
Tensor tensor(std::initializer_list<T> list, const TensorOptions& options = {}) {
  return detail::from_elements(list.begin(), list.size(), {static_cast<int64_t>(list.size())},
                               options);
}
template <detail::Element T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> list,
              const TensorOptions& options = {}) {
  return detail::from_nested<T>(list, options);
}
template <detail::Element T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> list,
              const TensorOptions& options = {}) {
  return detail::from_nested<T>(list, options);
}
template <detail::Element T>
Tensor tensor(
    std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<T>>>>
        list,
    const TensorOptions& options = {}) {
  return detail::from_nested<T>(list, options);
}
// Copies row-major elements. Without `shape`: one dimension.
template <detail::Element T>
Tensor tensor(std::span<const T> elements, OptionalInts shape = {},
              const TensorOptions& options = {}) {
  const IntList flat(static_cast<int64_t>(elements.size()));
  return detail::from_elements(elements.data(), elements.size(), shape.has_value() ? shape : flat,
                               options);
}
template <detail::Element T>
Tensor tensor(const std::vector<T>& elements, OptionalInts shape = {},
              const TensorOptions& options = {}) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto bytes = std::make_unique<bool[]>(elements.size());
    std::copy(elements.begin(), elements.end(), bytes.get());
    return tensor(std::span<const bool>(bytes.get(), elements.size()), shape, options);
  } else {
    return tensor(std::span<const T>(elements), shape, options);
  }
}

// Wraps host memory without a copy. `release` runs once, when nothing uses the memory any more. Strides count elements.
inline Tensor from_blob(void* data, DType dtype, IntList shape, OptionalInts strides = {},
                        std::function<void()> release = {}) {
  if (strides.has_value() && strides.size() != shape.size())
    throw Error(TN_INVALID_ARGUMENT, "[from_blob] " + std::to_string(strides.size()) +
                                         " strides for " + std::to_string(shape.size()) +
                                         " dimensions");
  using Release = std::function<void()>;
  auto owned = release ? std::make_unique<Release>(std::move(release)) : nullptr;
  const auto run = [](void* ctx) {
    const std::unique_ptr<Release> last(static_cast<Release*>(ctx));
    (*last)();
  };
  tn_tensor* out = nullptr;
  detail::check(tn_tensor_wrap_host(
      data, static_cast<tn_dtype>(dtype), static_cast<uint32_t>(shape.size()), shape.data(),
      strides.has_value() ? strides.data() : nullptr, owned ? +run : nullptr, owned.get(), &out));
  static_cast<void>(owned.release());  // the storage owns it now
  return Tensor::adopt(out);
}

// The type of the elements gives the dtype.
template <detail::Element T>
Tensor from_blob(T* data, IntList shape, OptionalInts strides = {},
                 std::function<void()> release = {}) {
  return from_blob(data, dtype_of<T>, shape, strides, std::move(release));
}

inline Tensor empty(IntList shape, DType dtype = DType::F32, Device device = {}) {
  tn_tensor* out = nullptr;
  detail::check(tn_tensor_empty(static_cast<tn_dtype>(dtype), static_cast<uint32_t>(shape.size()),
                                shape.data(), device.get(), &out));
  return Tensor::adopt(out);
}
// empty(x.shape()) would else be std::empty, which asks the span whether it is.
template <std::same_as<std::span<const int64_t>> Shape>
Tensor empty(const Shape& shape) {
  return empty(IntList(shape));
}
inline Tensor zeros(IntList shape, DType dtype = DType::F32, Device device = {}) {
  return full(shape, 0, dtype, device);
}
inline Tensor ones(IntList shape, DType dtype = DType::F32, Device device = {}) {
  return full(shape, 1, dtype, device);
}
inline Tensor empty(IntList shape, const TensorOptions& options) {
  return empty(shape, options.dtype.value_or(DType::F32), options.device);
}
inline Tensor zeros(IntList shape, const TensorOptions& options) {
  return zeros(shape, options.dtype.value_or(DType::F32), options.device);
}
inline Tensor ones(IntList shape, const TensorOptions& options) {
  return ones(shape, options.dtype.value_or(DType::F32), options.device);
}
// In x's shape and order of dimensions.
inline Tensor empty_like(const Tensor& x) {
  return x.is_contiguous() ? empty(x.shape(), x.dtype(), x.device()) : full_like(x, 0);
}
inline Tensor zeros_like(const Tensor& x) { return full_like(x, 0); }
inline Tensor ones_like(const Tensor& x) { return full_like(x, 1); }
// 0, 1, … below `end`.
inline Tensor arange(const Scalar& end) { return arange(0, end, 1); }
inline Tensor arange(const Scalar& start, const Scalar& end) { return arange(start, end, 1); }
// Uniform in [0, 1), and standard normal.
inline Tensor rand(IntList shape, DType dtype = DType::F32, Device device = {},
                   const Generator& generator = {}) {
  return uniform(shape, 0, 1, dtype, device, generator);
}
inline Tensor randn(IntList shape, DType dtype = DType::F32, Device device = {},
                    const Generator& generator = {}) {
  return normal(shape, 0, 1, dtype, device, generator);
}
inline Tensor rand(IntList shape, const TensorOptions& options, const Generator& generator = {}) {
  return rand(shape, options.dtype.value_or(DType::F32), options.device, generator);
}
inline Tensor randn(IntList shape, const TensorOptions& options, const Generator& generator = {}) {
  return randn(shape, options.dtype.value_or(DType::F32), options.device, generator);
}
// In x's shape, dtype and device.
inline Tensor rand_like(const Tensor& x, const Generator& generator = {}) {
  return rand(x.shape(), x.dtype(), x.device(), generator);
}
inline Tensor randn_like(const Tensor& x, const Generator& generator = {}) {
  return randn(x.shape(), x.dtype(), x.device(), generator);
}
inline Tensor randint_like(const Tensor& x, int64_t low, int64_t high,
                           const Generator& generator = {}) {
  return randint(x.shape(), low, high, x.dtype(), x.device(), generator);
}

}  // namespace tenon
#endif
