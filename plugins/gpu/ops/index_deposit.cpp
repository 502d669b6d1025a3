#include "ops/index_deposit.hpp"

#include <algorithm>
#include <bit>

#include "arithmetic.hpp"
#include "ops/move.hpp"
#include "rows.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kChunk = 32;  // sorted rows that a thread adds up
constexpr uint32_t kThreads = kBlockThreads;

// Integers are summed by size; their sign does not matter.
using Sums = Types<bool, uint8_t, uint16_t, uint32_t, uint64_t, Half, BFloat16, float, double>;
tn_dtype sum_type(tn_dtype dtype) {
  return (Ints::kMask >> dtype & 1) != 0 ? bits_of(dtype) : dtype;
}

template <class T>
struct Source {
  Ptr<const T> at;
  bool is_dense;
  int64_t rows, inner;
  Layout<1> layout;
};
template <class T>
GPU_DEVICE T element_of(const Source<T>& source, int64_t o, int64_t row, int64_t c) {
  const int64_t i = (o * source.rows + row) * source.inner + c;
  if (source.is_dense) return source.at[i];
  int64_t place;
  source.layout.find(static_cast<uint32_t>(i), &place);
  return source.at[place];
}

GPU_KERNEL list_keys(Ptr<const int64_t> index, uint32_t rows, uint32_t places, IndexCheck check,
                     int64_t left_out, Ptr<uint32_t> keys) {
  for (uint32_t j = first_thread(); j < rows; j += thread_count()) {
    const int64_t at = place_of(check, index[j], j);
    keys[j] = at == kNowhere || at == left_out ? places : static_cast<uint32_t>(at);
  }
}

// ---- The last row of a place stays --------------------------------------------------------------------------------------

GPU_KERNEL clear_winners(Ptr<const uint32_t> keys, uint32_t rows, uint32_t places,
                         Ptr<uint32_t> winners) {
  for (uint32_t j = first_thread(); j < rows; j += thread_count()) {
    const uint32_t key = keys[j];
    if (key < places) atomic_set(winners + key, 0);  // rows may share a place
  }
}
GPU_KERNEL find_winners(Ptr<const uint32_t> keys, uint32_t rows, uint32_t places,
                        Ptr<uint32_t> winners) {
  for (uint32_t j = first_thread(); j < rows; j += thread_count()) {
    const uint32_t key = keys[j];
    if (key < places) atomic_max(winners + key, j);
  }
}
template <class U>
GPU_KERNEL put_rows(Rows rows, uint32_t places, Ptr<const uint32_t> keys,
                    Ptr<const uint32_t> winners, Source<U> source, Ptr<U> out) {
  for (int64_t j = rows.first(); j < rows.count; j += rows.step()) {
    const uint32_t key = keys[j];
    if (key >= places || (winners != nullptr && winners[key] != j)) continue;
    for (int64_t c = rows.column(); c < rows.inner; c += rows.across())
      out[key * rows.inner + c] = element_of(source, 0, j, c);
  }
}

// ---- Sums over rows that are sorted by place ----------------------------------------------------------------------------

struct SortedRows {
  Ptr<const uint32_t> keys, order;  // order NULL: already in order
  uint32_t count, places;
};

// Each chunk adds up its rows. Sums of places that reach beyond the chunk are kept separately: partials[chunk, 0] for a place that began
// earlier, [chunk, 1] for one that begins here and continues.
template <class T>
struct Adding {
  SortedRows sorted;
  int64_t planes;  // outer × inner
  Source<T> source;
  Ptr<T> out;
  Ptr<Compute<T>> partials;
};

template <class T>
GPU_DEVICE void add_to(const Adding<T>& adding, int64_t o, uint32_t key, int64_t c,
                       Compute<T> sum) {
  const int64_t at = (o * adding.sorted.places + key) * adding.source.inner + c;
  adding.out[at] = narrow<T>(plus(widen<T>(adding.out[at]), sum));
}

