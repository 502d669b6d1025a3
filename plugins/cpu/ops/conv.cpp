// conv, conv_backward_input and conv_backward_weight: f32 and f64 straight, halves through f32
// copies, other dtypes by plain loops.
#include "ops/conv.hpp"

#include <algorithm>

#include "dispatch.hpp"
#include "ops/conv_any.hpp"
#include "ops/halves.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

// The operands of all passes lie at 0 and 1; ConvGeometry says which they are.
template <ConvPass P, class T>
void compute(const ConvGeometry& g, const T* first, const T* second, const T* bias, T* out) {
  if constexpr (P == kForward)
    conv_forward(g, first, second, bias, out);
  else if constexpr (P == kInput)
    conv_backward_input(g, first, second, out);
  else
    conv_backward_weight(g, first, second, out);
}

// Only the forward pass has a bias.
template <ConvPass P>
const tn_view* bias_of(const tn_call& call) {
  return P == kForward ? input_or_null(call, arg::conv::bias) : nullptr;
}

template <ConvPass P, class T>
void run(const tn_call& call) {
  const tn_view* bias = bias_of<P>(call);
  compute<P, T>(ConvGeometry(call, P), data_of<const T>(input(call, arg::conv::x)),
                data_of<const T>(input(call, arg::conv::weight)),
                bias == nullptr ? nullptr : data_of<const T>(*bias), data_of<T>(output(call)));
}

int64_t padded(const tn_view& view) { return (numel(view) + 15) / 16 * 16; }

template <ConvPass P>
uint64_t half_scratch(const tn_call& call) {
  int64_t count = padded(output(call)) + padded(input(call, arg::conv::x)) +
                  padded(input(call, arg::conv::weight));
  if (const tn_view* bias = bias_of<P>(call)) count += padded(*bias);
  return static_cast<uint64_t>(count) * sizeof(float);
}

template <ConvPass P, class T>
void run_half(const tn_call& call) {
  float* next = static_cast<float*>(call.scratch);
  const auto widened = [&](const tn_view& view) {
    float* const to = next;
    widen_all(data_of<const T>(view), to, numel(view));
    next += padded(view);
    return to;
  };
  const tn_view* bias = bias_of<P>(call);
  const float *first = widened(input(call, arg::conv::x)),
              *second = widened(input(call, arg::conv::weight));
  const float* offset = bias == nullptr ? nullptr : widened(*bias);
  compute<P, float>(ConvGeometry(call, P), first, second, offset, next);
  round_all(next, data_of<T>(output(call)), numel(output(call)));
}

template <ConvPass P>
void run_any(const tn_call& call) {
  visit_dtype<kConvAny>(output(call).dtype, [&]<class T>(Tag<T>) {
    const tn_view* bias = bias_of<P>(call);
    const ConvGeometry g(call, P);
    const T *first = data_of<const T>(input(call, arg::conv::x)),
            *second = data_of<const T>(input(call, arg::conv::weight));
    T* out = data_of<T>(output(call));
    if constexpr (P == kForward)
      conv_forward_any(g, first, second, bias == nullptr ? nullptr : data_of<const T>(*bias), out);
    else if constexpr (P == kInput)
      conv_backward_input_any(g, first, second, out);
    else
      conv_backward_weight_any(g, first, second, out);
  });
}

template <ConvPass P>
void add_pass(KernelList& list, std::string_view schema) {
  list.add({.schema = schema, .dtypes = TN_MASK(TN_DTYPE_F32), .run = run_of<run<P, float>>});
  list.add({.schema = schema, .dtypes = TN_MASK(TN_DTYPE_F64), .run = run_of<run<P, double>>});
  list.add({.schema = schema,
            .dtypes = TN_MASK(TN_DTYPE_F16),
            .run = run_of<run_half<P, F16>>,
            .scratch_size = scratch_of<half_scratch<P>>});
  list.add({.schema = schema,
            .dtypes = TN_MASK(TN_DTYPE_BF16),
            .run = run_of<run_half<P, BF16>>,
            .scratch_size = scratch_of<half_scratch<P>>});
  list.add({.schema = schema, .dtypes = kConvAny, .run = run_of<run_any<P>>});
}

}  // namespace

void add_conv_kernels(KernelList& list) {
  add_pass<kForward>(list, TN_SCHEMA_CONV);
  add_pass<kInput>(list, TN_SCHEMA_CONV_BACKWARD_INPUT);
  add_pass<kWeight>(list, TN_SCHEMA_CONV_BACKWARD_WEIGHT);
}

}  // namespace tenon::cpu
