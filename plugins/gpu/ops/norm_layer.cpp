// layer_norm, rms_norm and their backwards. Rows stay in registers; what is longer, or few and long, is folded first and then read
// again. Gradients of parameters are folds along columns.
#include <cmath>

#include "../../common/norm_call.hpp"
#include "norms.hpp"
#include "row_kernels.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kFew = 2, kMany = 8;              // vectors of a row that a thread holds
constexpr uint32_t kFewOfPair = 1, kManyOfPair = 4;  // of each of two rows

// The parameter of element i of a row: `inner` elements share one, beginning with number `first`.
template <class T>
struct Parameter {
  Ptr<const Compute<T>> at;
  Ptr<const T> low;  // in its place, of x's half type
  Divider inner;
  bool even;  // elements of a vector have parameters that lie at the boundary of one
};

// For the elements of a thread; `otherwise` where there is none.
template <uint32_t kVectors, class T>
GPU_DEVICE void load_parameters(const RowShape& shape, const Parameter<T>& from, int64_t first,
                                Compute<T> otherwise, Compute<T>* v) {
  using C = Compute<T>;
  constexpr uint32_t kN = kRowVector<T>, kHere = 16 / sizeof(C);
  GPU_UNROLL
  for (uint32_t j = 0; j < kVectors; ++j) {
    const uint32_t place = row_place<T>(shape, j, 0);
    if (from.low != nullptr && from.even && place < shape.n) {
      const Vec<T, kN> some = load_vec<kN>(from.low + (first + place));
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; ++k) v[j * kN + k] = widen<T>(some.at[k]);
    } else if (from.at != nullptr && from.even && place < shape.n) {
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; k += kHere) {
        const Vec<C, kHere> some = load_vec<kHere>(from.at + (first + place + k));
        GPU_UNROLL
        for (uint32_t i = 0; i < kHere; ++i) v[j * kN + k + i] = some.at[i];
      }
    } else {
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; ++k) {
        v[j * kN + k] = otherwise;
        if (place + k >= shape.n) continue;
        const int64_t which = first + from.inner.divide(place + k);
        if (from.at != nullptr) v[j * kN + k] = from.at[which];
        if (from.low != nullptr) v[j * kN + k] = load<T>(from.low, which);
      }
    }
  }
}

template <class T>
struct Forward {
  using C = Compute<T>;
  RowShape shape;
  Ptr<const T> x;
  Ptr<T> y;
  Ptr<C> mean, rstd;  // mean NULL: rms_norm
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
    load_row<kVectors, T>(shape, any, f.x + (any ? row * shape.n : 0), C(0), v);
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
    store_row<kVectors, T>(shape, any, f.y + (any ? row * shape.n : 0), v);
  }
}

// gx = rstd·(ĝ - mean(ĝ) - x̂·mean(ĝ·x̂)), ĝ being g·weight; rms_norm: without the means of x and ĝ.
template <class T>
struct Backward {
  using C = Compute<T>;
  RowShape shape;
  Ptr<const T> g, x;
  Ptr<T> gx;
  Ptr<const C> mean, rstd;  // mean NULL: rms_norm
  Parameter<T> weight;
};

template <class C>
struct Two {
  C a, b;
};
struct SumTwo {
  template <class C>
  GPU_FN void operator()(Two<C>& into, const Two<C>& other) const {
    into.a += other.a;
    into.b += other.b;
  }
};

template <class T, uint32_t kVectors>
GPU_KERNEL norm_backward_rows(Backward<T> f) {
  using C = Compute<T>;
  constexpr uint32_t kItems = kVectors * kRowVector<T>;
  const RowShape& shape = f.shape;
  const C over = C(1) / static_cast<C>(shape.n == 0 ? 1 : shape.n);
  const uint32_t each = rows_of_block(shape);
  C w[kItems];
  load_parameters<kVectors, T>(shape, f.weight, 0, C(1), w);
  for (int64_t first = int64_t{block_index().x} * each; first < shape.rows;
       first += int64_t{block_count().x} * each) {
    const int64_t row = first + thread_index().x / shape.lanes;
    const bool any = row < shape.rows;
    const int64_t at = any ? row * shape.n : 0;
    C gs[kItems], hats[kItems], mean = C(0), rstd = C(0);
    if (any && f.mean != nullptr) mean = f.mean[row];
    if (any) rstd = f.rstd[row];
    load_row<kVectors, T>(shape, any, f.g + at, C(0), gs);
    load_row<kVectors, T>(shape, any, f.x + at, mean, hats);
    Two<C> sums{C(0), C(0)};
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) {
      gs[k] *= w[k];
      hats[k] = (hats[k] - mean) * rstd;
      sums.a += gs[k];
      sums.b += gs[k] * hats[k];
    }
    sums = group_reduce(sums, shape.lanes, SumTwo());
    const C a = f.mean != nullptr ? sums.a * over : C(0), b = sums.b * over;
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) gs[k] = rstd * (gs[k] - a - hats[k] * b);
    store_row<kVectors, T>(shape, any, f.gx + at, gs);
  }
}

// ---- On the host --------------------------------------------------------------------------------------------------------