template <class T>
GPU_DEVICE void add_chunk(const Adding<T>& adding, uint32_t chunk, int64_t o, int64_t c) {
  const SortedRows& sorted = adding.sorted;
  const uint32_t begin = chunk * kChunk, rest = sorted.count - begin,
                 end = begin + (rest < kChunk ? rest : kChunk);
  const int64_t partial = int64_t{2} * chunk * adding.planes + o * adding.source.inner + c;
  uint32_t key = sorted.keys[begin];
  bool continued = begin > 0 && sorted.keys[begin - 1] == key;
  Compute<T> sum{};
  for (uint32_t s = begin; s < end; ++s) {
    const uint32_t next = sorted.keys[s];
    if (next != key) {
      if (key < sorted.places)
        continued ? static_cast<void>(adding.partials[partial] = sum)
                  : add_to(adding, o, key, c, sum);
      key = next;
      sum = Compute<T>{};
      continued = false;
    }
    if (key >= sorted.places) continue;
    const int64_t row = sorted.order == nullptr ? s : static_cast<uint32_t>(sorted.order[s]);
    sum = plus(sum, widen<T>(element_of(adding.source, o, row, c)));
  }
  if (key >= sorted.places) return;
  const bool continues = end < sorted.count && sorted.keys[end] == key;
  if (continued || continues)
    adding.partials[partial + (continued ? 0 : adding.planes)] = sum;
  else
    add_to(adding, o, key, c, sum);
}

template <class T>
GPU_KERNEL add_chunks(Rows rows, Adding<T> adding) {
  for (int64_t chunk = rows.first(); chunk < rows.count; chunk += rows.step())
    for (int64_t o = block_index().y; o < rows.outer; o += block_count().y)
      for (int64_t c = rows.column(); c < rows.inner; c += rows.across())
        add_chunk(adding, static_cast<uint32_t>(chunk), o, c);
}

// The place whose rows begin in this chunk and continue beyond it, and its last chunk; or the number of places, for none.
GPU_DEVICE uint32_t spanning_place(const SortedRows& sorted, uint32_t chunk, uint32_t& last) {
  const uint32_t begin = chunk * kChunk, end = begin + kChunk;
  if (end >= sorted.count) return sorted.places;
  const uint32_t key = sorted.keys[end];
  if (key >= sorted.places || sorted.keys[end - 1] != key) return sorted.places;
  if (begin > 0 && sorted.keys[begin - 1] == key) return sorted.places;
  uint32_t low = end, high = sorted.count;  // the last row is in [low, high)
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (sorted.keys[middle] == key)
      low = middle;
    else
      high = middle;
  }
  last = low / kChunk;
  return key;
}

// One block for each chunk and 32 columns; threads that share a column take chunks in turn.
template <class T>
GPU_KERNEL add_spans(Adding<T> adding, uint32_t width) {
  GPU_SHARED(Compute<T>, sums, kThreads);
  const uint32_t chunk = block_index().x, height = kThreads / width;
  uint32_t last = 0;
  const uint32_t key = spanning_place(adding.sorted, chunk, last);
  if (key == adding.sorted.places) return;
  const uint32_t t = thread_index().x, y = t / width;
  const int64_t planes = adding.planes, inner = adding.source.inner;
  for (int64_t first = int64_t{block_index().y} * width; first < planes;
       first += int64_t{block_count().y} * width) {
    const int64_t plane = first + t % width;
    Compute<T> sum{};
    if (plane < planes)
      for (uint32_t k = chunk + y; k <= last; k += height)
        sum = plus(sum,
                   static_cast<Compute<T>>(
                       adding.partials[(int64_t{2} * k + (k == chunk ? 1 : 0)) * planes + plane]));
    sums[t] = sum;
    sync_threads();
    for (uint32_t half = height / 2; half > 0; half /= 2) {
      if (y < half)
        sums[t] =
            plus(static_cast<Compute<T>>(sums[t]), static_cast<Compute<T>>(sums[t + half * width]));
      sync_threads();
    }
    if (y == 0 && plane < planes)
      add_to(adding, plane / inner, key, plane % inner, static_cast<Compute<T>>(sums[t]));
    sync_threads();
  }
}

// ---- On the host --------------------------------------------------------------------------------------------------------

int64_t chunks_of(const Deposit& d) { return (d.rows + kChunk - 1) / kChunk; }

int64_t partials_of(const Deposit& d) { return d.apart ? 0 : 2 * chunks_of(d) * d.outer * d.inner; }

template <class U>
Source<U> source_of(const Deposit& d) {
  Source<U> source;
  const int64_t wide = static_cast<int64_t>(sizeof(U)) / size_of(d.source->dtype);
  source.at = units<const U>(*d.source);
  source.is_dense = d.dense();
  source.rows = d.rows;
  source.inner = d.inner / wide;
  if (!d.dense()) {
    LoopPart part;
    part.ndim = static_cast<uint32_t>(d.shape.size());
    for (uint32_t k = 0; k < part.ndim; ++k) {
      part.shape[k] = static_cast<uint32_t>(d.shape[k]);
      part.strides[0][k] = d.steps[k];
    }
    source.layout = Layout<1>(part);
  }
  return source;
}

