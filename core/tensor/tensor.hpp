// The tensor header, its storage, and what the core does with them.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "memory/device.hpp"
#include "tenon/tensor.h"

namespace tenon::core {

struct Node;
struct AutogradMeta;

// Bytes that tensors may share. Fresh tensors carry their storage, and small ones their bytes, in the header's block.
struct Storage {
  std::atomic<uint32_t> refs;
  std::atomic<uint32_t> version;  // counts in-place writes
  tn_device* device;
  Block block;                 // unused for wrapped and inline bytes
  void (*release)(void* ctx);  // of wrapped memory
  void* release_ctx;
  // No block to give back: the bytes are in the header's block, or the core does not own them.
  uint8_t unowned;
  uint8_t read_only;
};

// For few dimensions this is faster than calling memcpy.
inline void copy_dims(std::span<const int64_t> from, int64_t* to) {
  if (from.size() > 4) return static_cast<void>(std::memcpy(to, from.data(), from.size_bytes()));
  if (!from.empty()) to[0] = from[0];
  if (from.size() > 1) to[1] = from[1];
  if (from.size() > 2) to[2] = from[2];
  if (from.size() > 3) to[3] = from[3];
}

// A list of up to TN_MAX_DIMS sizes.
struct Dims {
  uint32_t n = 0;
  int64_t v[TN_MAX_DIMS];
  Dims() = default;
  Dims(std::span<const int64_t> from) { assign(from); }
  void assign(std::span<const int64_t> from) {
    if (from.size() > TN_MAX_DIMS) [[unlikely]]
      fail_size(from.size());
    n = static_cast<uint32_t>(from.size());
    copy_dims(from, v);
  }
  int64_t& operator[](size_t i) { return i < n ? v[i] : fail_index(i); }
  int64_t operator[](size_t i) const { return i < n ? v[i] : fail_index(i); }
  [[noreturn, gnu::cold]] int64_t& fail_index(size_t i) const;
  [[noreturn, gnu::cold]] static void fail_size(size_t size);
  void push(int64_t size);
  size_t size() const { return n; }
  int64_t* begin() { return v; }
  int64_t* end() { return v + n; }
  const int64_t* begin() const { return v; }
  const int64_t* end() const { return v + n; }
  operator std::span<const int64_t>() const { return {v, n}; }
  bool operator==(const Dims& other) const;
};

// For few dimensions this is faster than calling memcmp.
inline bool same_dims(std::span<const int64_t> a, std::span<const int64_t> b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d)
    if (a[d] != b[d]) return false;
  return true;
}

// tn_tensor.flags
constexpr uint8_t kRequiresGrad = 1;  // leaf that collects a gradient, or has a grad_fn
constexpr uint8_t kInference = 2;     // made in inference mode: can never join a graph
constexpr uint8_t kIsView = 4;        // differentiable view; its base is in `meta`
// View made with recording off: a recorded write to it would miss its base.
constexpr uint8_t kUntracked = 8;
constexpr uint32_t kInlineDims = 6;

// A view's may change when the first of several threads looks at it after a write to its base: that one holds a lock, the others
// read either state.
struct Flags {
  std::atomic<uint8_t> bits;
  operator uint8_t() const { return bits.load(std::memory_order_relaxed); }
  void operator=(uint8_t fresh) { bits.store(fresh, std::memory_order_relaxed); }
  void operator|=(uint8_t more) { *this = static_cast<uint8_t>(*this | more); }
  void operator&=(uint8_t kept) { *this = static_cast<uint8_t>(*this & kept); }
};

}  // namespace tenon::core

// view.shape and view.strides point to `dims`, or to a heap array beyond kInlineDims dimensions.
struct tn_tensor {
  tn_view view;  // first: kernels get it as it is
  std::atomic<uint32_t> refs;
  tenon::core::Flags flags;
  uint8_t block_class;  // which free list its memory goes back to
  uint16_t output_nr;   // which result of grad_fn it is
  int64_t numel;
  tenon::core::Storage* storage;
  tn_device* device;
  tenon::core::Node* grad_fn;       // owned reference; NULL for leaves
  tenon::core::AutogradMeta* meta;  // gradient, hooks, base of a view; NULL until needed
  int64_t dims[2 * tenon::core::kInlineDims];

