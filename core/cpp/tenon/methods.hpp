// Definitions of Tensor's methods. Included by tenon/tensor.hpp.
#ifndef TENON_METHODS_HPP
#define TENON_METHODS_HPP

#include <algorithm>

#include "tenon/tensor.hpp"

namespace tenon {

inline Tensor Tensor::to(Device device) const { return tenon::to(*this, device); }
inline Tensor Tensor::to(DType dtype) const {
  return dtype == this->dtype() ? *this : cast(*this, dtype);
}
inline Tensor Tensor::to(Device device, DType dtype) const { return to(device).to(dtype); }
inline Tensor Tensor::cpu() const { return tenon::to(*this, Device("cpu")); }
inline Tensor Tensor::clone() const { return tenon::clone(*this); }
inline Tensor Tensor::contiguous() const {
  return is_contiguous() ? *this : tenon::contiguous(*this);
}
inline Tensor Tensor::reshape(IntList shape) const { return tenon::reshape(*this, shape); }
inline Tensor Tensor::view(IntList shape) const {
  Tensor out = tenon::reshape(*this, shape);
  if (!out.shares_storage(*this) && numel() != 0)
    throw Error(TN_INVALID_ARGUMENT,
                "[view] the strides do not allow this shape without a copy: use reshape");
  return out;
}
inline Tensor Tensor::permute(IntList dims) const { return tenon::permute(*this, dims); }
inline Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  return tenon::transpose(*this, dim0, dim1);
}
inline Tensor Tensor::t() const {
  if (ndim() != 2)
    throw Error(TN_INVALID_ARGUMENT,
                "[t] needs a matrix, not a tensor of rank " + std::to_string(ndim()));
  return tenon::transpose(*this, 0, 1);
}
inline Tensor Tensor::mt() const { return tenon::transpose(*this, -2, -1); }
inline Tensor Tensor::expand(IntList shape) const { return tenon::expand(*this, shape); }
inline Tensor Tensor::squeeze(OptionalInts dims) const { return tenon::squeeze(*this, dims); }
inline Tensor Tensor::unsqueeze(int64_t dim) const { return tenon::unsqueeze(*this, dim); }
inline Tensor Tensor::flatten(int64_t start, int64_t end) const {
  return tenon::flatten(*this, start, end);
}
inline Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                            int64_t step) const {
  return tenon::slice(*this, dim, start, end, step);
}
inline Tensor Tensor::select(int64_t dim, int64_t index) const {
  return tenon::select(*this, dim, index);
}
inline Tensor Tensor::flip(OptionalInts dims) const { return tenon::flip(*this, dims); }
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
inline Tensor Tensor::repeat(IntList repeats) const { return tenon::repeat(*this, repeats); }

inline Tensor Tensor::sum(OptionalInts dims, bool keepdim) const {
  return tenon::sum(*this, dims, keepdim);
}
inline Tensor Tensor::prod(OptionalInts dims, bool keepdim) const {
  return tenon::prod(*this, dims, keepdim);
}
inline Tensor Tensor::mean(OptionalInts dims, bool keepdim) const {
  return tenon::mean(*this, dims, keepdim);
}
inline Tensor Tensor::var(OptionalInts dims, double correction, bool keepdim) const {
  return tenon::var(*this, dims, correction, keepdim);
}
inline Tensor Tensor::stddev(OptionalInts dims, double correction, bool keepdim) const {
  return tenon::std(*this, dims, correction, keepdim);
}
inline Tensor Tensor::min(OptionalInts dims, bool keepdim) const {
  return tenon::min(*this, dims, keepdim);
}
inline Tensor Tensor::max(OptionalInts dims, bool keepdim) const {
  return tenon::max(*this, dims, keepdim);
}
inline Tensor Tensor::any(OptionalInts dims, bool keepdim) const {
  return tenon::any(*this, dims, keepdim);
}
inline Tensor Tensor::all(OptionalInts dims, bool keepdim) const {
  return tenon::all(*this, dims, keepdim);
}
inline Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const {
  return tenon::argmin(*this, dim, keepdim);
}
inline Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const {
  return tenon::argmax(*this, dim, keepdim);
}
inline Tensor Tensor::norm(double p, OptionalInts dims, bool keepdim) const {
  return tenon::norm(*this, p, dims, keepdim);
}
inline Tensor Tensor::logsumexp(OptionalInts dims, bool keepdim) const {
  return tenon::logsumexp(*this, dims, keepdim);
}
inline Tensor Tensor::cumsum(int64_t dim) const { return tenon::cumsum(*this, dim); }
inline Tensor Tensor::softmax(int64_t dim) const { return tenon::softmax(*this, dim); }
inline Tensor Tensor::log_softmax(int64_t dim) const { return tenon::log_softmax(*this, dim); }

