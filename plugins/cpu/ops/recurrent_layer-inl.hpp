// What lstm and its backward share. A layer's weight is packed once, into panels of a few hidden units; a step of some units is a
// product of rows and their panels, then one pass over their gates. Threads share the batch where it is large, otherwise each step's
// units; results do not depend on that. Tensors hold T; sums, gates and the state are computed in Compute<T>, products of F.
// Included once for each instruction set, inside no namespace.
#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/matmul_gemm_pack-inl.h"
#include "ops/recurrent_pairs.hpp"
#include "ops/workspace.hpp"
#include "simd/sigmoid-inl.hpp"
#include "threads.hpp"

#if defined(TENON_CPU_RECURRENT_LAYER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_RECURRENT_LAYER_INL
#undef TENON_CPU_RECURRENT_LAYER_INL
#else
#define TENON_CPU_RECURRENT_LAYER_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// Rows of the batch that are worth a thread of their own: each reads the whole weight every step.
constexpr int64_t kRowsOfThread = 8;
// Vectors of a panel: tiles of few rows are wider.
constexpr int64_t kVectors = kTileVectors, kMostVectors = 3;

struct Span {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
// Share i of `parts` equal ones of n.
inline Span share(int64_t n, int64_t i, int64_t parts) {
  return {n * i / parts, n * (i + 1) / parts};
}

// Sizes of a layer, and how its work is cut.
template <class T, class F>
struct Layer {
  int64_t steps, batch, width;
  bool reverse;
  int64_t panel;         // hidden units of a panel
  int64_t down, across;  // threads that share the batch, or the panels of each step

  Layer(const tn_view& gates, bool backwards)
      : steps(gates.shape[0]),
        batch(gates.shape[1]),
        width(gates.shape[2] / 4),
        reverse(backwards) {
    // A lone row waits for the weight, which is shared so that each thread's part stays in its second cache.
    const int64_t step = std::max<int64_t>(batch, 2) * width * width * 4;
    const auto threads = [](int64_t work) {
      return std::clamp<int64_t>(work / kGemmGrain, 1, max_threads());
    };
    down = std::min(threads(step * steps), std::max<int64_t>(1, batch / kRowsOfThread));
    across = std::min(threads(step), std::max<int64_t>(1, width / (kVectors * lanes())));
    (across > down ? down : across) = 1;
    panel = (batch / down <= 8 ? kMostVectors : kVectors) * lanes();
  }

  static int64_t lanes() { return static_cast<int64_t>(hn::Lanes(LaneTag<T>())); }
  int64_t state_size() const { return batch * width; }
  int64_t panels() const { return (width + panel - 1) / panel; }
  // The hidden units of panel p.
  Span units(int64_t p) const { return {p * panel, std::min(width, (p + 1) * panel)}; }
  // The k-th place on the way.
  int64_t place(int64_t k) const { return reverse ? steps - 1 - k : k; }
  // Rows of a panel for products of k numbers.
  static int64_t packed_rows(int64_t k) { return kPairs<F> ? k / 2 : k; }
  // Of the packed weight, for panels of any width: how many threads there are may change until the kernel runs.
  int64_t packed_size() const { return packed_rows(4 * width) * (width + kMostVectors * lanes()); }

  // pack(p) for each panel.
  template <class Pack>
  void for_panels(Pack&& pack) const {
    const int64_t size = std::max<int64_t>(1, 4 * width * panel);
    parallel_for(panels(), std::max<int64_t>(1, kGrainCopy / size),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t p = begin; p < end; ++p) pack(p);
                 });
  }
  // step(k, rows, panels) for k < count: all of a row's states are there before its next step.
  template <class Step>
  void for_steps(int64_t count, Step&& step) const {
    if (down > 1)
      return parallel_for(down, 1, [&](int64_t begin, int64_t end) {
        const Span rows{share(batch, begin, down).begin, share(batch, end - 1, down).end};
        for (int64_t k = 0; k < count; ++k) step(k, rows, Span{0, panels()});
      });
    for (int64_t k = 0; k < count; ++k)
      parallel_for(across, 1, [&](int64_t begin, int64_t end) {
        step(k, Span{0, batch},
             Span{share(panels(), begin, across).begin, share(panels(), end - 1, across).end});
      });
  }
};

template <class T, class U>
void convert_row(const T* from, int64_t n, U* to) {
  map_row(from, to, static_cast<size_t>(n), [](auto v) HWY_ATTR { return v; });
}

// Elements [i, i + n) of rows, where n is a whole vector, or fewer.
template <class T, bool Whole>
struct Part {
  LaneTag<T> d;
  int64_t i;
  size_t n;

