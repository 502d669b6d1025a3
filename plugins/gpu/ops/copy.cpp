// clone, contiguous, and moves for other ops: copies elements between layouts, by element size. Rows move in units of up to 16 bytes. If
// the densest dimension differs between the two, tiles go through shared memory.
#include <algorithm>

#include "dense_copy.hpp"
#include "elementwise.hpp"
#include "ops/move.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kTile = 32, kTileRows = 8;  // of the 256 threads of a block

struct Same {
  template <class C>
  GPU_FN C operator()(C x) const {
    return x;
  }
};

template <class U>
GPU_KERNEL move_strided(uint32_t count, Layout<2> layout, Ptr<U> to, Ptr<const U> from) {
  for (uint32_t i = first_thread(); i < count; i += thread_count()) {
    int64_t places[2];
    layout.find(i, places);
    to[places[0]] = from[places[1]];
  }
}

// A matrix for each batch: its rows are contiguous in `to`, its columns in `from`.
struct Turned {
  uint32_t batches, rows, columns;
  Divider tiles_across;
  int64_t to_row, from_column;
};

template <class U>
GPU_KERNEL move_turned(Turned m, Layout<2> batches, Ptr<U> to, Ptr<const U> from) {
  GPU_SHARED(U, tile, kTile * (kTile + 1));
  const uint32_t down = m.tiles_across.divide(block_index().x);
  const uint32_t row = down * kTile,
                 column = (block_index().x - down * m.tiles_across.divisor) * kTile;
  const uint32_t x = thread_index().x % kTile, y = thread_index().x / kTile;
  for (uint32_t b = block_index().y; b < m.batches; b += block_count().y) {
    int64_t places[2];
    batches.find(b, places);
    for (uint32_t k = y; k < kTile; k += kTileRows)
      if (row + x < m.rows && column + k < m.columns)
        tile[k * (kTile + 1) + x] = from[places[1] + row + x + (column + k) * m.from_column];
    sync_threads();
    for (uint32_t k = y; k < kTile; k += kTileRows)
      if (row + k < m.rows && column + x < m.columns)
        to[places[0] + (row + k) * m.to_row + column + x] = tile[x * (kTile + 1) + k];
    sync_threads();
  }
}

// Drops dimensions of size 1 and merges those that form one line.
void merge(Move& m) {
  uint32_t kept = 0;
  for (uint32_t d = 0; d < m.ndim; ++d) {
    if (m.shape[d] == 1) continue;
    const bool joins = kept > 0 && m.to[kept - 1] == m.shape[d] * m.to[d] &&
                       m.from[kept - 1] == m.shape[d] * m.from[d];
    const uint32_t k = joins ? kept - 1 : kept++;
    m.shape[k] = joins ? m.shape[k] * m.shape[d] : m.shape[d];
    m.to[k] = m.to[d];
    m.from[k] = m.from[d];
  }
  m.ndim = kept;
  if (m.ndim == 0) {
    m.ndim = 1;
    m.shape[0] = m.to[0] = m.from[0] = 1;
  }
}

uint64_t address_of(const Place& place, int64_t size) {
  return reinterpret_cast<uintptr_t>(place.view->data) +
         static_cast<uint64_t>(place.first) * static_cast<uint64_t>(size);
}

// How many bytes are contiguous on both sides wherever a row begins.
uint32_t common_unit(const Move& m, const Place& to, const Place& from, uint32_t size) {
  const uint32_t last = m.ndim - 1;
  if (m.to[last] != 1 || m.from[last] != 1) return size;
  uint64_t bits =
      address_of(to, size) | address_of(from, size) | static_cast<uint64_t>(m.shape[last]) * size;
  for (uint32_t d = 0; d < last; ++d)
    bits |= static_cast<uint64_t>(m.to[d]) * size | static_cast<uint64_t>(m.from[d]) * size;
  return std::max(unit_of(bits), size);
}

// The dimension along which `from` is dense, unless `to` is dense along it as well; the last dimension if there is none.
uint32_t turned_dimension(const Move& m) {
  const uint32_t last = m.ndim - 1;
  if (m.to[last] != 1 || m.from[last] == 1 || m.shape[last] < kTileRows ||
      m.shape[last] > INT32_MAX)
    return last;
  for (uint32_t d = 0; d < last; ++d)
    if (m.from[d] == 1 && m.shape[d] >= kTileRows && m.shape[d] <= INT32_MAX) return d;
  return last;
}