inline Tensor Tensor::neg() const { return tenon::neg(*this); }
inline Tensor Tensor::abs() const { return tenon::abs(*this); }
inline Tensor Tensor::sign() const { return tenon::sign(*this); }
inline Tensor Tensor::square() const { return tenon::square(*this); }
inline Tensor Tensor::sqrt() const { return tenon::sqrt(*this); }
inline Tensor Tensor::rsqrt() const { return tenon::rsqrt(*this); }
inline Tensor Tensor::reciprocal() const { return tenon::reciprocal(*this); }
inline Tensor Tensor::exp() const { return tenon::exp(*this); }
inline Tensor Tensor::log() const { return tenon::log(*this); }
inline Tensor Tensor::log1p() const { return tenon::log1p(*this); }
inline Tensor Tensor::sin() const { return tenon::sin(*this); }
inline Tensor Tensor::cos() const { return tenon::cos(*this); }
inline Tensor Tensor::tanh() const { return tenon::tanh(*this); }
inline Tensor Tensor::sigmoid() const { return tenon::sigmoid(*this); }
inline Tensor Tensor::relu() const { return tenon::relu(*this); }
inline Tensor Tensor::floor() const { return tenon::floor(*this); }
inline Tensor Tensor::ceil() const { return tenon::ceil(*this); }
inline Tensor Tensor::round() const { return tenon::round(*this); }
inline Tensor Tensor::conj() const { return tenon::conj(*this); }
inline Tensor Tensor::pow(Operand exponent) const { return tenon::pow(*this, exponent); }
inline Tensor Tensor::maximum(Operand other) const { return tenon::maximum(*this, other); }
inline Tensor Tensor::minimum(Operand other) const { return tenon::minimum(*this, other); }
inline Tensor Tensor::clamp(const OptionalScalar& min, const OptionalScalar& max) const {
  return tenon::clamp(*this, min, max);
}
inline Tensor Tensor::masked_fill(const Tensor& mask, Operand value) const {
  return tenon::masked_fill(*this, mask, value);
}
inline Tensor Tensor::matmul(const Tensor& other) const { return tenon::matmul(*this, other); }
inline Tensor Tensor::gather(int64_t dim, const Tensor& index) const {
  return tenon::gather(*this, dim, index);
}
inline Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  return tenon::index_select(*this, dim, index);
}

inline Tensor& Tensor::add_(Operand other) { return *this += other; }
inline Tensor& Tensor::sub_(Operand other) { return *this -= other; }
inline Tensor& Tensor::mul_(Operand other) { return *this *= other; }
inline Tensor& Tensor::div_(Operand other) { return *this /= other; }
inline Tensor& Tensor::clamp_(const OptionalScalar& min, const OptionalScalar& max) {
  const tn_value args[] = {detail::value(*this), detail::value(min), detail::value(max)};
  detail::call_into(detail::op_clamp, args, 3, *this);
  return *this;
}
inline Tensor& Tensor::relu_() {
  const tn_value args[] = {detail::value(*this)};
  detail::call_into(detail::op_relu, args, 1, *this);
  return *this;
}
inline Tensor& Tensor::masked_fill_(const Tensor& mask, Operand value) {
  const tn_value args[] = {detail::value(*this), detail::value(mask), detail::value(value)};
  detail::call_into(detail::op_masked_fill, args, 3, *this);
  return *this;
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
