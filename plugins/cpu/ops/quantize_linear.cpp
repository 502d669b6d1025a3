// linear of a few rows with weights in four and eight bits, as a model that writes word by word needs it: each byte is read once and widened in
// registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quantize_linear.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "ops/quantize_sums-inl.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

constexpr int kAtOnce = 4;  // rows whose sums stay in registers

// R rows of x times C rows of the weight from `column` on; sums lie `outputs` apart.
template <int R, int C, class Q, class T>
HWY_INLINE void dots(const Rows& r, int64_t first, const Weight<Q, T>& w, int64_t column) {
  const QD d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t length = w.length(), row = w.row();
  const float* const x = r.x + first * row;
  const float* const groups = r.groups + first * w.groups * lanes;
  QV sum[R][C];
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) sum[i][j] = hn::Zero(d);
  for (int64_t g = 0; g < w.groups; ++g) {
    QV part[R][C];
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < C; ++j) part[i][j] = hn::Zero(d);
    for (int64_t p = g * w.width; p < (g + 1) * w.width; p += lanes) {
#pragma GCC unroll 4
      for (int j = 0; j < C; ++j) {
        const auto* const from = w.packed + (column + j) * length + p;
        if (p % 64 == 0) hwy::Prefetch(from + kAhead);  // behind the end it does nothing
        QV entry[Q::kParts];
        Q::entries(d, from, entry);
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i)
          for (int q = 0; q < Q::kParts; ++q)
            part[i][j] =
                hn::MulAdd(entry[q], hn::LoadU(d, x + i * row + q * length + p), part[i][j]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) {
      const int64_t at = (column + j) * w.groups + g;
      const QV scale = hn::Set(d, static_cast<float>(w.scale[at]));
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) sum[i][j] = hn::MulAdd(scale, part[i][j], sum[i][j]);
      if constexpr (Q::kOffsets) {
        const QV offset = hn::Set(d, static_cast<float>(w.offset[at]));
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i)
          sum[i][j] =
              hn::MulAdd(offset, hn::LoadU(d, groups + (i * w.groups + g) * lanes), sum[i][j]);
      }
    }
  }
  for (int i = 0; i < R; ++i) store_sums<C>(sum[i], r.sums + (first + i) * w.outputs + column);
}

// Columns [begin, end) of R rows from `first` on: C at once, then one by one.
template <int R, int C, class Q, class T>
void columns(const Rows& r, int64_t first, const Weight<Q, T>& w, int64_t begin, int64_t end) {
  for (; begin + C <= end; begin += C) dots<R, C>(r, first, w, begin);
  for (; begin < end; ++begin) dots<R, 1>(r, first, w, begin);
}

template <class Q, class T>
void products(const Rows& r, const Weight<Q, T>& w, int64_t begin, int64_t end) {
  for (int64_t i = 0; i < r.m; i += kAtOnce) switch (r.m - i) {
      case 1:
        columns<1, 4>(r, i, w, begin, end);
        break;
      case 2:
        columns<2, 2>(r, i, w, begin, end);
        break;
      case 3:
        columns<3, 1>(r, i, w, begin, end);
        break;
      default:
        columns<kAtOnce, 1>(r, i, w, begin, end);
    }
}

// A row of x as dots() wants it: kParts stretches, the entries that lie first in a packed element, then those that lie second.
template <class Q, class T>
void spread(const T* from, const Weight<Q, T>& w, float* x) {
  const int64_t length = w.length();
  for (int64_t p = 0; p < length; ++p)
    for (int q = 0; q < Q::kParts; ++q)
      x[q * length + p] = static_cast<float>(from[p * Q::kParts + q]);
}

// The sums of its groups, lane by lane.
template <class Q, class T>
void sum_groups(const float* x, const Weight<Q, T>& w, float* sums) {
  const QD d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t g = 0; g < w.groups; ++g, sums += lanes) {
    QV sum = hn::Zero(d);
    for (int64_t p = g * w.width; p < (g + 1) * w.width; p += lanes)
      for (int q = 0; q < Q::kParts; ++q) sum = hn::Add(sum, hn::LoadU(d, x + q * w.length() + p));
    hn::StoreU(sum, d, sums);
  }
}

template <class Q, class T>
Rows rows_of(const tn_view& given, const Weight<Q, T>& w) {
  const int64_t row = w.row(), m = numel(given) / row;
  const int64_t sums = Q::kOffsets ? w.groups * static_cast<int64_t>(hn::Lanes(QD())) : 0;
  auto* const x = workspace<float>(Workspace::Sums, m * (row + sums + w.outputs));
  const Rows r = {m, x, x + m * row, x + m * (row + sums)};
  for (int64_t i = 0; i < m; ++i) {
    spread(data_of<const T>(given) + i * row, w, x + i * row);
    if constexpr (Q::kOffsets) sum_groups(x + i * row, w, r.groups + i * sums);
  }
  return r;
}

template <class Q, class T>
void run(const tn_call& call) {
  const auto w = weight_of<Q, T, typename Q::Linear>(call);
  const Rows r = rows_of(input(call, Q::Linear::x), w);
  parallel_for(w.outputs, std::max<int64_t>(4, kGrainMath / w.row()),
               [&](int64_t begin, int64_t end) { products(r, w, begin, end); });
  finish<T>(r, w.outputs, input_or_null(call, Q::Linear::bias), output(call));
}

template <class Q, class T>
bool fits(const tn_call& call) {
  const auto w = weight_of<Q, T, typename Q::Linear>(call);
  const int64_t size = numel(input(call, Q::Linear::x));
  return whole(w) && size > 0 && size <= kMostRows * w.row();
}

template <class Q, class T>
void add_of(KernelList& list, std::string_view schema) {
  list.add({.schema = schema,
            .dtypes = TN_MASK(kDtype<T>),
            .run = run_of<run<Q, T>>,
            .supports = supports_of<fits<Q, T>>});
}
template <class Q>
void add_all(KernelList& list, std::string_view schema) {
  add_of<Q, float>(list, schema);
  add_of<Q, F16>(list, schema);
  add_of<Q, BF16>(list, schema);
}
void add_kernels(KernelList& list) {
  add_all<Int4>(list, TN_SCHEMA_LINEAR_INT4);
  add_all<Int8>(list, TN_SCHEMA_LINEAR_INT8);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_quantize_linear_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