template <class U>
bool launch_turned(const tn_call& call, const Move& m, const Place& to, const Place& from) {
  const uint32_t turned = turned_dimension(m), last = m.ndim - 1;
  if (turned == last) return false;
  LoopPart part;
  part.operands = 2;
  int64_t batches = 1;
  for (uint32_t d = 0; d < last; ++d) {
    if (d == turned) continue;
    batches *= m.shape[d];
    part.shape[part.ndim] = static_cast<uint32_t>(m.shape[d]);
    part.strides[0][part.ndim] = m.to[d];
    part.strides[1][part.ndim++] = m.from[d];
  }
  const int64_t down = (m.shape[turned] + kTile - 1) / kTile,
                across = (m.shape[last] + kTile - 1) / kTile;
  if (batches > INT32_MAX || down * across > INT32_MAX) return false;
  const Turned shape{static_cast<uint32_t>(batches),
                     static_cast<uint32_t>(m.shape[turned]),
                     static_cast<uint32_t>(m.shape[last]),
                     Divider(static_cast<uint32_t>(across)),
                     m.to[turned],
                     m.from[last]};
  const Grid grid{{static_cast<uint32_t>(down * across),
                   static_cast<uint32_t>(std::min<int64_t>(batches, 65535)), 1},
                  {kTile * kTileRows, 1, 1}};
  launch(call, grid, move_turned<U>, shape, Layout<2>(part), units<U>(*to.view, to.first),
         units<const U>(*from.view, from.first));
  return true;
}

template <class U>
void launch_strided(const tn_call& call, Move m, const Place& to, const Place& from,
                    uint32_t size) {
  const int64_t wide = static_cast<int64_t>(sizeof(U)) / size;
  const uint32_t last = m.ndim - 1;
  if (wide > 1) m.shape[last] /= wide;
  for (uint32_t d = 0; d < last; ++d) {
    m.to[d] /= wide;
    m.from[d] /= wide;
  }
  const int64_t* strides[] = {m.to, m.from};
  tn_loop loop{};
  loop.ndim = m.ndim;
  loop.shape = m.shape;
  loop.strides = strides;
  for_parts(loop, 2, [&](const LoopPart& part) {
    launch(call, grid_of(part.count), move_strided<U>, part.count, Layout<2>(part),
           units<U>(*to.view, to.first) + part.start[0],
           units<const U>(*from.view, from.first) + part.start[1]);
  });
}

void run_copy(const tn_call& call, uint32_t) {
  const tn_view &out = output(call), &x = input(call, arg::clone::x);
  const tn_loop& loop = *call.loop;
  const bool dense =
      loop.ndim == 0 || (loop.ndim == 1 && loop.strides[0][0] == 1 && loop.strides[1][0] == 1);
  if (size_of(out.dtype) <= 8 && (dense || (x.flags & TN_VIEW_SCALAR) != 0)) {
    with_type(Sizes{}, bits_of(out.dtype), [&](auto tag) {
      using T = typename decltype(tag)::type;
      run_elementwise<T, T>(call, Same{});
    });
    return;
  }
  Move move;
  for (uint32_t d = 0; d < loop.ndim; ++d)
    move.add(loop.shape[d], loop.strides[0][d], loop.strides[1][d]);
  move_elements(call, move, {&out}, {&x});
}

}  // namespace

void move_elements(const tn_call& call, const Move& move, const Place& to, const Place& from) {
  for (uint32_t d = 0; d < move.ndim; ++d)
    if (move.shape[d] == 0) return;
  Move m = move;
  merge(m);
  const uint32_t size = size_of(to.view->dtype);
  with_unit(common_unit(m, to, from, size), [&](auto tag) {
    using U = typename decltype(tag)::type;
    if (sizeof(U) != size || !launch_turned<U>(call, m, to, from))
      launch_strided<U>(call, m, to, from, size);
  });
}

void copy_dense(const tn_call& call, const tn_view& from, void* to) {
  Move move;
  int64_t strides[TN_MAX_DIMS], step = 1;
  for (uint32_t d = from.ndim; d-- > 0; step *= from.shape[d]) strides[d] = step;
  for (uint32_t d = 0; d < from.ndim; ++d) move.add(from.shape[d], strides[d], from.strides[d]);
  tn_view dense = from;
  dense.data = to;
  dense.strides = strides;
  move_elements(call, move, {&dense}, {&from});
}

void move_all(const tn_call& call, const tn_view& to, const tn_view& from) {
  if (to.data == from.data || numel(to) == 0) return;
  rt::copy_within(to.data, from.data, static_cast<uint64_t>(numel(to)) * size_of(to.dtype),
                  stream_of(call).handle());
}

void add_copy_kernels(KernelList& list) {
  for (const auto schema : {TN_SCHEMA_CLONE, TN_SCHEMA_CONTIGUOUS})
    list.add_elementwise(schema, kMovable, run_copy);
  for (const auto schema : {TN_SCHEMA_CLONE, TN_SCHEMA_CONTIGUOUS})
    list.add({.schema = schema,
              .dtypes = TN_MASK(TN_DTYPE_C128),
              .run = run_copy,
              .flags = TN_KERNEL_STRIDED});
}

}  // namespace tenon::gpu
