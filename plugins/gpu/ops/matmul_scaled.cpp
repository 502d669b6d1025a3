// scaled_matmul by tiles: converts 8-bit floats to f32 on the way to shared memory. The kernel learns the formats at run time.
#include "matmul.hpp"
#include "tenon/float_formats.h"

namespace tenon::gpu {
namespace {

// A matrix of 8-bit floats with any strides, as a source for tiles.
struct Float8Matrix {
  static constexpr uint32_t kTogether = 4;
  Ptr<const uint8_t> at;
  int64_t step = 0, k_step = 0;  // along the rows of a (columns of b); along k
  uint32_t size = 0;             // rows of a, columns of b
  bool by_k = false;
  bool aligned = false;  // fetches that begin at a multiple of kTogether are aligned
  bool wide = false;     // E5M2

  GPU_FN float widened(uint8_t bits) const {
    return wide ? tn_f8_e5m2_to_f32(bits) : tn_f8_e4m3_to_f32(bits);
  }
#if !defined(TENON_GPU_HOST_ONLY)
  GPU_DEVICE Vec<float, kTogether> fetch(uint32_t i, uint32_t k, uint32_t end) const {
    Vec<float, kTogether> got;
    const bool inside = by_k ? i < size && k + kTogether <= end : k < end && i + kTogether <= size;
    if (aligned && inside) {
      const Vec<uint8_t, kTogether> raw = load_vec<kTogether>(at + (i * step + k * k_step));
      GPU_UNROLL for (uint32_t e = 0; e < kTogether; ++e) got.at[e] = widened(raw.at[e]);
      return got;
    }
    GPU_UNROLL for (uint32_t e = 0; e < kTogether; ++e) {
      const uint32_t row = by_k ? i : i + e, deep = by_k ? k + e : k;
      uint8_t bits = 0;
      if (row < size && deep < end) bits = at[row * step + deep * k_step];
      got.at[e] = widened(bits);
    }
    return got;
  }
#endif
};

template <class T>
struct ScaledArgs {
  Float8Matrix a, b;
  uint32_t m, n, k;
  Ptr<const float> scale_a, scale_b;
  Ptr<T> out;
  Epilogue<T> finish;
};

template <class T, class S>
GPU_SIZED_KERNEL(S::kThreads, multiply_scaled, ScaledArgs<T> g) {
  const uint32_t across = (g.n + S::kColumns - 1) / S::kColumns;
  const uint32_t down = (g.m + S::kRows - 1) / S::kRows;
  const uint32_t x = thread_index().x % S::kAcross, y = thread_index().x / S::kAcross;
  const float scale_a = g.scale_a[0], scale_b = g.scale_b[0];
  const float scale = scale_a * scale_b;
  for (int64_t tile = block_index().x; tile < int64_t{across} * down; tile += block_count().x) {
    const uint32_t m = static_cast<uint32_t>(tile % down) * S::kRows,
                   n = static_cast<uint32_t>(tile / down) * S::kColumns;
    Float8Matrix a = g.a, b = g.b;
    float sums[S::kOfRow * S::kOfColumn];
    multiply<S>(a, b, m, n, 0, g.k, sums);
    GPU_UNROLL for (uint32_t i = 0; i < S::kOfRow; ++i) {
      const uint32_t row = m + sum_place<S::kOfRow, float>(i, y, S::kThreads / S::kAcross);
      GPU_UNROLL for (uint32_t j = 0; j < S::kOfColumn; ++j) {
        const uint32_t column = n + sum_place<S::kOfColumn, float>(j, x, S::kAcross);
        if (row < g.m && column < g.n)
          g.out[int64_t{row} * g.n + column] = g.finish(sums[i * S::kOfColumn + j] * scale, column);
      }
    }
  }
}

Float8Matrix matrix_of(const Product& p, const tn_view& view, int64_t size, int64_t step,
                       int64_t k_step) {
  Float8Matrix made;
  if (p.k > 0) made.at = in<uint8_t>(view);
  made.step = step;
  made.k_step = k_step;
  made.size = static_cast<uint32_t>(size);
  made.by_k = k_step == 1 || step != 1;
  made.wide = view.dtype == TN_DTYPE_F8_E5M2;
  const int64_t along = made.by_k ? k_step : step, across = made.by_k ? step : k_step;
  made.aligned = along == 1 && across % Float8Matrix::kTogether == 0 &&
                 reinterpret_cast<uintptr_t>(view.data) % Float8Matrix::kTogether == 0;
  return made;
}

template <class T>
void run_typed(const tn_call& call, const Product& p) {
  ScaledArgs<T> args;
  args.a = matrix_of(p, *p.a.view, p.m, p.a.row, p.a.column);
  args.b = matrix_of(p, *p.b.view, p.n, p.b.column, p.b.row);
  args.m = static_cast<uint32_t>(p.m);
  args.n = static_cast<uint32_t>(p.n);
  args.k = static_cast<uint32_t>(p.k);
  args.scale_a = in<float>(input(call, arg::scaled_matmul::scale_a));
  args.scale_b = in<float>(input(call, arg::scaled_matmul::scale_b));
  args.out = out<T>(output(call));
  args.finish.bias = in_or_null<T>(p.bias);
  args.finish.bias_step = p.bias_step;
  with_tile<float>(choose_tile(p.m, p.n, p.k, 1, false, false), [&](auto tag) {
    using S = typename decltype(tag)::type;
    const auto blocks = static_cast<uint32_t>(std::min<int64_t>(S::count(p.m, p.n), 1 << 30));
    launch(call, {{blocks, 1, 1}, {S::kThreads, 1, 1}}, multiply_scaled<T, S>, args);
  });
}

void run(const tn_call& call, uint32_t) {
  const Product p = read_scaled_matmul(call);
  if (p.empty()) return;
  with_type(Types<Half, BFloat16, float>{}, output(call).dtype,
            [&](auto tag) { run_typed<typename decltype(tag)::type>(call, p); });
}

bool supports(const tn_call& call, uint32_t) { return read_scaled_matmul(call).fits(); }

}  // namespace

void add_matmul_scaled_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_SCALED_MATMUL,
            .dtypes = TN_MASK_F8,
            .run = run,
            .flags = TN_KERNEL_STRIDED,
            .supports = supports});
}

}  // namespace tenon::gpu
