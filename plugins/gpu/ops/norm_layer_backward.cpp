// The backward ops of layer_norm, rms_norm and add_layer_norm. For many rows that fit into few registers, one pass computes the gradient of
// x and each group's contribution to the parameters' gradients, and a second pass adds these up. Otherwise the parameters' gradients are
// folds along columns.
#include "norm_rows.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kFew = 1, kSome = 2, kMany = 4;  // vectors of g and of x that a thread holds
constexpr uint32_t kLeastLanes = 32;                // threads for a row that also sums columns
constexpr int64_t kMostBlocks = 256;                // the most of such blocks

// gx = rstd·(ĝ - mean(ĝ) - x̂·mean(ĝ·x̂)) + any other gradient of x, where ĝ = g·weight; rms_norm: without the means of x and ĝ.
template <class T>
struct Backward {
  using C = Compute<T>;
  RowShape shape;
  Ptr<const T> g, x, more;  // more NULL: no other gradient
  Ptr<T> gx;
  Ptr<const C> mean, rstd;  // mean NULL: rms_norm
  Parameter<T> weight;
  Ptr<C> dots, sums;  // for each group of rows, Σ g·x̂ and Σ g by column; NULL: not wanted
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

template <class T, uint32_t kVectors, bool kColumns>
GPU_KERNEL norm_backward_rows(Backward<T> f) {
  using C = Compute<T>;
  constexpr uint32_t kItems = kVectors * kRowVector<T>;
  const RowShape& shape = f.shape;
  const C over = C(1) / static_cast<C>(shape.n == 0 ? 1 : shape.n);
  const uint32_t each = rows_of_block(shape);
  C w[kItems], dots[kItems], all[kItems];
  load_parameters<kVectors, T>(shape, f.weight, 0, C(1), w);
  GPU_UNROLL
  for (uint32_t k = 0; k < kItems; ++k) dots[k] = all[k] = C(0);
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
      hats[k] = (hats[k] - mean) * rstd;
      if constexpr (kColumns) {
        dots[k] += gs[k] * hats[k];
        all[k] += gs[k];
      }
      gs[k] *= w[k];
      sums.a += gs[k];
      sums.b += gs[k] * hats[k];
    }
    sums = group_reduce(sums, shape.lanes, SumTwo());
    const C a = f.mean != nullptr ? sums.a * over : C(0), b = sums.b * over;
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) gs[k] = rstd * (gs[k] - a - hats[k] * b);
    if (f.more != nullptr) {
      load_row<kVectors, T>(shape, any, f.more + at, C(0), hats);
      GPU_UNROLL
      for (uint32_t k = 0; k < kItems; ++k) gs[k] += hats[k];
    }
    store_row<kVectors, T>(shape, any, f.gx + at, gs);
  }
  if constexpr (kColumns) {
    const int64_t group = int64_t{block_index().x} * each + thread_index().x / shape.lanes;
    GPU_UNROLL
    for (uint32_t k = 0; k < kItems; ++k) {
      const uint32_t column = row_place<T>(shape, k / kRowVector<T>, k % kRowVector<T>);
      if (column >= shape.n) continue;
      f.dots[group * shape.n + column] = dots[k];
      if (f.sums != nullptr) f.sums[group * shape.n + column] = all[k];
    }
  }
}

// Adds up the groups' columns, in order. Columns of dots, then of sums; a block has kAcross.
constexpr uint32_t kAcross = 32;
template <class C, class G>
GPU_KERNEL add_groups(Ptr<const C> parts, int64_t groups, int64_t n, int64_t columns, Ptr<G> dots,
                      Ptr<G> sums) {
  constexpr uint32_t kShares = kBlockThreads / kAcross;
  const int64_t column = int64_t{block_index().x} * kAcross + thread_index().x % kAcross;
  const uint32_t share = thread_index().x / kAcross;
  C sum = C(0);
  if (column < columns) {
    const Ptr<const C> from = parts + (column < n ? column : groups * n + column - n);
    for (int64_t group = share; group < groups; group += kShares) {
      const C part = from[group * n];
      sum += part;
    }
  }
  sum = column_reduce(sum, kShares, kAcross, Sum());
  if (share != 0 || column >= columns) return;
  if (column < n)
    dots[column] = narrow<G>(sum);
  else
    sums[column - n] = narrow<G>(sum);
}

// ---- On the host --------------------------------------------------------------------------------------------------------

// How one pass covers the rows of a call; groups 0: it does not.
struct OnePass {
  int64_t blocks = 0, groups = 0;
};
template <class T>
OnePass one_pass(const RowNormCall& c, uint32_t vectors) {
  const RowShape shape = plan_rows<T>(c.rows, c.n, vectors, {});
  const int64_t each = kRowThreads / shape.lanes;
  if (shape.lanes < kLeastLanes || c.rows < each) return {};
  const int64_t blocks = std::min((c.rows + each - 1) / each, kMostBlocks);
  return {blocks, blocks * each};
}
// The same, with the number of vectors of a row that a thread then holds.
OnePass one_pass(const RowNormCall& c, uint32_t* vectors = nullptr) {
  OnePass found;
  with_type(Floats{}, c.x->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const uint32_t held = rows_fit<T>(c.rows, c.n, kFew) ? kFew : kSome;
    if (vectors != nullptr) *vectors = held;
    if (rows_fit<T>(c.rows, c.n, held)) found = one_pass<T>(c, held);
  });
  return found;
}

