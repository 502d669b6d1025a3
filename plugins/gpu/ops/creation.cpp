// Creates tensors from numbers: full, arange, linspace, eye; and takes triangles of matrices.
#include <algorithm>

#include "../../common/number_bits.hpp"
#include "elementwise.hpp"
#include "fill.hpp"

namespace tenon::gpu {
namespace {

uint64_t bits_of_number(tn_dtype dtype, const tn_value& value) {
  if (dtype == TN_DTYPE_C64) {
    const bool whole = value.tag == TN_VALUE_FLOAT || value.tag == TN_VALUE_COMPLEX;
    tn_value real = value;
    if (value.tag == TN_VALUE_COMPLEX) {
      real.tag = TN_VALUE_FLOAT;
      real.as.f = value.as.floats[0];
    }
    const uint64_t imaginary =
        value.tag == TN_VALUE_COMPLEX ? number_bits(TN_DTYPE_F32, value.as.floats[1]) : 0;
    return (whole ? number_bits(TN_DTYPE_F32, real.as.f) : number_bits(TN_DTYPE_F32, real.as.i)) |
           imaginary << 32;
  }
  if (value.tag == TN_VALUE_COMPLEX) return number_bits(dtype, value.as.floats[0]);
  return value.tag == TN_VALUE_FLOAT ? number_bits(dtype, value.as.f)
                                     : number_bits(dtype, value.as.i);
}

// full_like has its value in the same position as full.
void run_full(const tn_call& call, uint32_t) {
  const tn_view& out = output(call);
  const uint64_t bits = bits_of_number(out.dtype, call.args[arg::full::value]);
  const uint32_t size = size_of(out.dtype);
  if (numel(out) > 0)
    fill(stream_of(call), out.data, static_cast<uint64_t>(numel(out)) * size, &bits, size);
}

// ---- Ranges -------------------------------------------------------------------------------------------------------------

// start + i step, computed independently, so that errors don't add up.
struct WholeRange {
  uint64_t start, step;
  GPU_FN int64_t at(int64_t i) const {
    return static_cast<int64_t>(start + static_cast<uint64_t>(i) * step);
  }
};
// From index `upper` on counts down from the end, so that the last number is exact.
struct RealRange {
  double start, step, end;
  int64_t upper, intervals;
  GPU_FN double at(int64_t i) const {
    return i < upper ? start + product(i) : end - product(intervals - i);
  }
  GPU_FN double product(int64_t i) const { return rounded_product(static_cast<double>(i), step); }
};

template <class T>
GPU_FN T ranged(int64_t value) {
  return narrow<T>(static_cast<Compute<T>>(value));
}
template <class T>
GPU_FN T ranged(double value) {
  if constexpr (kIsFloat<T>) {
    return narrow<T>(static_cast<Compute<T>>(value));
  } else {  // clamped to the range; NaN gives 0, as in cast
    constexpr double kEnd =
        2.0 * static_cast<double>(uint64_t{1} << (std::numeric_limits<T>::digits - 1));
    if (!(value > static_cast<double>(std::numeric_limits<T>::min())))
      return value == value ? std::numeric_limits<T>::min() : T(0);
    return value < kEnd ? static_cast<T>(value) : std::numeric_limits<T>::max();
  }
}

template <class T, class Range>
GPU_KERNEL fill_range(Range range, int64_t count, Ptr<T> out) {
  for (int64_t i = first_thread(); i < count; i += thread_count()) out[i] = ranged<T>(range.at(i));
}

template <class List, class Range>
void range(const tn_call& call, const Range& range) {
  const tn_view& to = output(call);
  with_type(List{}, to.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(numel(to)), fill_range<T, Range>, range, numel(to), out<T>(to));
  });
}

