// concat, slice_scatter, roll: moves stretches of elements.
#include <algorithm>

#include "layout.hpp"
#include "ops/move.hpp"

namespace tenon::gpu {
namespace {

constexpr uint32_t kMostPieces = 16;  // of a launch

// A dense tensor that fills part of each result row, in units.
template <class U>
struct Piece {
  Ptr<const U> from{};
  uint32_t count = 0;
  Divider width;
  int64_t first = 0;
};
template <class U>
struct Pieces {
  Piece<U> at[kMostPieces];
};

template <class U>
GPU_KERNEL join(Pieces<U> pieces, int64_t row, Ptr<U> out) {
  const Piece<U>& piece = pieces.at[block_index().y];
  for (uint32_t i = first_thread(); i < piece.count; i += thread_count()) {
    const uint32_t o = piece.width.divide(i);
    out[o * row + piece.first + (i - o * piece.width.divisor)] = piece.from[i];
  }
}

bool is_dense(const tn_view& x) {
  int64_t step = 1;
  for (uint32_t d = x.ndim; d-- > 0; step *= x.shape[d])
    if (x.shape[d] != 1 && x.strides[d] != step) return false;
  return true;
}

// Whether whole rows of all tensors can be joined with 32-bit counters, and with which unit.
struct Joined {
  int64_t outer = 1, inner = 1;
  bool fits = true;
  uint32_t unit = 1;
  Joined(const tn_call& call, int64_t dim) {
    const tn_view& out = output(call);
    for (uint32_t d = 0; d < out.ndim; ++d)
      if (d != dim) (d < dim ? outer : inner) *= out.shape[d];
    const uint64_t size = size_of(out.dtype);
    uint64_t bits = reinterpret_cast<uintptr_t>(out.data);
    for (uint32_t k = 0; k < call.args[arg::concat::xs].count; ++k) {
      const tn_view& x = *call.args[arg::concat::xs].as.views[k];
      fits = fits && is_dense(x) && numel(x) <= INT32_MAX;
      bits |=
          reinterpret_cast<uintptr_t>(x.data) | static_cast<uint64_t>(x.shape[dim] * inner) * size;
    }
    unit = unit_of(bits);
  }
};

template <class U>
void join_rows(const tn_call& call, const Joined& joined, int64_t dim) {
  const tn_view& out = output(call);
  const auto width_of = [&](const tn_view& x) {
    return x.shape[dim] * joined.inner * size_of(x.dtype) / static_cast<int64_t>(sizeof(U));
  };
  Pieces<U> pieces;
  uint32_t taken = 0, longest = 0;
  int64_t first = 0;
  const auto flush = [&] {
    if (taken == 0) return;
    Grid grid = grid_of(longest);
    grid.blocks.y = taken;
    launch(call, grid, join<U>, pieces, width_of(out), units<U>(out));
    taken = longest = 0;
  };
  for (uint32_t k = 0; k < call.args[arg::concat::xs].count; ++k) {
    const tn_view& x = *call.args[arg::concat::xs].as.views[k];
    if (numel(x) == 0) continue;
    Piece<U>& piece = pieces.at[taken++];
    const int64_t width = width_of(x);
    piece.from = units<const U>(x);
    piece.count = static_cast<uint32_t>(width * joined.outer);
    piece.width = Divider(static_cast<uint32_t>(width));
    piece.first = first;
    first += width;
    longest = std::max(longest, piece.count);
    if (taken == kMostPieces) flush();
  }
  flush();
}

void run_concat(const tn_call& call, uint32_t) {
  const tn_view& out = output(call);
  const int64_t dim = call.args[arg::concat::dim].as.i;
  if (numel(out) == 0) return;
  const Joined joined(call, dim);
  if (joined.fits)
    return with_unit(joined.unit,
                     [&](auto tag) { join_rows<typename decltype(tag)::type>(call, joined, dim); });
  int64_t first = 0;
  for (uint32_t k = 0; k < call.args[arg::concat::xs].count; ++k) {
    const tn_view& x = *call.args[arg::concat::xs].as.views[k];
    Move move;
    for (uint32_t d = 0; d < x.ndim; ++d) move.add(x.shape[d], out.strides[d], x.strides[d]);
    move_elements(call, move, {&out, first * out.strides[dim]}, {&x});
    first += x.shape[dim];
  }
}

// The core has already filled in the bounds.
void run_slice_scatter(const tn_call& call, uint32_t) {
  using arg = tenon::arg::slice_scatter;
  const tn_view &src = input(call, arg::src), &out = output(call);
  const int64_t dim = int_arg(call, arg::dim), start = int_arg(call, arg::start),
                step = int_arg(call, arg::step);
  move_all(call, out, input(call, arg::x));
  Move move;
  for (uint32_t d = 0; d < src.ndim; ++d)
    move.add(src.shape[d], out.strides[d] * (d == dim ? step : 1), src.strides[d]);
  move_elements(call, move, {&out, start * out.strides[dim]}, {&src});
}

// Each rolled dimension divides x in two, so 2^(rolled dimensions) stretches move.
void roll_from(const tn_call& call, uint32_t dim, const int64_t* shifts, Move& move, int64_t to,
               int64_t from) {
  while (dim < move.ndim && shifts[dim] == 0) ++dim;
  if (dim == move.ndim)
    return move_elements(call, move, {&output(call), to}, {&input(call, arg::roll::x), from});
  const int64_t size = move.shape[dim], shift = shifts[dim], stride = move.to[dim];
  move.shape[dim] = size - shift;
  roll_from(call, dim + 1, shifts, move, to + shift * stride, from);
  move.shape[dim] = shift;
  roll_from(call, dim + 1, shifts, move, to, from + (size - shift) * stride);
  move.shape[dim] = size;
}

// Without dims, rolls x as if it were flat.
void run_roll(const tn_call& call, uint32_t) {
  using arg = tenon::arg::roll;
  const tn_view& x = input(call, arg::x);
  const int64_t count = numel(x);
  if (count == 0) return;
  const auto wrapped = [](int64_t shift, int64_t size) { return (shift % size + size) % size; };
  Move move;
  int64_t shifts[TN_MAX_DIMS] = {};
  if (call.args[arg::dims].tag == TN_VALUE_NONE || x.ndim == 0) {
    move.add(count, 1, 1);
    shifts[0] = wrapped(call.args[arg::shifts].as.ints[0], count);
  } else {
    for (uint32_t d = 0; d < x.ndim; ++d) move.add(x.shape[d], x.strides[d], x.strides[d]);
    for (uint32_t k = 0; k < call.args[arg::dims].count; ++k) {
      const int64_t d = call.args[arg::dims].as.ints[k];
      shifts[d] =
          wrapped(shifts[d] + wrapped(call.args[arg::shifts].as.ints[k], x.shape[d]), x.shape[d]);
    }
  }
  roll_from(call, 0, shifts, move, 0, 0);
}

}  // namespace

void add_join_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_CONCAT,
            .dtypes = kMovableAll,
            .run = run_concat,
            .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_SLICE_SCATTER, .dtypes = kMovableAll, .run = run_slice_scatter});
  list.add({.schema = TN_SCHEMA_ROLL, .dtypes = kMovableAll, .run = run_roll});
}

}  // namespace tenon::gpu