  uint32_t ndim() const { return view.ndim; }
  tn_dtype dtype() const { return view.dtype; }
  const int64_t* shape() const { return view.shape; }
  const int64_t* strides() const { return view.strides; }
  std::span<const int64_t> sizes() const { return {view.shape, view.ndim}; }
  bool contiguous() const { return (view.flags & TN_VIEW_CONTIGUOUS) != 0; }
  bool requires_grad() const { return (flags & tenon::core::kRequiresGrad) != 0; }
};

namespace tenon::core {

// Alike in dtype, shape and device.
inline bool same_kind(const tn_tensor& a, const tn_tensor& b) {
  return same_dims(a.sizes(), b.sizes()) && a.dtype() == b.dtype() && a.device == b.device;
}

inline uint64_t dtype_size(tn_dtype dtype) {
  constexpr uint8_t kSizes[TN_DTYPE_COUNT] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1};
  return dtype < TN_DTYPE_COUNT ? kSizes[dtype] : 0;
}
inline bool is_floating(tn_dtype dtype) { return (TN_MASK(dtype) & TN_MASK_FLOAT) != 0; }
inline bool is_complex(tn_dtype dtype) { return (TN_MASK(dtype) & TN_MASK_COMPLEX) != 0; }
inline bool is_integral(tn_dtype dtype) { return (TN_MASK(dtype) & TN_MASK_INT) != 0; }
inline bool is_float8(tn_dtype dtype) { return (TN_MASK(dtype) & TN_MASK_F8) != 0; }
// What an error adds when arithmetic gets an 8-bit float, which is for storage only.
inline std::string_view storage_hint(tn_dtype dtype) {
  return is_float8(dtype) ? "; 8-bit floats are storage: cast() them, or use scaled_matmul()" : "";
}
inline bool is_differentiable(tn_dtype dtype) { return is_floating(dtype) || is_complex(dtype); }
inline uint64_t bytes_of(const tn_tensor& tensor) {
  return static_cast<uint64_t>(tensor.numel) * dtype_size(tensor.dtype());
}
// Array API promotion; throws Error where the standard leaves it open.
tn_dtype promote(tn_dtype a, tn_dtype b);
std::string_view dtype_name(tn_dtype dtype);

// "(2, 3)", as errors print shapes; "f32(2, 3)@cpu:0" for a tensor. Arguments of checks that hold: text is only made for errors.
struct ShapeText {
  std::span<const int64_t> shape;
  operator std::string() const;
};
struct TensorText {
  const tn_tensor& tensor;
  operator std::string() const;
};
inline ShapeText format_shape(std::span<const int64_t> shape) { return {shape}; }
inline TensorText describe(const tn_tensor& tensor) { return {tensor}; }

// A fresh tensor: row-major, or with its dimensions in the order of the strides `like`. Throws Error. The caller owns the reference.
tn_tensor* make_tensor(tn_dtype dtype, std::span<const int64_t> shape, tn_device& device,
                       const int64_t* like = nullptr);
// Like `like` in dtype, shape and device, which must be contiguous: the quick way on the hot path.
tn_tensor* make_like(const tn_tensor& like);
// A tensor over memory that the core does not own, for the function `name`; `release` may be NULL.
tn_tensor* make_wrapped(std::string_view name, tn_device& device, const Block& at, tn_dtype dtype,
                        std::span<const int64_t> shape, std::span<const int64_t> strides,
                        void (*release)(void*), void* ctx, bool read_only);
// A tensor over the storage of `base`; `offset` in elements from base's first element. No autograd.
tn_tensor* make_view(const tn_tensor& base, std::span<const int64_t> shape,
                     std::span<const int64_t> strides, int64_t offset);
// The same for elements of another dtype; `offset` in bytes. See tenon/reinterpret.h.
tn_tensor* reinterpret(const tn_tensor& base, tn_dtype dtype, std::span<const int64_t> shape,
                       std::span<const int64_t> strides, int64_t offset);
