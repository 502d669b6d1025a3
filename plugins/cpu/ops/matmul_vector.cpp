// matmul and linear of a few rows with a transposed matrix in bf16 and f16, as a model that writes word by word needs them: each weight is
// read once, as fast as memory gives it, and widened in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul_vector.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "ops/matmul_activation.hpp"
#include "ops/workspace.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kMostRows = 4, kColumns = 4;  // sums of a block stay in registers
constexpr int64_t kAhead = 16;                  // columns, of what is fetched

// x is (rows, k) in f32, b points to kColumns columns. Sums lie n apart in `out`.
template <int R, class T>
HWY_INLINE void dots(const float* x, const T* const (&b)[kColumns], int64_t ahead, int64_t k,
                     int64_t cols, int64_t n, float* out) {
  const LaneTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V sum[R][kColumns];
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < kColumns; ++j) sum[i][j] = hn::Zero(d);
  const auto step = [&](int64_t p, auto left, auto right) HWY_ATTR {
    V y[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) y[j] = right(b[j] + p);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      const V xs = left(x + i * k + p);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) sum[i][j] = hn::MulAdd(xs, y[j], sum[i][j]);
    }
  };
  for_lanes(
      d, static_cast<size_t>(k),
      [&](size_t p) HWY_ATTR {
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j) hwy::Prefetch(b[j] + ahead + static_cast<int64_t>(p));
        const auto whole = [&](const auto* at) HWY_ATTR { return load(d, at); };
        step(static_cast<int64_t>(p), whole, whole);
      },
      [&](size_t p, size_t rest) HWY_ATTR {
        const auto some = [&](const auto* at) HWY_ATTR { return load_first(d, at, rest, 0); };
        step(static_cast<int64_t>(p), some, some);
      });
  for (int i = 0; i < R; ++i)
    for (int64_t j = 0; j < cols; ++j) out[i * n + j] = hn::GetLane(hn::SumOfLanes(d, sum[i][j]));
}

template <class T>
void columns(const Product& p, const float* x, int64_t j, float* out) {
  const int64_t cols = std::min(kColumns, p.n - j);
  const T* const first = data_of<const T>(*p.b.view) + j * p.b.column;
  const T* b[kColumns];
  for (int64_t c = 0; c < kColumns; ++c) b[c] = first + (c < cols ? c : 0) * p.b.column;
  const int64_t ahead = j + kAhead + kColumns <= p.n ? kAhead * p.b.column : 0;
  switch (p.m) {
    case 1:
      return dots<1>(x, b, ahead, p.k, cols, p.n, out + j);
    case 2:
      return dots<2>(x, b, ahead, p.k, cols, p.n, out + j);
    case 3:
      return dots<3>(x, b, ahead, p.k, cols, p.n, out + j);
    default:
      return dots<4>(x, b, ahead, p.k, cols, p.n, out + j);
  }
}

template <class T>
void run(const tn_call& call, const Product& p, Activation activation) {
  const int64_t size = p.m * p.n;
  auto* const x = workspace<float>(Workspace::Sums, p.m * p.k + size);
  float* const sums = x + p.m * p.k;
  const T* const a = data_of<const T>(*p.a.view);
  for (int64_t i = 0; i < p.m; ++i)
    map_row(a + i * p.a.row, x + i * p.k, static_cast<size_t>(p.k),
            [](auto v) HWY_ATTR { return v; });
  const int64_t grain = std::max<int64_t>(1, kGrainCopy / p.k / kColumns);
  parallel_for((p.n + kColumns - 1) / kColumns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) columns<T>(p, x, block * kColumns, sums);
  });
  if (p.bias != nullptr) {
    const T* const bias = data_of<const T>(*p.bias);
    for (int64_t i = 0; i < size; ++i) sums[i] += static_cast<float>(bias[i % p.n * p.bias_step]);
  }
  activate(activation, sums, size);
  map_row(sums, data_of<T>(output(call)), static_cast<size_t>(size),
          [](auto v) HWY_ATTR { return v; });
}

bool fits(const Product& p) {
  return p.batches == 1 && p.m >= 1 && p.m <= kMostRows && p.n > 0 && p.k >= 64 &&
         p.a.column == 1 && p.b.row == 1;
}
bool matmul_fits(const tn_call& call) { return fits(read_matmul(call)); }
bool linear_fits(const tn_call& call) { return fits(read_linear(call)); }

template <class T>
void matmul(const tn_call& call) {
  run<T>(call, read_matmul(call), kNone);
}
template <class T>
void linear(const tn_call& call) {
  run<T>(call, read_linear(call), activation_of(text_arg(call, arg::linear::activation)));
}

template <class T>
void add_of(KernelList& list) {
  const auto add = [&](std::string_view schema, auto run_it, auto supports) {
    list.add({.schema = schema,
              .dtypes = TN_MASK(kDtype<T>),
              .run = run_it,
              .flags = TN_KERNEL_STRIDED,
              .priority = 20,
              .supports = supports});
  };
  add(TN_SCHEMA_MATMUL, run_of<matmul<T>>, supports_of<matmul_fits>);
  add(TN_SCHEMA_LINEAR, run_of<linear<T>>, supports_of<linear_fits>);
}
void add_kernels(KernelList& list) {
  add_of<F16>(list);
  add_of<BF16>(list);
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_matmul_vector_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
