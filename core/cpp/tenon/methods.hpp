// Definitions of those of Tensor's methods that are more than an op. Included by tenon/tensor.hpp.
#ifndef TENON_METHODS_HPP
#define TENON_METHODS_HPP

#include <algorithm>

#include "tenon/tensor.hpp"

namespace tenon {

inline Tensor Tensor::to(Device device) const { return tenon::to(*this, device); }
inline Tensor Tensor::to(DType dtype) const { return dtype == this->dtype() ? *this : cast(dtype); }
inline Tensor Tensor::to(Device device, DType dtype) const { return to(device).to(dtype); }
inline Tensor Tensor::cpu() const { return tenon::to(*this, Device("cpu")); }
inline Tensor Tensor::contiguous() const {
  return is_contiguous() ? *this : tenon::contiguous(*this);
}
inline Tensor Tensor::view(IntList shape) const {
  Tensor out = tenon::reshape(*this, shape);
  if (!out.shares_storage(*this) && numel() != 0)
    throw Error(TN_INVALID_ARGUMENT,
                "[view] the strides do not allow this shape without a copy: use reshape");
  return out;
}
inline Tensor Tensor::t() const {
  if (ndim() != 2)
    throw Error(TN_INVALID_ARGUMENT,
                "[t] needs a matrix, not a tensor of rank " + std::to_string(ndim()));
  return tenon::transpose(*this, 0, 1);
}
inline Tensor Tensor::mt() const { return tenon::transpose(*this, -2, -1); }
inline Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  const int64_t size = shape(dim);
  const int64_t first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || length > size - first)
    throw Error(TN_OUT_OF_RANGE, "[narrow] " + std::to_string(length) + " elements from " +
                                     std::to_string(start) + " do not fit into size " +
                                     std::to_string(size));
  return tenon::slice(*this, dim, first, first + length);
}
inline std::vector<Tensor> Tensor::split(int64_t size, int64_t dim) const {
  if (size <= 0)
    throw Error(TN_INVALID_ARGUMENT, "[split] size " + std::to_string(size) + " is not positive");
  std::vector<Tensor> parts;
  const int64_t total = shape(dim);
  for (int64_t at = 0; at < total; at += size)
    parts.push_back(tenon::slice(*this, dim, at, std::min(at + size, total)));
  if (parts.empty()) parts.push_back(*this);
  return parts;
}
inline std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const {
  if (chunks <= 0)
    throw Error(TN_INVALID_ARGUMENT, "[chunk] " + std::to_string(chunks) + " chunks");
  return split(std::max<int64_t>(1, (shape(dim) + chunks - 1) / chunks), dim);
}
inline std::vector<Tensor> Tensor::unbind(int64_t dim) const {
  std::vector<Tensor> parts;
  for (int64_t i = 0, n = shape(dim); i < n; ++i) parts.push_back(tenon::select(*this, dim, i));
  return parts;
}

