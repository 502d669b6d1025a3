#include "elementwise.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "convert.hpp"
#include "dispatch.hpp"
#include "tiles.hpp"

namespace tenon::cpu {
namespace {

constexpr int64_t kBlock = 512;

// Moves n elements between a strided and a contiguous place.
template <class T>
void gather_as(const char* from, int64_t step, char* to, int64_t n) {
  T* out = reinterpret_cast<T*>(to);
  if (step == -static_cast<int64_t>(sizeof(T)))
    return copy_reversed(reinterpret_cast<const T*>(from), out, n);
  for (int64_t i = 0; i < n; ++i) out[i] = *reinterpret_cast<const T*>(from + i * step);
}
template <class T>
void scatter_as(const char* from, char* to, int64_t step, int64_t n) {
  const T* in = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * step) = in[i];
}
void gather(const char* from, int64_t step, char* to, int64_t n, int64_t size) {
  visit_size(static_cast<uint64_t>(size),
             [&]<class T>(Tag<T>) { gather_as<T>(from, step, to, n); });
}
void scatter(const char* from, char* to, int64_t step, int64_t n, int64_t size) {
  visit_size(static_cast<uint64_t>(size),
             [&]<class T>(Tag<T>) { scatter_as<T>(from, to, step, n); });
}

// Computes stretches of the element types that memory has; the half types go through f32.
struct Direct {
  static constexpr int64_t size_in_memory(int64_t size) { return size; }
  static void stretch(const Elementwise& self, const void* params, uint32_t ones, char* out,
                      const char* const* in, int64_t n) {
    self.fn[ones](params, out, reinterpret_cast<const void* const*>(in), n);
  }
};

template <auto From, auto To>
struct Half {
  static constexpr int64_t size_in_memory(int64_t size) { return size == 4 ? 2 : size; }
  static void stretch(const Elementwise& self, const void* params, uint32_t ones, char* out,
                      const char* const* in, int64_t n) {
    const HalfConversions& convert = half_conversions();
    alignas(64) float wide[kMaxInputs + 1][kBlock];
    for (int64_t done = 0; done < n; done += kBlock) {
      const int64_t m = std::min(kBlock, n - done);
      const void* source[kMaxInputs];
      for (uint32_t k = 0; k < self.inputs; ++k) {
        const bool one = (ones >> k & 1) != 0;
        source[k] = wide[k];
        if (self.in_size[k] != 4)
          source[k] = in[k] + (one ? 0 : done * self.in_size[k]);
        else if (!one || done == 0)
          (convert.*From)(reinterpret_cast<const uint16_t*>(in[k]) + (one ? 0 : done), wide[k],
                          one ? 1 : m);
      }
      if (self.out_size == 4) {
        self.fn[ones](params, wide[kMaxInputs], source, m);
        (convert.*To)(wide[kMaxInputs], reinterpret_cast<uint16_t*>(out) + done, m);
      } else {
        self.fn[ones](params, out + done * self.out_size, source, m);
      }
    }
  }
};
using F16Path = Half<&HalfConversions::from_f16, &HalfConversions::to_f16>;
using BF16Path = Half<&HalfConversions::from_bf16, &HalfConversions::to_bf16>;

// How the rows of a loop lie, all alike.
struct Lie {
  uint32_t ones = 0;   // inputs that are one value for a row, if there is a function for them
  bool direct = true;  // the others and the output are contiguous
};
template <class Path, size_t K>
Lie lie_of(const Elementwise& self, const std::array<int64_t, K>& step) {
  Lie lie;
  lie.direct = step[0] == Path::size_in_memory(self.out_size);
  for (size_t k = 0; k < K - 1; ++k) {
    if (step[k + 1] == 0)
      lie.ones |= 1u << k;
    else
      lie.direct &= step[k + 1] == Path::size_in_memory(self.in_size[k]);
  }
  if (lie.ones < 4 && self.fn[lie.ones] != nullptr) return lie;
  return {0, false};
}

template <class Path, size_t K>
void direct_row(const Elementwise& self, const void* params, uint32_t ones, int64_t n,
                const std::array<char*, K>& data) {
  const char* in[K - 1];
  for (size_t k = 0; k < K - 1; ++k) in[k] = data[k + 1];
  Path::stretch(self, params, ones, data[0], in, n);
}

// A row of any strides: what is neither contiguous nor one value is brought into
// contiguous blocks first.
template <class Path, size_t K>
void row(const Elementwise& self, const void* params, uint32_t ones, int64_t n,
         const std::array<char*, K>& data, const std::array<int64_t, K>& step) {
  constexpr size_t kInputs = K - 1;
  const int64_t out_size = Path::size_in_memory(self.out_size);
  const char* in[kInputs];
  alignas(64) char staged[K][kBlock * 16];
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t m = std::min(kBlock, n - done);
    for (size_t k = 0; k < kInputs; ++k) {
      const int64_t size = Path::size_in_memory(self.in_size[k]), s = step[k + 1];
      if (s == size || (ones >> k & 1) != 0) {
        in[k] = data[k + 1] + done * s;
        continue;
      }
      in[k] = staged[k + 1];
      if (s != 0 || done == 0) gather(data[k + 1] + done * s, s, staged[k + 1], m, size);
    }
    char* out = step[0] == out_size ? data[0] + done * out_size : staged[0];
    Path::stretch(self, params, ones, out, in, m);
    if (out == staged[0]) scatter(staged[0], data[0] + done * step[0], step[0], m, out_size);
  }
}

