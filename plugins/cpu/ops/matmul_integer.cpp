// matmul and linear for integers, whose sums wrap around: 8 and 16 bits in lanes of 16, others in lanes of their own size. Both
// operands are packed, a by groups of rows, b by panels of columns.
#include <algorithm>

#include "../../common/product.hpp"
#include "dispatch.hpp"
#include "kernels.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/workspace.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul_integer.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/matmul_gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <class T>
using Lane = std::conditional_t<sizeof(T) <= 2, int16_t,
                                std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;

constexpr int64_t kGroup = 4;                                 // rows of a tile
constexpr int kMostVectors = kRegisters == 32 ? 4 : 2;        // of its columns
constexpr int64_t kHeight = 96, kWidth = 1024, kDepth = 512;  // of what a thread does at a time

// Products of numbers that fit 32 bits, which most do, cost a third of those of 64.
template <bool Short, class D, class V>
HWY_INLINE V times([[maybe_unused]] D d, V x, V y) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (Short && sizeof(hn::TFromD<D>) == 8) {
    const hn::Repartition<int32_t, D> halves;
    return hn::MulEven(hn::BitCast(halves, x), hn::BitCast(halves, y));
  }
#endif
  return hn::Mul(x, y);
}

template <int R, int NV, bool Short, class S>
HWY_NOINLINE void integer_tile(int64_t k, const S* HWY_RESTRICT a, const S* HWY_RESTRICT b,
                               S* HWY_RESTRICT sums) {
  const hn::ScalableTag<S> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[R][NV], right[NV];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < NV; ++j) sum[i][j] = hn::Zero(d);
  for (int64_t p = 0; p < k; ++p, a += R, b += NV * lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < NV; ++j) right[j] = hn::Load(d, b + j * lanes);
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      const auto left = hn::Set(d, a[i]);
#pragma GCC unroll 4
      for (int j = 0; j < NV; ++j) sum[i][j] = hn::Add(sum[i][j], times<Short>(d, left, right[j]));
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < NV; ++j) hn::Store(sum[i][j], d, sums + (i * NV + j) * lanes);
}

template <int R, int NV, class S>
void run_integer_tile(bool is_short, int64_t k, const S* a, const S* b, S* sums) {
  if (sizeof(S) == 8 && is_short)
    integer_tile<R, NV, true>(k, a, b, sums);
  else
    integer_tile<R, NV, false>(k, a, b, sums);
}

// Copies numbers as lanes, and tells whether each fits 32 bits.
template <class T>
class Packer {
 public:
  void copy(T from, Lane<T>& to) {
    to = static_cast<Lane<T>>(from);
    if constexpr (sizeof(T) == 8)
      beyond_ |= static_cast<int64_t>(from) ^ static_cast<int32_t>(from);
  }
  bool all_short() const { return beyond_ == 0; }

 private:
  int64_t beyond_ = 0;
};

// A matrix by strides.
template <class T>
struct Matrix {
  const T* at;
  int64_t row, column;
};

// Groups of rows, in each of them the rows of a product side by side.
template <class T>
bool pack_rows(const Matrix<T>& a, int64_t rows, int64_t k, Lane<T>* to) {
  Packer<T> packer;
  for (int64_t i = 0; i < rows;) {
    const int64_t group = rows - i >= kGroup ? kGroup : 1;
    for (int64_t r = 0; r < group; ++r)
      for (int64_t p = 0; p < k; ++p)
        packer.copy(a.at[(i + r) * a.row + p * a.column], to[p * group + r]);
    to += group * k;
    i += group;
  }
  return packer.all_short();
}

template <class T>
bool pack_columns(const Matrix<T>& b, int64_t k, int64_t cols, int64_t panel, Lane<T>* to) {
  Packer<T> packer;
  if (b.column == 1)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < cols; ++j) packer.copy(b.at[p * b.row + j], to[p * panel + j]);
  else
    for (int64_t j = 0; j < cols; ++j)
      for (int64_t p = 0; p < k; ++p)
        packer.copy(b.at[p * b.row + j * b.column], to[p * panel + j]);
  for (int64_t p = 0; p < k && cols < panel; ++p)
    std::fill(to + p * panel + cols, to + (p + 1) * panel, Lane<T>(0));
  return packer.all_short();
}

template <class T>
class IntegerProduct {
 public:
  IntegerProduct(const Product& p, bool relu, T* c)
      : p_(p),
        relu_(relu && std::is_signed_v<T>),
        c_(c),
        bias_(p.bias == nullptr ? nullptr : data_of<const T>(*p.bias)) {}