void put(const tn_call& call, const Deposit& d) {
  const tn_view& out = output(call);
  const Ptr<uint32_t> keys = d.keys(call);
  const auto rows = static_cast<uint32_t>(d.rows), places = static_cast<uint32_t>(d.places);
  Ptr<uint32_t> winners(nullptr);
  if (!d.apart) {
    winners = scratch<uint32_t>(call, d.bytes(out.dtype) - d.places * 4, d.places);
    launch(call, grid_of(rows), clear_winners, keys, rows, places, winners);
    launch(call, grid_of(rows), find_winners, keys, rows, places, winners);
  }
  const uint32_t size = size_of(out.dtype);
  const uint32_t unit = d.dense() ? unit_of(reinterpret_cast<uintptr_t>(out.data) |
                                            reinterpret_cast<uintptr_t>(d.source->data) |
                                            static_cast<uint64_t>(d.inner) * size)
                                  : size;
  with_unit(unit, [&](auto tag) {
    using U = typename decltype(tag)::type;
    const Source<U> source = source_of<U>(d);
    const Rows shape(1, d.rows, source.inner);
    launch(call, shape.grid(), put_rows<U>, shape, places, keys, winners, source, units<U>(out));
  });
}

template <class T>
void add(const tn_call& call, const Deposit& d) {
  const RadixSort<uint32_t> sorting = d.sorting();
  Adding<T> adding;
  adding.sorted = {d.keys(call), nullptr, static_cast<uint32_t>(d.rows),
                   static_cast<uint32_t>(d.places)};
  if (!d.apart) {
    const auto sorted = sorting.sort(call, 0);
    adding.sorted.keys = sorted.keys;
    adding.sorted.order = sorted.order;
  }
  adding.planes = d.outer * d.inner;
  adding.source = source_of<T>(d);
  adding.out = units<T>(output(call));
  adding.partials = scratch<Compute<T>>(call, sorting.bytes(), partials_of(d));
  const Rows rows(d.outer, chunks_of(d), d.inner);
  launch(call, rows.grid(), add_chunks<T>, rows, adding);
  if (d.apart || rows.count == 1) return;
  const auto width = static_cast<uint32_t>(
      std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(adding.planes, 32))));
  const int64_t across = std::min<int64_t>((adding.planes + width - 1) / width, 65535);
  const Grid grid{{static_cast<uint32_t>(rows.count), static_cast<uint32_t>(across), 1},
                  {kThreads, 1, 1}};
  launch(call, grid, add_spans<T>, adding, width);
}

}  // namespace

RadixSort<uint32_t> Deposit::sorting() const {
  return {rows, static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(places)))};
}

uint64_t Deposit::bytes(tn_dtype dtype) const {
  if (!fits() || rows == 0) return 0;
  const uint64_t keys = (static_cast<uint64_t>(rows) * 4 + 255) / 256 * 256;
  if (!add) return keys + (apart ? 0 : static_cast<uint64_t>(places) * 4);
  return sorting().bytes() +
         static_cast<uint64_t>(partials_of(*this)) * (size_of(dtype) == 8 ? 8 : 4);
}

void keys_of_list(const tn_call& call, const Deposit& d, const IndexCheck& check,
                  const tn_view& index, int64_t left_out) {
  launch(call, grid_of(d.rows), list_keys, in<int64_t>(index), static_cast<uint32_t>(d.rows),
         static_cast<uint32_t>(d.places), check, left_out, d.keys(call));
}

void finish_deposit(const tn_call& call, const Deposit& d) {
  const tn_view& out = output(call);
  if (numel(out) == 0) return;
  if (d.x != nullptr)
    move_all(call, out, *d.x);
  else
    rt::fill(out.data, 0, static_cast<uint64_t>(numel(out)) * size_of(out.dtype),
             stream_of(call).handle());
  if (d.rows == 0) return;
  if (!d.add) return put(call, d);
  with_type(Sums{}, sum_type(out.dtype),
            [&](auto tag) { add<typename decltype(tag)::type>(call, d); });
}

}  // namespace tenon::gpu
