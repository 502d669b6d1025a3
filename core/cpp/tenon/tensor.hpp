// Tensors with their operators and methods.
#ifndef TENON_TENSOR_HPP
#define TENON_TENSOR_HPP

#include <cstring>
#include <memory>

#include "tenon/ops.hpp"

namespace tenon {

// ---- Operators; a number may stand on either side -----------------------------------------------
namespace detail {
template <class T>
concept Number = std::integral<T> || std::floating_point<T> || std::same_as<T, Scalar> ||
    std::same_as<T, std::complex<double>>;
}  // namespace detail

#define TENON_OPERATOR(symbol, name)                                                     \
  inline Tensor operator symbol(const Tensor& x, const Tensor& y) { return name(x, y); } \
  inline Tensor operator symbol(const Tensor& x, const detail::Number auto& y) {         \
    return name(x, y);                                                                   \
  }                                                                                      \
  inline Tensor operator symbol(const detail::Number auto& x, const Tensor& y) {         \
    return name(x, y);                                                                   \
  }
TENON_OPERATOR(+, add)
TENON_OPERATOR(-, sub)
TENON_OPERATOR(*, mul)
TENON_OPERATOR(/, div)
TENON_OPERATOR(%, remainder)
TENON_OPERATOR(&, bitwise_and)
TENON_OPERATOR(|, bitwise_or)
TENON_OPERATOR(^, bitwise_xor)
TENON_OPERATOR(<<, bitwise_left_shift)
TENON_OPERATOR(>>, bitwise_right_shift)
TENON_OPERATOR(==, equal)
TENON_OPERATOR(!=, not_equal)
TENON_OPERATOR(<, less)
TENON_OPERATOR(<=, less_equal)
TENON_OPERATOR(>, greater)
TENON_OPERATOR(>=, greater_equal)
#undef TENON_OPERATOR

inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator+(const Tensor& x) { return x; }
inline Tensor operator~(const Tensor& x) { return bitwise_not(x); }

namespace detail {
inline Tensor& in_place(OpHandle& op, Tensor& x, const Operand& y) {
  const tn_value args[] = {value(x), value(y)};
  call_into(op, args, 2, x);
  return x;
}
}  // namespace detail

inline Tensor& operator+=(Tensor& x, Operand y) { return detail::in_place(detail::op_add, x, y); }
inline Tensor& operator-=(Tensor& x, Operand y) { return detail::in_place(detail::op_sub, x, y); }
inline Tensor& operator*=(Tensor& x, Operand y) { return detail::in_place(detail::op_mul, x, y); }
inline Tensor& operator/=(Tensor& x, Operand y) { return detail::in_place(detail::op_div, x, y); }
inline Tensor& operator%=(Tensor& x, Operand y) {
  return detail::in_place(detail::op_remainder, x, y);
}
inline Tensor& operator&=(Tensor& x, Operand y) {
  return detail::in_place(detail::op_bitwise_and, x, y);
}
inline Tensor& operator|=(Tensor& x, Operand y) {
  return detail::in_place(detail::op_bitwise_or, x, y);
}
inline Tensor& operator^=(Tensor& x, Operand y) {
  return detail::in_place(detail::op_bitwise_xor, x, y);
}

// ---- Elements -----------------------------------------------------------------------------------
template <class T>
T* Tensor::data() const {
  if (dtype() != dtype_of<T>) [[unlikely]]
    throw Error(TN_INVALID_ARGUMENT, "[data] a tensor of " + std::string(name_of(dtype())) +
                                         " read as " + std::string(name_of(dtype_of<T>)));
  void* elements = tn_tensor_data(handle_);
  if (elements == nullptr && numel() != 0) [[unlikely]]
    throw Error(TN_FAILED_PRECONDITION, "[data] the host cannot address memory of " +
                                            std::string(device().id()) +
                                            ": copy the tensor with .cpu()");
  return static_cast<T*>(elements);
}

template <class T>
T Tensor::item() const {
  if (numel() != 1)
    throw Error(TN_INVALID_ARGUMENT,
                "[item] a tensor of " + std::to_string(numel()) + " elements is not one number");
  alignas(16) unsigned char bytes[16];
  to_host(bytes, size_of(dtype()));
  return visit(dtype(), [&]<class From>(From from) {
    std::memcpy(&from, bytes, sizeof(From));
    return detail::convert<T>(from, "item");
  });
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  if (dtype() != dtype_of<T>)
    throw Error(TN_INVALID_ARGUMENT, "[to_vector] a tensor of " + std::string(name_of(dtype())) +
                                         " read as " + std::string(name_of(dtype_of<T>)) +
                                         ": cast it with .to(dtype)");
  const size_t n = static_cast<size_t>(numel());
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(n);
    to_host(bytes.data(), n);
    return {bytes.begin(), bytes.end()};
  } else {
    std::vector<T> elements(n);
    to_host(elements.data(), n * sizeof(T));
    return elements;
  }
}

// ---- Autograd -----------------------------------------------------------------------------------
inline void Tensor::backward(const Tensor& grad, bool retain_graph, bool create_graph) const {
  tn_tensor* const outputs[] = {handle()};
  tn_tensor* const grads[] = {grad.handle_};
  detail::check(tn_backward(outputs, 1, grads,
                            (retain_graph ? TN_BACKWARD_RETAIN_GRAPH : 0u) |
                                (create_graph ? TN_BACKWARD_CREATE_GRAPH : 0u)));
}

namespace detail {
// Runs a callback that may throw, and turns an exception into a status.
template <class Fn>
tn_status* guarded(const char* where, Fn&& fn) noexcept {
  try {
    fn();
    return nullptr;
  } catch (const Error& error) {
    return tn_status_make(error.code(), to_str(error.what()));
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    char text[512];
    const int n = std::snprintf(text, sizeof text, "[%s] %.*s", where,
                                static_cast<int>(what.size()), what.data());
    return tn_status_make(TN_INTERNAL,
                          {text, static_cast<uint64_t>(std::min<int>(n, sizeof text - 1))});
  } catch (...) {
    return tn_status_make(TN_INTERNAL, to_str("an exception of unknown type"));
  }
}
}  // namespace detail

inline uint64_t Tensor::register_hook(std::function<Tensor(const Tensor&)> hook) {
  using Hook = std::function<Tensor(const Tensor&)>;
  const auto run = [](void* ctx, tn_tensor* grad, tn_tensor** replacement) -> tn_status* {
    return detail::guarded("hook",
                           [&] { *replacement = (*static_cast<Hook*>(ctx))(share(grad)).take(); });
  };
  uint64_t id = 0;
  auto owned = std::make_unique<Hook>(std::move(hook));
  detail::check(tn_tensor_add_hook(
      handle(), run, owned.get(), [](void* ctx) { delete static_cast<Hook*>(ctx); }, &id));
  static_cast<void>(owned.release());  // the tensor owns it now
  return id;
}

// The hook adds to a gradient that the tensor has from now on: with the tensor itself it would keep the tensor alive.
inline void Tensor::retain_grad() {
  if (!requires_grad())
    throw Error(TN_FAILED_PRECONDITION, "[retain_grad] the tensor requires no gradient");
  if (is_leaf() || grad().defined()) return;
  set_grad(detach().full_like(0));
  register_hook([kept = grad()](const Tensor& grad) mutable {
    kept += grad;
    return Tensor();
  });
}

}  // namespace tenon

#include "tenon/index.hpp"
#include "tenon/methods.hpp"
#endif