// The same, as another header over the same elements: no grad_fn, no meta.
tn_tensor* make_alias(const tn_tensor& tensor);
// Makes a header use the elements of another one of the same shape.
void show_elements(tn_tensor& tensor, const tn_tensor& of);
// Grows whenever kernels are added or removed or a storage's bytes move; whoever caches either compares it.
extern std::atomic<uint64_t> g_epoch;
// False where the tensor's storage was released.
inline bool has_elements(const tn_tensor& tensor) {
  return (tensor.view.flags & TN_VIEW_RELEASED) == 0;
}
[[noreturn, gnu::cold]] void fail_released(const tn_tensor& tensor);
// Called by the last release; pushes what it frees on a list rather than recursing.
void destroy_tensor(tn_tensor* tensor) noexcept;

inline void retain(tn_tensor* tensor) noexcept {
  tensor->refs.fetch_add(1, std::memory_order_relaxed);
}
// Frees what autograd, which defines it, holds for a tensor: gradient, hooks, history. Iterative.
void release_autograd(tn_tensor* tensor) noexcept;
inline void release(tn_tensor* tensor) noexcept {
  if (tensor != nullptr && tensor->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy_tensor(tensor);
}

// Row-major strides of a shape; `given` where there are any.
Dims contiguous_strides(std::span<const int64_t> shape);
inline Dims strides_or_dense(std::span<const int64_t> shape, const int64_t* given) {
  return given == nullptr ? contiguous_strides(shape) : Dims({given, shape.size()});
}
// The offsets of a tensor's first and last element in memory, in elements from its data pointer. The tensor must not be empty.
struct Reach {
  int64_t low = 0, high = 0;
};
Reach reach_of(const tn_tensor& tensor);
// Throws Error unless elements, at least one, can lie at an address and reach neither below `low` nor to `high`. No stride is too large
// for it.
void check_place(std::string_view name, tn_dtype dtype, std::span<const int64_t> shape,
                 std::span<const int64_t> strides, uint64_t alignment, __int128 address,
                 __int128 low, __int128 high);
// Elements of a shape; throws Error on a negative size or overflow.
int64_t count_elements(std::span<const int64_t> shape);
// 1 when two index tuples can reach one element (broadcast strides), so that writing is refused.
bool has_overlap(const tn_tensor& tensor);
// Copies a row-major tensor to another one of its dtype and shape, on any device.
void copy_dense(const tn_tensor& from, tn_tensor& to);
// Copies elements, any strides, between two tensors of one dtype and shape on addressable memory; serial. For loading and saving
// without a plugin.
void copy_strided_host(const tn_view& src, const tn_view& dst);

// An owning pointer to a tensor.
class Ref {
 public:
  Ref() = default;
  explicit Ref(tn_tensor* adopted) noexcept : tensor_(adopted) {}
  static Ref share(tn_tensor* tensor) noexcept {
    if (tensor != nullptr) retain(tensor);
    return Ref(tensor);
  }
  Ref(const Ref& other) noexcept : Ref(share(other.tensor_)) {}
  Ref(Ref&& other) noexcept : tensor_(other.take()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~Ref() { release(tensor_); }
  tn_tensor* get() const noexcept { return tensor_; }
  tn_tensor* take() noexcept { return std::exchange(tensor_, nullptr); }
  tn_tensor* operator->() const noexcept { return tensor_; }
  tn_tensor& operator*() const noexcept { return *tensor_; }
  explicit operator bool() const noexcept { return tensor_ != nullptr; }

 private:
  tn_tensor* tensor_ = nullptr;
};

// Formatted as their texts, without options: these few lines save every source from including <fmt/format.h>.
struct TextFormatter {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const std::string& text, fmt::format_context& context) const {
    return std::copy(text.begin(), text.end(), context.out());
  }
};
}  // namespace tenon::core

template <>
struct fmt::formatter<tenon::core::ShapeText> : tenon::core::TextFormatter {};
template <>
struct fmt::formatter<tenon::core::TensorText> : tenon::core::TextFormatter {};
