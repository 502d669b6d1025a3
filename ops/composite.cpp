// Converts a frame's arguments to the C++ API and its results back.
#include "ops/composite.hpp"

#include "dispatch/scalar.hpp"

namespace tenon::core {
namespace {

// The dtype that a number takes beside tensors of dtype `beside`: theirs, unless the number's kind is higher.
tn_dtype number_dtype(const tn_value& number, tn_dtype beside) {
  const bool wide = beside == TN_DTYPE_F64 || beside == TN_DTYPE_C128;
  if (number.tag == TN_VALUE_COMPLEX)
    return is_complex(beside) ? beside : wide ? TN_DTYPE_C128 : TN_DTYPE_C64;
  if (number.tag == TN_VALUE_FLOAT) return is_differentiable(beside) ? beside : TN_DTYPE_F32;
  if (number.tag == TN_VALUE_INT) return beside == TN_DTYPE_BOOL ? TN_DTYPE_I64 : beside;
  return beside;
}

// A rank-0 host tensor, which may join any device.
Tensor number_tensor(const tn_value& number, tn_dtype dtype) {
  tn_view view;
  make_scalar_view(view, dtype, number);
  tn_tensor* out = nullptr;
  check(tn_tensor_from_host(view.scalar, dtype_size(dtype), dtype, 0, nullptr, nullptr, &out));
  return Tensor::adopt(out);
}

// The dtype of the first tensor among the arguments.
tn_dtype leading_dtype(const Frame& frame) {
  for (uint32_t i = 0; i < frame.nargs(); ++i)
    if (frame.is_tensor(i)) return frame.tensor(i).dtype();
  return TN_DTYPE_F32;
}

}  // namespace

Tensor CompositeArgs::tensor(uint32_t i) const {
  if (!frame_.has(i)) return {};
  if (frame_.is_tensor(i)) return Tensor::share(&frame_.tensor(i));
  return number_tensor(frame_.arg(i), number_dtype(frame_.arg(i), leading_dtype(frame_)));
}

Operand CompositeArgs::operand(uint32_t i) const {
  const tn_value& value = frame_.arg(i);
  if (value.tag == TN_VALUE_BOOL) return value.as.i != 0;
  if (value.tag == TN_VALUE_INT) return value.as.i;
  if (value.tag == TN_VALUE_FLOAT) return value.as.f;
  if (value.tag == TN_VALUE_COMPLEX)
    return reinterpret_cast<const std::complex<double>&>(*value.as.floats);
  return *reinterpret_cast<const Tensor*>(&value.as.tensor);  // a Tensor is its handle
}

std::vector<Tensor> CompositeArgs::tensors(uint32_t i) const {
  std::vector<Tensor> list;
  list.reserve(frame_.tensors(i).size());
  for (tn_tensor* tensor : frame_.tensors(i)) list.push_back(Tensor::share(tensor));
  return list;
}

Generator CompositeArgs::generator(uint32_t i) const {
  return frame_.has(i) ? Generator::share(frame_.arg(i).as.generator) : Generator();
}

void run_composite(Frame& frame, tn_tensor** outs, void (*body)(const CompositeArgs&, Tensor*)) {
  Few<Tensor, kFewResults> results(frame.nresults());
  body(CompositeArgs(frame), results.data());
  for (uint32_t k = 0; k < frame.nresults(); ++k)
    if (!results[k].defined()) frame.fail(TN_INTERNAL, "the decomposition left result {} out", k);
  for (uint32_t k = 0; k < frame.nresults(); ++k) outs[k] = results[k].take();
}

}  // namespace tenon::core