template <class T>
Parameter<T> parameter(const tn_view* view, const RowShape& shape, int64_t inner, int64_t width) {
  using C = Compute<T>;
  const bool low = view != nullptr && view->dtype != kDtype<C>,
             even = view != nullptr && inner == 1 && shape.even != 0 &&
                    width % kRowVector<T> == 0 && reinterpret_cast<uintptr_t>(view->data) % 16 == 0;
  return {low ? Ptr<const C>(nullptr) : in_or_null<C>(view),
          low ? in<T>(*view) : Ptr<const T>(nullptr),
          Divider(static_cast<uint32_t>(std::max<int64_t>(1, inner))), even};
}

template <class T, uint32_t kVectors>
void forward_rows(const tn_call& call, const NormRows& r) {
  using C = Compute<T>;
  const RowShape shape = plan_rows<T>(r.rows, r.n, kVectors, {r.x, r.y});
  const Forward<T> f{shape,
                     in<T>(*r.x),
                     out<T>(*r.y),
                     r.mean != nullptr ? out<C>(*r.mean) : Ptr<C>(nullptr),
                     out<C>(*r.rstd),
                     parameter<T>(r.weight, shape, r.inner, r.width),
                     parameter<T>(r.bias, shape, r.inner, r.width),
                     r.groups,
                     r.width,
                     static_cast<C>(r.eps)};
  launch(call, row_grid(shape), norm_rows<T, kVectors>, f);
}

struct Call : RowNorm {
  bool fit = false;
  Call(const tn_call& call, uint32_t op) : RowNorm(call, op) {
    with_type(Floats{}, x->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      fit = rows_fit<T>(rows, n, is_backward(op) ? kManyOfPair : kMany);
    });
  }
  FoldShape along_rows() const { return plan_fold({{rows, n}}, {{n, 1}}); }
  FoldShape along_columns() const { return plan_fold({{n, 1}}, {{rows, n}}); }
  Cycle statistics() const { return {n, rows}; }
  Cycle parameters() const { return {1, n}; }
};

template <class T, uint32_t kVectors>
void backward_rows(const tn_call& call, const Call& c) {
  using C = Compute<T>;
  const RowShape shape = plan_rows<T>(c.rows, c.n, kVectors, {c.g, c.x, &output(call)});
  const Backward<T> f{shape,
                      in<T>(*c.g),
                      in<T>(*c.x),
                      out<T>(output(call)),
                      in_or_null<C>(c.mean),
                      in<C>(*c.rstd),
                      parameter<T>(c.weight, shape, 1, 0)};
  launch(call, row_grid(shape), norm_backward_rows<T, kVectors>, f);
}

void run_forward(const tn_call& call, uint32_t op) {
  const Call c(call, op);
  if (c.rows == 0) return;
  if (c.fit)
    return run_norm_rows(
        call, {c.x, &output(call), c.mean, c.rstd, c.weight, c.bias, c.rows, c.n, c.eps});
  run_statistics(call, c.along_rows(), *c.x, {c.mean}, {c.rstd}, c.eps);
  run_apply(call, {c.x, c.mean, c.rstd, c.weight, c.bias}, c.statistics(), c.parameters());
}

void run_backward(const tn_call& call, uint32_t op) {
  const Call c(call, op);
  PairSums sums{.g = c.g, .x = c.x, .mean = c.mean, .rstd = c.rstd};
  sums.by_element = true;
  sums.dots = {&output(call, arg::layer_norm_backward::result::gweight)};
  sums.narrow = sums.dots.view->dtype != statistic_of(c.x->dtype);
  if (RowNorm::is_centred(op)) sums.sums = {&output(call, arg::layer_norm_backward::result::gbias)};
  run_pairs(call, c.along_columns(), sums, 0);
  if (c.rows == 0 || c.n == 0) return;
  if (c.fit)
    return (void)with_type(Floats{}, c.x->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      rows_fit<T>(c.rows, c.n, kFewOfPair) ? backward_rows<T, kFewOfPair>(call, c)
                                           : backward_rows<T, kManyOfPair>(call, c);
    });
  const Slot dots{nullptr, 0, c.rows}, means{nullptr, 8 * c.rows, c.rows};
  PairSums along{.g = c.g, .x = c.x, .mean = c.mean, .rstd = c.rstd, .weight = c.weight};
  along.over = 1.0 / static_cast<double>(c.n);
  along.dots = dots;
  if (RowNorm::is_centred(op)) along.sums = means;
  run_pairs(call, c.along_rows(), along, static_cast<uint64_t>(16 * c.rows));
  run_apply(
      call,
      {c.x, c.mean, c.rstd, c.weight, nullptr, c.g, RowNorm::is_centred(op) ? means : Slot{}, dots},
      c.statistics(), c.parameters());
}

uint64_t scratch_of(const tn_call& call, uint32_t op) {
  const Call c(call, op);
  if (!RowNorm::is_backward(op)) return c.fit ? 0 : fold_scratch(c.along_rows());
  const uint64_t columns = fold_scratch(c.along_columns());
  if (c.fit) return columns;
  return std::max(columns, static_cast<uint64_t>(16 * c.rows) + fold_scratch(c.along_rows()));
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
              .run = RowNorm::is_backward(op) ? run_backward : run_forward,
              .code = op,
              .scratch = scratch_of});
  };
  add(TN_SCHEMA_LAYER_NORM, RowNorm::kLayer);
  add(TN_SCHEMA_RMS_NORM, RowNorm::kRootMean);
  add(TN_SCHEMA_LAYER_NORM_BACKWARD, RowNorm::kLayerBackward);
  add(TN_SCHEMA_RMS_NORM_BACKWARD, RowNorm::kRootMeanBackward);
}

}  // namespace tenon::gpu