template <class T, uint32_t kVectors, bool kColumns>
void backward_rows(const tn_call& call, const RowNormCall& c, const OnePass& pass) {
  using C = Compute<T>;
  RowShape shape = plan_rows<T>(c.rows, c.n, kVectors, {c.g, c.x, &output(call)});
  if (c.gsum != nullptr && !starts_even(*c.gsum)) shape.even = 0;
  Backward<T> f{shape,
                in<T>(*c.g),
                in<T>(*c.x),
                in_or_null<T>(c.gsum),
                out<T>(output(call)),
                in_or_null<C>(c.mean),
                in<C>(*c.rstd),
                parameter<T>(c.weight, shape, 1, 0),
                nullptr,
                nullptr};
  if constexpr (!kColumns) {
    launch(call, row_grid(shape), norm_backward_rows<T, kVectors, false>, f);
  } else {
    const int64_t values = pass.groups * c.n;
    f.dots = scratch<C>(call, 0, values);
    if (c.centred()) f.sums = scratch<C>(call, static_cast<uint64_t>(values) * sizeof(C), values);
    launch(call, fold_grid(pass.blocks), norm_backward_rows<T, kVectors, true>, f);
  }
}

template <class T>
void sum_groups(const tn_call& call, const RowNormCall& c, const OnePass& pass) {
  using C = Compute<T>;
  using names = arg::layer_norm_backward::result;
  const int64_t columns = c.n * (c.centred() ? 2 : 1);
  const Ptr<const C> parts = scratch<C>(call, 0, pass.groups * columns);
  const Grid grid{{static_cast<uint32_t>((columns + kAcross - 1) / kAcross), 1, 1}};
  const auto run = [&](auto tag) {
    using G = typename decltype(tag)::type;
    launch(call, grid, add_groups<C, G>, parts, pass.groups, c.n, columns,
           out<G>(output(call, names::gweight)),
           c.centred() ? out<G>(output(call, names::gbias)) : Ptr<G>(nullptr));
  };
  output(call, names::gweight).dtype == kDtype<C> ? run(TypeTag<C>{}) : run(TypeTag<T>{});
}

void run_one_pass(const tn_call& call, const RowNormCall& c, const OnePass& pass,
                  uint32_t vectors) {
  with_type(Floats{}, c.x->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    vectors == kFew ? backward_rows<T, kFew, true>(call, c, pass)
                    : backward_rows<T, kSome, true>(call, c, pass);
    sum_groups<T>(call, c, pass);
  });
}

void run(const tn_call& call, uint32_t op) {
  const RowNormCall c(call, op);
  uint32_t vectors = 0;
  if (const OnePass pass = one_pass(c, &vectors); pass.groups != 0)
    return run_one_pass(call, c, pass, vectors);
  PairSums sums{.g = c.g, .x = c.x, .mean = c.mean, .rstd = c.rstd};
  sums.by_element = true;
  sums.dots = {&output(call, arg::layer_norm_backward::result::gweight)};
  sums.narrow = sums.dots.view->dtype != statistic_of(c.x->dtype);
  if (c.centred()) sums.sums = {&output(call, arg::layer_norm_backward::result::gbias)};
  run_pairs(call, c.along_columns(), sums, 0);
  if (c.rows == 0 || c.n == 0) return;
  if (c.fits(kMany))
    return (void)with_type(Floats{}, c.x->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      rows_fit<T>(c.rows, c.n, kFew) ? backward_rows<T, kFew, false>(call, c, {})
                                     : backward_rows<T, kMany, false>(call, c, {});
    });
  const Slot dots{nullptr, 0, c.rows}, means{nullptr, 8 * c.rows, c.rows};
  PairSums along{.g = c.g, .x = c.x, .mean = c.mean, .rstd = c.rstd, .weight = c.weight};
  along.over = 1.0 / static_cast<double>(c.n);
  along.dots = dots;
  if (c.centred()) along.sums = means;
  run_pairs(call, c.along_rows(), along, static_cast<uint64_t>(16 * c.rows));
  run_apply(call, {c.x, c.mean, c.rstd, c.weight, nullptr, c.g, c.centred() ? means : Slot{}, dots},
            c.statistics(), c.parameters());
}

uint64_t scratch_of(const tn_call& call, uint32_t op) {
  const RowNormCall c(call, op);
  if (const OnePass pass = one_pass(c); pass.groups != 0)
    return static_cast<uint64_t>(pass.groups * c.n) * 2 * 8;
  const uint64_t columns = fold_scratch(c.along_columns());
  if (c.fits(kMany)) return columns;
  return std::max(columns, static_cast<uint64_t>(16 * c.rows) + fold_scratch(c.along_rows()));
}

bool supports(const tn_call& call, uint32_t op) {
  return op != RowNorm::kAddLayerBackward || RowNormCall(call, op).fits(kMany);
}

}  // namespace

void add_norm_layer_backward_kernels(KernelList& list) {
  const auto add = [&](std::string_view schema, RowNorm::Op op) {
    list.add({.schema = schema,
              .dtypes = Floats::kMask,
              .run = run,
              .code = op,
              .supports = supports,
              .scratch = scratch_of});
  };
  add(TN_SCHEMA_LAYER_NORM_BACKWARD, RowNorm::kLayerBackward);
  add(TN_SCHEMA_RMS_NORM_BACKWARD, RowNorm::kRootMeanBackward);
  add(TN_SCHEMA_ADD_LAYER_NORM_BACKWARD, RowNorm::kAddLayerBackward);
}

}  // namespace tenon::gpu