  template <class U>
  HWY_INLINE hn::Vec<LaneTag<T>> of(const U* row) const {
    if constexpr (Whole)
      return load(d, row + i);
    else
      return load_first(d, row + i, n, 0);
  }
  // Zero where there is no such row.
  template <class U>
  HWY_INLINE hn::Vec<LaneTag<T>> of_any(const U* row) const {
    return row == nullptr ? hn::Zero(d) : of(row);
  }
  template <class U>
  HWY_INLINE void put(hn::Vec<LaneTag<T>> v, U* row) const {
    if constexpr (Whole)
      store(v, d, row + i);
    else
      store_first(v, d, row + i, n);
  }
};
template <class T, class Body>
HWY_INLINE void for_parts(int64_t count, Body&& body) {
  const LaneTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(Part<T, true>{d, i, static_cast<size_t>(lanes)});
  if (i < count) body(Part<T, false>{d, i, static_cast<size_t>(count - i)});
}

// Some units of rows that lie `apart` begin their way into L2 before a product, after which they are read: stretches so short aren't
// foreseen by the processor.
template <class T>
HWY_INLINE void fetch(const T* from, int64_t apart, int64_t rows, int64_t units) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t r = 0; r < rows; ++r, from += apart)
    for (int64_t u = 0; u < units; u += kLine) __builtin_prefetch(from + u, 0, 2);
}

// c[r, u] = Σ a[r, p]·b[p, u] over p < k, where b is a packed panel; rows of c lie `apart`, those of a side by side.
template <class T, class F>
void multiply(const Layer<T, F>& l, int64_t rows, int64_t units, int64_t k, const F* a,
              const Compute<T>* b, Compute<T>* c, int64_t apart) {
  const int64_t lanes = l.lanes(), vectors = (units + lanes - 1) / lanes;
  const int64_t last = units - (vectors - 1) * lanes;
  if constexpr (kPairs<F>) {
    multiply_pairs({l.packed_rows(k), a, k, b, l.panel, c, apart, last}, vectors, rows);
  } else {
    Tile<F> t{k, a, k, 1, b, l.panel, c, apart, nullptr, 0, 1, last, false};
    if (kMasks || units == vectors * lanes)
      run_panel(t, static_cast<int>(vectors), rows);
    else
      run_ragged(t, static_cast<int>(vectors), rows, units, vectors * lanes);
  }
}

// The panel of the transpose of `cols` rows of k numbers, which lie side by side.
template <class F, class T>
void pack_rows(const T* rows, int64_t k, int64_t cols, int64_t panel, Compute<T>* out) {
  using C = Compute<T>;
  if constexpr (std::is_same_v<T, C>) return pack_panel(rows, 1, k, k, cols, panel, out);
  C* const wide = workspace<C>(Workspace::Packed, cols * k);
  if constexpr (kPairs<F>) {
    k /= 2;
    std::memcpy(wide, rows, static_cast<size_t>(cols * k) * sizeof(C));
  } else {
    convert_row(rows, cols * k, wide);
  }
  pack_panel(wide, 1, k, k, cols, panel, out);
}
// The panel of `cols` columns of k rows, which lie `apart`.
template <class F, class T>
void pack_columns(const T* rows, int64_t apart, int64_t k, int64_t cols, int64_t panel,
                  Compute<T>* out) {
  const int64_t each = kPairs<F> ? 2 : 1;
  for (int64_t p = 0; p < k; p += each, out += panel) {
    if constexpr (kPairs<F>)
      join_pairs(rows + p * apart, rows + (p + 1) * apart, cols, out);
    else
      convert_row(rows + p * apart, cols, out);
    std::fill(out + cols, out + panel, 0);
  }
}

template <class Arg>
bool even_width(const tn_call& call) {
  return input(call, Arg::weight).shape[1] % 2 == 0;
}
// Kernel::of<T, F>() for all dtypes; bf16 as pairs where the processor multiplies these.
template <class Kernel>
void add_layer_kernels(KernelList& list) {
  list.add(Kernel::template of<float, float>());
  list.add(Kernel::template of<double, double>());
  list.add(Kernel::template of<F16, float>());
  list.add(Kernel::template of<BF16, float>());
#if HWY_TARGET == HWY_AVX3
  if (!multiplies_pairs()) return;
  KernelSpec pairs = Kernel::template of<BF16, BF16>();
  pairs.priority = 10;
  pairs.supports = supports_of<even_width<typename Kernel::arg>>;
  list.add(pairs);
#endif
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