// A loop over a transposed input: in tiles that are packed first.
template <class Path, size_t K>
void run_tiles(const Elementwise& self, const void* params, const tn_loop& loop,
               const Operands<K>& operands, uint32_t across) {
  constexpr int64_t kRows = 16, kColumns = kBlock / kRows;
  const int64_t grain =
      std::min<int64_t>(self.grain, kGrainMath);  // packing costs more than a copy
  each_tile<K>(loop, operands, across, kRows, kColumns, grain, [&](const Tile<K>& tile) {
    alignas(64) char packed[K][kBlock * 16];
    const char* in[K - 1];
    for (size_t k = 1; k < K; ++k) {
      visit_size(static_cast<uint64_t>(operands.size[k]), [&]<class T>(Tag<T>) {
        pack_tile<kRows, kColumns, T>(tile, k, reinterpret_cast<T*>(packed[k]));
      });
      in[k - 1] = packed[k];
    }
    Path::stretch(self, params, 0, packed[0], in, tile.rows * tile.columns);
    const int64_t row_bytes = tile.columns * operands.size[0];
    for (int64_t i = 0; i < tile.rows; ++i)
      std::memcpy(tile.data[0] + i * tile.row_step[0], packed[0] + i * row_bytes,
                  static_cast<size_t>(row_bytes));
  });
}

// A loop whose rows are short: several rows at a time, packed unless they lie so.
template <class Path, size_t K>
void run_narrow(const Elementwise& self, const void* params, const tn_loop& loop,
                const Operands<K>& operands, uint32_t beside) {
  const int64_t rows = kBlock / std::max<int64_t>(1, loop.shape[loop.ndim - 1]);
  each_tile<K>(loop, operands, beside, rows, kNarrow, self.grain, [&](const Tile<K>& tile) {
    alignas(64) char packed[K][kBlock * 16];
    const auto dense = [&](size_t k) {
      return tile.column_step[k] == operands.size[k] &&
             tile.row_step[k] == tile.columns * operands.size[k];
    };
    const char* in[K - 1];
    uint32_t ones = 0;
    for (size_t k = 1; k < K; ++k)
      if (tile.column_step[k] == 0 && tile.row_step[k] == 0) ones |= 1u << (k - 1);
    if (ones >= 4 || self.fn[ones] == nullptr) ones = 0;
    for (size_t k = 1; k < K; ++k) {
      in[k - 1] = tile.data[k];
      if ((ones >> (k - 1) & 1) != 0 || dense(k)) continue;
      visit_size(static_cast<uint64_t>(operands.size[k]), [&]<class T>(Tag<T>) {
        move_narrow<T>(tile.data[k], tile.row_step[k], tile.column_step[k], packed[k],
                       tile.columns * operands.size[k], operands.size[k], tile.rows, tile.columns);
      });
      in[k - 1] = packed[k];
    }
    char* const out = dense(0) ? tile.data[0] : packed[0];
    Path::stretch(self, params, ones, out, in, tile.rows * tile.columns);
    if (out == packed[0])
      visit_size(static_cast<uint64_t>(operands.size[0]), [&]<class T>(Tag<T>) {
        move_narrow<T>(packed[0], tile.columns * operands.size[0], operands.size[0], tile.data[0],
                       tile.row_step[0], tile.column_step[0], tile.rows, tile.columns);
      });
  });
}

// Caches foresee the lines of a long row, not where the next one begins: with gaps between rows, the next one is asked for ahead, as far
// as a page goes.
template <size_t K>
struct RowsAhead {
  static constexpr int64_t kMostLines = 64;
  static constexpr int64_t kLine = 64, kDistance = 2048, kLarge = 1 << 20;  // bytes
  static constexpr int64_t kGap = 4 * kLine;  // across a shorter one caches go on
  std::array<int64_t, K> distance{}, lines{};
  bool any = false;