void run_arange(const tn_call& call, uint32_t) {
  using arg = tenon::arg::arange;
  if (call.args[arg::start].tag != TN_VALUE_FLOAT && call.args[arg::step].tag != TN_VALUE_FLOAT)
    return range<Reals>(call, WholeRange{static_cast<uint64_t>(call.args[arg::start].as.i),
                                         static_cast<uint64_t>(call.args[arg::step].as.i)});
  range<Reals>(call,
               RealRange{real_arg(call, arg::start), real_arg(call, arg::step), 0, INT64_MAX, 0});
}

// Computed from both ends towards the middle. Without the endpoint, only from the beginning.
void run_linspace(const tn_call& call, uint32_t) {
  using arg = tenon::arg::linspace;
  const double start = real_arg(call, arg::start), end = real_arg(call, arg::end);
  const int64_t n = numel(output(call)), intervals = call.args[arg::endpoint].as.i != 0 ? n - 1 : n;
  const double step = intervals > 0 ? (end - start) / static_cast<double>(intervals) : 0;
  const int64_t upper = intervals > 0 ? (intervals + 1) / 2 : INT64_MAX;
  range<Floats>(call, RealRange{start, step, end, upper, intervals});
}

// ---- Matrices -----------------------------------------------------------------------------------------------------------

enum class Kept : uint32_t { kDiagonal, kLower, kUpper };

// A block handles one row after another: keeps `one` or the input's elements on one side, 0 elsewhere.
template <class T>
GPU_KERNEL keep_part(Kept kept, int64_t all_rows, int64_t rows, int64_t columns, int64_t diagonal,
                     T one, Ptr<const T> in, Ptr<T> out) {
  for (int64_t row = block_index().y; row < all_rows; row += block_count().y) {
    const int64_t on = row % rows + diagonal;
    for (int64_t column = first_thread(); column < columns; column += thread_count()) {
      const int64_t i = row * columns + column;
      const bool keep = kept == Kept::kDiagonal ? column == on
                        : kept == Kept::kLower  ? column <= on
                                                : column >= on;
      out[i] = !keep ? T(0) : kept == Kept::kDiagonal ? one : static_cast<T>(in[i]);
    }
  }
}

void run_matrix(const tn_call& call, uint32_t code) {
  const tn_view& to = output(call);
  const int64_t rows = to.shape[to.ndim - 2], columns = to.shape[to.ndim - 1];
  if (numel(to) == 0) return;
  const int64_t diagonal =
      std::clamp(call.args[code == 0 ? arg::eye::k : arg::tril::k].as.i, -rows - 1, columns + 1);
  const int64_t all_rows = numel(to) / columns;
  tn_value number{};
  number.tag = TN_VALUE_INT;
  number.as.i = 1;
  const uint64_t one = bits_of_number(to.dtype, number);
  Grid grid = grid_of(columns, 1, columns > 128 ? 256 : 64);
  grid.blocks.y = static_cast<uint32_t>(std::min<int64_t>(all_rows, 65535));
  with_type(Sizes{}, bits_of(to.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid, keep_part<T>, static_cast<Kept>(code), all_rows, rows, columns, diagonal,
           static_cast<T>(one), in_or_null<T>(code == 0 ? nullptr : &input(call, arg::tril::x)),
           out<T>(to));
  });
}

}  // namespace

void add_creation_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_FULL, .dtypes = kMovable, .run = run_full});
  list.add({.schema = TN_SCHEMA_FULL_LIKE,
            .dtypes = kMovable,
            .run = run_full,
            .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_ARANGE, .dtypes = Reals::kMask, .run = run_arange});
  list.add({.schema = TN_SCHEMA_LINSPACE, .dtypes = Floats::kMask, .run = run_linspace});
  const auto add_matrix = [&](std::string_view schema, Kept kept) {
    list.add({.schema = schema,
              .dtypes = kMovable,
              .run = run_matrix,
              .code = static_cast<uint32_t>(kept)});
  };
  add_matrix(TN_SCHEMA_EYE, Kept::kDiagonal);
  add_matrix(TN_SCHEMA_TRIL, Kept::kLower);
  add_matrix(TN_SCHEMA_TRIU, Kept::kUpper);
}

}  // namespace tenon::gpu