inline Tensor Tensor::isclose(const Tensor& y, double rtol, double atol, bool equal_nan) const {
  if (dtype() != y.dtype())
    throw Error(TN_INVALID_ARGUMENT, "[isclose] dtypes " + std::string(name_of(dtype())) + " and " +
                                         std::string(name_of(y.dtype())) + " differ");
  if (!(rtol >= 0 && atol >= 0))
    throw Error(TN_INVALID_ARGUMENT, "[isclose] rtol " + std::to_string(rtol) + " and atol " +
                                         std::to_string(atol) + " must not be negative");
  const bool exact = !is_floating(dtype()) && !is_complex(dtype());
  const Tensor a = exact ? to(DType::F64) : detach(), b = exact ? y.to(DType::F64) : y.detach();
  Tensor same = a == b;  // an infinity is close to itself only
  if (equal_nan) same = same | (a.isnan() & b.isnan());
  const Tensor gap = (a - b).abs();
  return same | (gap.isfinite() & (gap <= (b * rtol).abs() + atol));
}
inline bool Tensor::allclose(const Tensor& y, double rtol, double atol, bool equal_nan) const {
  return isclose(y, rtol, atol, equal_nan).all().item<bool>();
}
inline Tensor Tensor::multinomial(int64_t num_samples, bool replacement,
                                  const Generator& generator) const {
  if (ndim() < 1 || ndim() > 2 || !is_floating(dtype()))
    throw Error(TN_INVALID_ARGUMENT,
                "[multinomial] needs weights (n,) or (m, n) of a floating dtype, not " +
                    std::string(name_of(dtype())) + " of rank " + std::to_string(ndim()));
  const int64_t n = shape(-1);
  if (num_samples <= 0 || (!replacement && num_samples > n))
    throw Error(TN_INVALID_ARGUMENT, "[multinomial] " + std::to_string(num_samples) +
                                         " samples of " + std::to_string(n) +
                                         (replacement ? "" : " without replacement"));
  const Tensor weights = detach();
  if (!((weights >= 0) & weights.isfinite()).all().item<bool>() ||
      !(weights.sum(-1) > 0).all().item<bool>())
    throw Error(TN_INVALID_ARGUMENT,
                "[multinomial] weights must be finite, not negative, and not all 0");
  const auto drawn = [&](IntList sizes) {
    return uniform(sizes, 0, 1, dtype(), device(), generator);
  };
  if (!replacement) {  // the smallest of exponential times with these rates
    const Tensor times = -(1 - drawn(shape())).log() / weights;
    return times.argsort(-1).slice(-1, 0, num_samples).contiguous();
  }
  const Tensor ends = weights.cumsum(-1);
  std::vector<int64_t> sizes(shape().begin(), shape().end());
  sizes.back() = num_samples;
  return searchsorted(ends, drawn(sizes) * ends.slice(-1, n - 1, n), true).clamp(0, n - 1);
}

inline Tensor& Tensor::copy_(const Tensor& source) {
  Tensor from = source.device() == device() ? source : source.to(device());
  from = from.to(dtype());
  if (!std::ranges::equal(from.shape(), shape())) from = from.expand(shape());
  const tn_value args[] = {detail::value(from)};
  detail::call_into(detail::op_clone, args, 1, *this);
  return *this;
}
inline Tensor& Tensor::fill_(const Scalar& value) {
  const tn_value args[] = {detail::value(*this), value.value(), detail::value(dtype())};
  detail::call_into(detail::op_full_like, args, 3, *this);
  return *this;
}
inline Tensor& Tensor::zero_() { return fill_(0); }
inline Tensor& Tensor::uniform_(double low, double high, const Generator& generator) {
  const tn_value args[] = {
      detail::value(IntList(shape())), detail::value(low),      detail::value(high),
      detail::value(dtype()),          detail::value(device()), detail::value(generator)};
  detail::call_into(detail::op_uniform, args, 6, *this);
  return *this;
}
inline Tensor& Tensor::normal_(double mean, double std, const Generator& generator) {
  const tn_value args[] = {
      detail::value(IntList(shape())), detail::value(mean),     detail::value(std),
      detail::value(dtype()),          detail::value(device()), detail::value(generator)};
  detail::call_into(detail::op_normal, args, 6, *this);
  return *this;
}

// ---- The same as functions ----------------------------------------------------------------------
inline Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return x.narrow(dim, start, length);
}
inline std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0) {
  return x.split(size, dim);
}
inline std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0) {
  return x.chunk(chunks, dim);
}
inline std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0) { return x.unbind(dim); }
inline Tensor isclose(const Tensor& x, const Tensor& y, double rtol = 1e-5, double atol = 1e-8,
                      bool equal_nan = false) {
  return x.isclose(y, rtol, atol, equal_nan);
}
inline bool allclose(const Tensor& x, const Tensor& y, double rtol = 1e-5, double atol = 1e-8,
                     bool equal_nan = false) {
  return x.allclose(y, rtol, atol, equal_nan);
}
inline Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement = false,
                          const Generator& generator = {}) {
  return weights.multinomial(num_samples, replacement, generator);
}

}  // namespace tenon
#endif
