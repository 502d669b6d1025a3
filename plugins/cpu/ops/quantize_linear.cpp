// linear of a few rows with weights in four and eight bits, as a model that writes word by word needs it: each byte is read once and widened in
// registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quantize_linear.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "ops/quantize-inl.hpp"
#include "ops/workspace.hpp"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kMostRows = 16;  // more are worth unpacking the weight for
constexpr int kAtOnce = 4;         // rows whose sums stay in registers
constexpr int64_t kAhead = 8192;   // bytes of the weight that are on their way

// R rows of x times C rows of the weight from `column` on, without offsets; sums lie `outputs` apart. Each row of x consists of kParts stretches:
// the entries that lie first in a packed element, then those that lie second.
template <int R, int C, class Q, class T>
HWY_INLINE void dots(const float* x, const Weight<Q, T>& w, int64_t column, float* out) {
  const QD d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t length = w.length(), row = w.row();
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
      const QV scale = hn::Set(d, static_cast<float>(w.scale[(column + j) * w.groups + g]));
      for (int i = 0; i < R; ++i) sum[i][j] = hn::MulAdd(scale, part[i][j], sum[i][j]);
    }
  }
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j)
      out[i * w.outputs + column + j] = hn::GetLane(hn::SumOfLanes(d, sum[i][j]));
}

// Columns [begin, end) of R rows: C at once, then one by one.
template <int R, int C, class Q, class T>
void columns(const float* x, const Weight<Q, T>& w, int64_t begin, int64_t end, float* out) {
  for (; begin + C <= end; begin += C) dots<R, C>(x, w, begin, out);
  for (; begin < end; ++begin) dots<R, 1>(x, w, begin, out);
}

// Rows of x for a call, as dots() wants them, the sums of their groups, and what is computed.
struct Rows {
  int64_t m;
  float *x, *groups, *sums;
};

// Offsets times the sums of x over their groups.
template <class Q, class T>
void add_offsets(const Rows& r, const Weight<Q, T>& w, int64_t begin, int64_t end) {
  const QD d;
  for (int64_t i = 0; i < r.m; ++i)
    for (int64_t j = begin; j < end; ++j)
      r.sums[i * w.outputs + j] += sum_pairs(d, r.groups + i * w.groups, w.offset + j * w.groups,
                                             static_cast<size_t>(w.groups),
                                             [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
}

template <class Q, class T>
void products(const Rows& r, const Weight<Q, T>& w, int64_t begin, int64_t end) {
  const float* x = r.x;
  float* out = r.sums;
  for (int64_t i = 0; i < r.m; i += kAtOnce, x += kAtOnce * w.row(), out += kAtOnce * w.outputs)
    switch (r.m - i) {
      case 1:
        columns<1, 4>(x, w, begin, end, out);
        break;
      case 2:
        columns<2, 2>(x, w, begin, end, out);
        break;
      case 3:
        columns<3, 1>(x, w, begin, end, out);
        break;
      default:
        columns<kAtOnce, 1>(x, w, begin, end, out);
    }
  if constexpr (Q::kOffsets) add_offsets(r, w, begin, end);
}

// A row of x as dots() wants it.
template <class Q, class T>
void spread(const T* from, const Weight<Q, T>& w, float* x) {
  const int64_t length = w.length();
  for (int64_t p = 0; p < length; ++p)
    for (int q = 0; q < Q::kParts; ++q)
      x[q * length + p] = static_cast<float>(from[p * Q::kParts + q]);
}

// The sums of its groups.
template <class Q, class T>
void sum_groups(const float* x, const Weight<Q, T>& w, float* sums) {
  const QD d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t g = 0; g < w.groups; ++g) {
    QV sum = hn::Zero(d);
    for (int64_t p = g * w.width; p < (g + 1) * w.width; p += lanes)
      for (int q = 0; q < Q::kParts; ++q) sum = hn::Add(sum, hn::LoadU(d, x + q * w.length() + p));
    sums[g] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

template <class Q, class T>
Rows rows_of(const tn_view& given, const Weight<Q, T>& w) {
  const int64_t row = w.row(), m = numel(given) / row;
  auto* const x = workspace<float>(Workspace::Sums, m * (row + w.groups + w.outputs));
  const Rows r = {m, x, x + m * row, x + m * (row + w.groups)};
  for (int64_t i = 0; i < m; ++i) {
    spread(data_of<const T>(given) + i * row, w, x + i * row);
    if constexpr (Q::kOffsets) sum_groups(x + i * row, w, r.groups + i * w.groups);
  }
  return r;
}

template <class Q, class T>
void run(const tn_call& call) {
  const auto w = weight_of<Q, T, typename Q::Linear>(call);
  const Rows r = rows_of(input(call, Q::Linear::x), w);
  parallel_for(w.outputs, std::max<int64_t>(4, kGrainMath / w.row()),
               [&](int64_t begin, int64_t end) { products(r, w, begin, end); });
  const tn_view* const bias = input_or_null(call, Q::Linear::bias);
  const auto outputs = static_cast<size_t>(w.outputs);
  T* out = data_of<T>(output(call));
  for (int64_t i = 0; i < r.m; ++i, out += w.outputs) {
    float* const sums = r.sums + i * w.outputs;
    if (bias != nullptr)
      map_rows(sums, data_of<const T>(*bias), sums, outputs,
               [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    map_row(sums, out, outputs, [](auto v) HWY_ATTR { return v; });
  }
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