  void run() const {
    const int64_t down = (p_.m + kHeight - 1) / kHeight, across = (p_.n + kWidth - 1) / kWidth;
    const int64_t work =
        std::min(kHeight, p_.m) * std::min(kWidth, p_.n) * std::max<int64_t>(p_.k, 1);
    parallel_for(p_.batches * down * across, std::max<int64_t>(1, kGemmGrain / work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t at = begin; at < end; ++at) {
                     const int64_t i = at / across % down * kHeight, j = at % across * kWidth;
                     block(at / across / down,
                           {i, std::min(i + kHeight, p_.m), j, std::min(j + kWidth, p_.n)});
                   }
                 });
  }

 private:
  using S = Lane<T>;
  using Wrapping = std::make_unsigned_t<S>;

  void block(int64_t batch, const GemmBlock& at) const {
    const Product::Offsets offsets = p_.offsets(batch, p_.ndim);
    const Matrix<T> a{data_of<const T>(*p_.a.view) + offsets.a + at.i0 * p_.a.row, p_.a.row,
                      p_.a.column},
        b{data_of<const T>(*p_.b.view) + offsets.b, p_.b.row, p_.b.column};
    T* const c = c_ + batch * p_.m * p_.n;
    if (at.i1 - at.i0 < kGroup && a.column == 1 && b.row == 1) return dots(a, b, at, c);
    const hn::ScalableTag<S> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t rows = at.i1 - at.i0, depth = std::min(p_.k, kDepth);
    Room room(Workspace::Gemm,
              Room::bytes_of<S>(rows * depth) + Room::bytes_of<S>(depth * kMostVectors * lanes));
    S* const left = room.take<S>(rows * depth);
    S* const right = room.take<S>(depth * kMostVectors * lanes);
    for (int64_t p = 0; p == 0 || p < p_.k; p += kDepth) {
      const int64_t k = std::min(kDepth, p_.k - p);
      const bool short_rows = pack_rows<T>({a.at + p * a.column, a.row, a.column}, rows, k, left);
      for (int64_t j = at.j0; j < at.j1;) {
        const int64_t wanted = (at.j1 - j + lanes - 1) / lanes;
        const int vectors = wanted >= kMostVectors ? kMostVectors : wanted >= 2 ? 2 : 1;
        const int64_t cols = std::min(at.j1 - j, vectors * lanes);
        const bool is_short = pack_columns<T>({b.at + p * b.row + j * b.column, b.row, b.column}, k,
                                              cols, vectors * lanes, right) &&
                              short_rows;
        const Panel panel{at.i0, rows, j, cols, k, p == 0, p + k == p_.k, is_short};
        vectors == 1   ? run_panel<1>(panel, left, right, c)
        : vectors == 2 ? run_panel<2>(panel, left, right, c)
                       : run_panel<kMostVectors>(panel, left, right, c);
        j += cols;
      }
    }
  }

  struct Panel {
    int64_t i, rows, j, cols, k;
    bool first, last, is_short;
  };
  template <int NV>
  void run_panel(const Panel& panel, const S* left, const S* right, T* c) const {
    const hn::ScalableTag<S> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    HWY_ALIGN S sums[kGroup * NV * hn::MaxLanes(d)];
    for (int64_t i = 0; i < panel.rows;) {
      const int64_t group = panel.rows - i >= kGroup ? kGroup : 1;
      (group == 1 ? run_integer_tile<1, NV, S>
                  : run_integer_tile<kGroup, NV, S>)(panel.is_short, panel.k, left, right, sums);
      for (int64_t r = 0; r < group; ++r)
        put(sums + r * NV * lanes, panel.first, panel.last, panel.j, panel.cols,
            c + (panel.i + i + r) * p_.n);
      left += group * panel.k;
      i += group;
    }
  }

  // Adds sums to columns [j, j + n) of a row of c, which begin with the bias.
  void put(const S* sums, bool first, bool last, int64_t j, int64_t n, T* c) const {
    for (int64_t q = 0; q < n; ++q) {
      const T before = !first ? c[j + q] : bias_ != nullptr ? bias_[(j + q) * p_.bias_step] : T(0);
      const T value = static_cast<T>(
          static_cast<Wrapping>(static_cast<Wrapping>(before) + static_cast<Wrapping>(sums[q])));
      c[j + q] = last && relu_ && value < T(0) ? T(0) : value;
    }
  }

  // Few rows by columns that lie contiguous, which packing would read more often than it takes to multiply.
  void dots(const Matrix<T>& a, const Matrix<T>& b, const GemmBlock& at, T* c) const {
    for (int64_t i = at.i0; i < at.i1; ++i)
      for (int64_t j = at.j0; j < at.j1; ++j) {
        const T* const x = a.at + (i - at.i0) * a.row;
        const T* const y = b.at + j * b.column;
        Wrapping sum = 0;
        for (int64_t p = 0; p < p_.k; ++p)
          sum = static_cast<Wrapping>(sum + static_cast<uint64_t>(static_cast<Wrapping>(x[p])) *
                                                static_cast<Wrapping>(y[p]));
        const S found = static_cast<S>(sum);
        put(&found, true, true, j, 1, c + i * p_.n);
      }
  }

  const Product& p_;
  bool relu_;
  T* c_;
  const T* bias_;
};

void run(const tn_call& call, const Product& p, bool relu) {
  if (p.empty()) return;
  visit_dtype<TN_MASK_INT>(output(call).dtype, [&]<class T>(Tag<T>) {
    IntegerProduct<T>(p, relu, data_of<T>(output(call))).run();
  });
}
void matmul(const tn_call& call) { run(call, read_matmul(call), false); }
void linear(const tn_call& call) {
  run(call, read_linear(call), text_arg(call, arg::linear::activation) == "relu");
}

void add_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_MATMUL,
            .dtypes = TN_MASK_INT,
            .run = run_of<matmul>,
            .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_LINEAR,
            .dtypes = TN_MASK_INT,
            .run = run_of<linear>,
            .flags = TN_KERNEL_STRIDED});
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(add_kernels);
void add_matmul_integer_kernels(KernelList& list) { HWY_DYNAMIC_DISPATCH(add_kernels)(list); }
}  // namespace tenon::cpu
#endif