  RowsAhead(const tn_loop& loop, const Operands<K>& operands) {
    if (loop.ndim < 2) return;
    const uint32_t last = loop.ndim - 1;
    for (size_t k = 0; k < K; ++k) {
      const int64_t row = loop.shape[last] * operands.size[k],
                    step = loop.strides[k][last - 1] * operands.size[k];
      if (loop.strides[k][last] != 1 || step == 0 || row < 2 * kLine) continue;
      if (step > 0 && step - row < kGap) continue;
      if (row * loop.shape[last - 1] < kLarge) continue;
      distance[k] = step * std::max<int64_t>(1, kDistance / row);
      lines[k] = std::min(kMostLines, row / kLine);
      any = true;
    }
  }
  void prefetch(const std::array<char*, K>& data) const {
    for (size_t k = 0; k < K; ++k)
      for (int64_t i = 0; i < lines[k]; ++i) __builtin_prefetch(data[k] + distance[k] + i * kLine);
  }
};

// Rows so short that the steps between them cost more than what is gained by asking `ahead`.
bool has_short_rows(const Elementwise& self, const Lie& lie, const tn_loop& loop, bool ahead) {
  const int64_t most = ahead ? 128 : 1024;
  return loop.ndim >= 2 && loop_count(loop) > 0 && loop.shape[loop.ndim - 1] <= most &&
         lie.direct && lie.ones < std::size(self.rows) && self.rows[lie.ones] != nullptr;
}
// Those of the innermost two dimensions in one call.
template <size_t K>
void run_rows(const Elementwise& self, const void* params, uint32_t ones, const tn_loop& loop,
              const Operands<K>& operands) {
  const uint32_t last = loop.ndim - 1;
  const int64_t n = loop.shape[last], together = loop.shape[last - 1];
  std::array<int64_t, K> down;
  for (size_t k = 0; k < K; ++k) down[k] = loop.strides[k][last - 1] * operands.size[k];
  const auto work = [&](int64_t begin, int64_t end) {
    while (begin < end) {
      std::array<char*, K> data = operands.data;
      int64_t rest = begin;
      for (uint32_t d = last; d-- > 0; rest /= loop.shape[d])
        for (size_t k = 0; k < K; ++k)
          data[k] += rest % loop.shape[d] * loop.strides[k][d] * operands.size[k];
      const int64_t rows = std::min(together - begin % together, end - begin);
      const void* in[K - 1];
      for (size_t k = 0; k < K - 1; ++k) in[k] = data[k + 1];
      self.rows[ones](params, data[0], in, n, rows, down.data());
      begin += rows;
    }
  };
  parallel_for(loop_count(loop) / n, std::max<int64_t>(1, self.grain / n), work);
}

template <class Path, size_t K>
void run_loop(const Elementwise& self, const void* params, const tn_call& call) {
  const Operands<K> operands = operands_of<K>(call);
  const int across = transposed_dim<K>(*call.loop);
  if (across >= 0)
    return run_tiles<Path, K>(self, params, *call.loop, operands, static_cast<uint32_t>(across));
  const int beside = beside_narrow(*call.loop);
  if (beside >= 0)
    return run_narrow<Path, K>(self, params, *call.loop, operands, static_cast<uint32_t>(beside));
  const RowsAhead<K> ahead(*call.loop, operands);
  const Lie lie = lie_of<Path>(self, row_steps(*call.loop, operands));
  if constexpr (std::is_same_v<Path, Direct>)
    if (has_short_rows(self, lie, *call.loop, ahead.any))
      return run_rows<K>(self, params, lie.ones, *call.loop, operands);
  for_each_row<K>(*call.loop, operands, self.grain,
                  [&](int64_t n, const auto& data, const auto& step) {
                    if (ahead.any) ahead.prefetch(data);
                    if (lie.direct)
                      direct_row<Path>(self, params, lie.ones, n, data);
                    else
                      row<Path>(self, params, lie.ones, n, data, step);
                  });
}

template <class Path>
tn_status* run(void* self_pointer, const tn_call* call) {
  return sdk::guard([&] {
    const Elementwise& self = *static_cast<const Elementwise*>(self_pointer);
    alignas(16) unsigned char params[kParamBytes];
    if (self.read != nullptr) self.read(*call, params);
    switch (self.inputs) {
      case 1:
        return run_loop<Path, 2>(self, params, *call);
      case 2:
        return run_loop<Path, 3>(self, params, *call);
      default:
        return run_loop<Path, 4>(self, params, *call);
    }
  });
}

}  // namespace

ComputeFn compute_through(Through through) {
  constexpr ComputeFn by_path[] = {Direct::stretch, F16Path::stretch, BF16Path::stretch};
  return by_path[static_cast<size_t>(through)];
}

tn_status* run_elementwise(void* self, void*, const tn_call* call) {
  return run<Direct>(self, call);
}
tn_status* run_elementwise_f16(void* self, void*, const tn_call* call) {
  return run<F16Path>(self, call);
}
tn_status* run_elementwise_bf16(void* self, void*, const tn_call* call) {
  return run<BF16Path>(self, call);
}

}  // namespace tenon::cpu
