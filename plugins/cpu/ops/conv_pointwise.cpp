// Convolutions of 1×1 kernels in bf16 and f16 as products of the images as they lie: oneDNN's convolutions copy every operand into
// layouts of their own first.
#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/conv.hpp"
#include "ops/matmul_dnnl.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// For each image, forward: filters × places = weight · x; of the input: channels × places = weightᵀ · g.
template <ConvPass P>
Product read(const tn_call& call, const ConvGeometry& g) {
  const int64_t plane = g.out_plane(), depth = P == kForward ? g.channels : g.filters;
  Product p;
  p.m = P == kForward ? g.filters : g.channels;
  p.n = plane;
  p.k = depth;
  p.a.view = &input(call, arg::conv::weight);
  p.a.row = P == kForward ? g.channels : 1;
  p.a.column = P == kForward ? 1 : g.channels;
  p.b.view = &input(call, arg::conv::x);
  p.b.row = plane;
  p.b.column = 1;
  p.batches = g.batch;
  if (g.batch == 1) return p;
  p.ndim = 1;
  p.shape[0] = g.batch;
  p.b.batch[0] = depth * plane;
  return p;
}

template <ConvPass P>
bool fits(const tn_call& call) {
  const ConvGeometry g(call, P);
  if (!g.pointwise() || g.groups > 1 || !suits_products(g)) return false;
  if (P == kForward && input_or_null(call, arg::conv::bias) != nullptr) return false;
  return HalfProduct::fits(output(call).dtype, read<P>(call, g));
}

template <ConvPass P>
std::unique_ptr<HalfProduct> make_plan(const tn_call& call) {
  return HalfProduct::made(output(call).dtype, read<P>(call, ConvGeometry(call, P)), kNone);
}

template <ConvPass P>
void run(HalfProduct& plan, const tn_call& call) {
  plan.run(read<P>(call, ConvGeometry(call, P)), output(call).data);
}

template <ConvPass P>
void add_pass(KernelList& list, std::string_view schema) {
  list.add({.schema = schema,
            .dtypes = TN_MASK_HALF,
            .run = run_plan_of<HalfProduct, run<P>>,
            .priority = 20,
            .supports = supports_of<fits<P>>,
            .prepare = prepare_of<make_plan<P>>,
            .release = release_of<HalfProduct>});
}

}  // namespace

void add_conv_pointwise_kernels(KernelList& list) {
  add_pass<kForward>(list, TN_SCHEMA_CONV);
  add_pass<kInput>(list, TN_SCHEMA_CONV_BACKWARD_INPUT);
}

}  // namespace tenon::cpu
