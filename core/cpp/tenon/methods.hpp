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

}  // namespace tenon
#endif
