// layer_norm, rms_norm and add_layer_norm. Rows stay in registers. Longer rows, and few long rows, are folded first and then read again;
// add_layer_norm uses its decomposition for those.
#include <cmath>

#include "norm_rows.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kFew = 2, kMany = 8;  // vectors of a row that a thread holds

template <class T>
struct Forward {
  using C = Compute<T>;
  RowShape shape;
  Ptr<const T> x, residual;  // residual NULL: none is added
  Ptr<T> y, sum;             // of both
  Ptr<C> mean, rstd;         // mean NULL: rms_norm
  Parameter<T> weight, bias;
  int64_t groups, width;
  C eps;
};

template <class T, uint32_t kVectors>
GPU_KERNEL norm_rows(Forward<T> f) {
  using C = Compute<T>;
  constexpr uint32_t kItems = kVectors * kRowVector<T>;
  const RowShape& shape = f.shape;
  const C over = C(1) / static_cast<C>(shape.n == 0 ? 1 : shape.n);
  const uint32_t each = rows_of_block(shape);
  for (int64_t first = int64_t{block_index().x} * each; first < shape.rows;
       first += int64_t{block_count().x} * each) {
    const int64_t row = first + thread_index().x / shape.lanes;
    const bool any = row < shape.rows;
    C v[kItems];
    const int64_t at = any ? row * shape.n : 0;
    load_row<kVectors, T>(shape, any, f.x + at, C(0), v);
    if (f.residual != nullptr) {
      C more[kItems];
      load_row<kVectors, T>(shape, any, f.residual + at, C(0), more);
      // Rounded like the stored sum, which the backward op reads.
      GPU_UNROLL
      for (uint32_t k = 0; k < kItems; ++k) v[k] = widen<T>(narrow<T>(v[k] + more[k]));
      store_row<kVectors, T>(shape, any, f.sum + at, v);
    }
    C mean = C(0), square = C(0);
    if (f.mean != nullptr) {
      GPU_UNROLL
      for (uint32_t k = 0; k < kItems; ++k) mean += v[k];
      mean = group_reduce(mean, shape.lanes, Sum()) * over;
    }
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) {
      v[k] -= mean;
      if (row_place<T>(shape, k / kRowVector<T>, k % kRowVector<T>) < shape.n)
        square += v[k] * v[k];
    }
    square = group_reduce(square, shape.lanes, Sum()) * over;
    const C rstd = C(1) / std::sqrt(square + f.eps);
    if (any && row_lane(shape) == 0) {
      if (f.mean != nullptr) f.mean[row] = mean;
      f.rstd[row] = rstd;
    }
    const int64_t parameters = any ? row % f.groups * f.width : 0;
    C p[kItems];
    load_parameters<kVectors, T>(shape, f.weight, parameters, C(1), p);
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) v[k] *= rstd * p[k];
    if (f.bias.at != nullptr || f.bias.low != nullptr) {
      load_parameters<kVectors, T>(shape, f.bias, parameters, C(0), p);
      GPU_UNROLL
      for (uint32_t k = 0; k < kItems; ++k) v[k] += p[k];
    }
    store_row<kVectors, T>(shape, any, f.y + at, v);
  }
}

// ---- On the host --------------------------------------------------------------------------------------------------------

template <class T, uint32_t kVectors>
void forward_rows(const tn_call& call, const NormRows& r) {
  using C = Compute<T>;
  RowShape shape = plan_rows<T>(r.rows, r.n, kVectors, {r.x, r.y});
  for (const tn_view* view : {r.residual, r.sum})
    if (view != nullptr && !starts_even(*view)) shape.even = 0;
  const Forward<T> f{shape,
                     in<T>(*r.x),
                     in_or_null<T>(r.residual),
                     out<T>(*r.y),
                     r.sum != nullptr ? out<T>(*r.sum) : Ptr<T>(nullptr),
                     r.mean != nullptr ? out<C>(*r.mean) : Ptr<C>(nullptr),
                     out<C>(*r.rstd),
                     parameter<T>(r.weight, shape, r.inner, r.width),
                     parameter<T>(r.bias, shape, r.inner, r.width),
                     r.groups,
                     r.width,
                     static_cast<C>(r.eps)};
  launch(call, row_grid(shape), norm_rows<T, kVectors>, f);
}

void run_forward(const tn_call& call, uint32_t op) {
  const RowNormCall c(call, op);
  if (c.rows == 0) return;
  if (c.fits(kMany))
    return run_norm_rows(call, {.x = c.x,
                                .y = &output(call),
                                .mean = c.mean,
                                .rstd = c.rstd,
                                .weight = c.weight,
                                .bias = c.bias,
                                .rows = c.rows,
                                .n = c.n,
                                .eps = c.eps,
                                .residual = c.residual,
                                .sum = c.sum});
  run_statistics(call, c.along_rows(), *c.x, {c.mean}, {c.rstd}, c.eps);
  run_apply(call, {c.x, c.mean, c.rstd, c.weight, c.bias}, c.statistics(), c.parameters());
}

uint64_t scratch_of(const tn_call& call, uint32_t op) {
  const RowNormCall c(call, op);
  return c.fits(kMany) ? 0 : fold_scratch(c.along_rows());
}
bool supports(const tn_call& call, uint32_t op) {
  return op != RowNorm::kAddLayer || RowNormCall(call, op).fits(kMany);
}

}  // namespace

bool norm_rows_fit(tn_dtype dtype, int64_t rows, int64_t n) {
  bool fit = false;
  with_type(Floats{}, dtype,
            [&](auto tag) { fit = rows_fit<typename decltype(tag)::type>(rows, n, kMany); });
  return fit;
}

void run_norm_rows(const tn_call& call, const NormRows& r) {
  if (r.rows == 0) return;
  with_type(Floats{}, r.x->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    rows_fit<T>(r.rows, r.n, kFew) ? forward_rows<T, kFew>(call, r)
                                   : forward_rows<T, kMany>(call, r);
  });
}

void add_norm_layer_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, RowNorm::Op op) {
    list.add({.schema = schema,
              .dtypes = Floats::kMask,
              .run = run_forward,
              .code = op,
              .supports = supports,
              .scratch = scratch_of});
  };
  add(TN_SCHEMA_LAYER_NORM, RowNorm::kLayer);
  add(TN_SCHEMA_RMS_NORM, RowNorm::kRootMean);
  add(TN_SCHEMA_ADD_LAYER_NORM, RowNorm::kAddLayer);
}

}  // namespace tenon::gpu
