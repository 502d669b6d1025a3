// Tensors from numbers: full, arange, linspace, eye, and triangles of matrices.
#include <cmath>
#include <cstring>
#include <limits>

#include "dispatch.hpp"
#include "fill.hpp"
#include "loops.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// A float as an integer: limited to the range, NaN gives 0, as cast has it.
template <class T>
T whole_number(double value) {
  constexpr double kEnd =
      2.0 * static_cast<double>(uint64_t{1} << (std::numeric_limits<T>::digits - 1));
  if (!(value > static_cast<double>(std::numeric_limits<T>::min())))
    return value == value ? std::numeric_limits<T>::min() : T{0};
  return value < kEnd ? static_cast<T>(value) : std::numeric_limits<T>::max();
}

// A number of any kind in the dtype of the output.
template <class T>
T number_as(const tn_value& value) {
  if (value.tag == TN_VALUE_COMPLEX) {
    if constexpr (is_complex_v<T>)
      return T(static_cast<typename T::value_type>(value.as.floats[0]),
               static_cast<typename T::value_type>(value.as.floats[1]));
    else
      return static_cast<T>(static_cast<Compute<T>>(value.as.floats[0]));
  }
  if constexpr (is_complex_v<T>) {
    using R = typename T::value_type;
    return T(value.tag == TN_VALUE_FLOAT ? static_cast<R>(value.as.f) : static_cast<R>(value.as.i));
  } else {
    using C = Compute<T>;
    if constexpr (is_int_v<T>) {
      if (value.tag == TN_VALUE_FLOAT) return whole_number<T>(value.as.f);
    }
    return static_cast<T>(value.tag == TN_VALUE_FLOAT ? static_cast<C>(value.as.f)
                                                      : static_cast<C>(value.as.i));
  }
}

template <class T>
void fill(T* out, int64_t n, T value) {
  parallel_for(n, kGrainCopy,
               [&](int64_t begin, int64_t end) { fill_range(out + begin, out + end, value); });
}

template <uint32_t ValueArg>
void full(const tn_call& call) {
  const tn_view& out = output(call);
  visit_dtype<kMovable>(out.dtype, [&]<class T>(Tag<T>) {
    const T value = number_as<T>(call.args[ValueArg]);
    visit_size(sizeof(T), [&]<class B>(Tag<B>) {
      B bits;
      std::memcpy(static_cast<void*>(&bits), &value, sizeof bits);
      fill(data_of<B>(out), numel(out), bits);
    });
  });
}

// start + i step, each by itself, so that errors don't add up: exact for integers, one rounding
// of f64 otherwise.
void arange(const tn_call& call) {
  using arg = tenon::arg::arange;
  const tn_view& out = output(call);
  const bool whole =
      call.args[arg::start].tag != TN_VALUE_FLOAT && call.args[arg::step].tag != TN_VALUE_FLOAT;
  visit_dtype<TN_MASK_REAL>(out.dtype, [&]<class T>(Tag<T>) {
    T* to = data_of<T>(out);
    if (whole) {
      const uint64_t start = static_cast<uint64_t>(call.args[arg::start].as.i),
                     step = static_cast<uint64_t>(call.args[arg::step].as.i);
      parallel_for(numel(out), kGrainMath, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t value = static_cast<int64_t>(start + static_cast<uint64_t>(i) * step);
          if constexpr (is_int_v<T>)
            to[i] = static_cast<T>(value);
          else
            to[i] = static_cast<T>(static_cast<Compute<T>>(value));
        }
      });
      return;
    }
    const double start = real_arg(call, arg::start), step = real_arg(call, arg::step);
    parallel_for(numel(out), kGrainMath, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double value = start + static_cast<double>(i) * step;
        if constexpr (is_int_v<T>)
          to[i] = whole_number<T>(value);
        else
          to[i] = static_cast<T>(static_cast<Compute<T>>(value));
      }
    });
  });
}

// From both ends towards the middle, so that the last number is exact. Without the endpoint: the same but for the last.
void linspace(const tn_call& call) {
  using arg = tenon::arg::linspace;
  const tn_view& out = output(call);
  const double start = real_arg(call, arg::start), end = real_arg(call, arg::end);
  const int64_t n = numel(out);
  const bool endpoint = call.args[arg::endpoint].as.i != 0;
  const int64_t intervals = endpoint ? n - 1 : n, points = intervals + 1;
  const double step = intervals > 0 ? (end - start) / static_cast<double>(intervals) : 0;
  visit_dtype<TN_MASK_FLOAT>(out.dtype, [&]<class T>(Tag<T>) {
    T* to = data_of<T>(out);
    parallel_for(n, kGrainMath, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const bool upper = points > 1 && i >= points / 2;
        const double value = upper ? end - static_cast<double>(intervals - i) * step
                                   : start + static_cast<double>(i) * step;
        to[i] = static_cast<T>(static_cast<Compute<T>>(value));
      }
    });
  });
}

void eye(const tn_call& call) {
  const tn_view& out = output(call);
  const int64_t rows = out.shape[0], columns = out.shape[1], k = call.args[arg::eye::k].as.i;
  const uint64_t row_bytes = static_cast<uint64_t>(columns) * size_of(out.dtype);
  visit_dtype<kMovable>(out.dtype, [&]<class T>(Tag<T>) {
    T* to = data_of<T>(out);
    parallel_for(rows, std::max<int64_t>(1, kGrainCopy / std::max<int64_t>(columns, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     std::memset(static_cast<void*>(to + i * columns), 0, row_bytes);
                     if (k > -rows - 1 && k < columns + 1 && i + k >= 0 && i + k < columns)
                       to[i * columns + i + k] = T(1);
                   }
                 });
  });
}

// Keeps what lies on and below (tril) or above (triu) diagonal k of each matrix.
template <bool Lower>
void triangle(const tn_call& call) {
  const tn_view& x = input(call, arg::tril::x);
  const tn_view& out = output(call);
  const int64_t rows = out.shape[out.ndim - 2], columns = out.shape[out.ndim - 1];
  const int64_t k = std::clamp(call.args[arg::tril::k].as.i, -rows - 1, columns + 1);
  const int64_t all_rows = columns == 0 ? 0 : numel(out) / columns;
  visit_size(size_of(out.dtype), [&]<class T>(Tag<T>) {
    const T* from = data_of<const T>(x);
    T* to = data_of<T>(out);
    parallel_for(
        all_rows, std::max<int64_t>(1, kGrainCopy / std::max<int64_t>(columns, 1)),
        [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            // Lower keeps columns [0, split), upper [split, columns).
            const int64_t split = std::clamp(r % rows + k + (Lower ? 1 : 0), int64_t{0}, columns);
            const int64_t first = Lower ? 0 : split, last = Lower ? split : columns;
            T* row = to + r * columns;
            std::memset(static_cast<void*>(row), 0, static_cast<size_t>(first) * sizeof(T));
            std::memcpy(static_cast<void*>(row + first), from + r * columns + first,
                        static_cast<size_t>(last - first) * sizeof(T));
            std::memset(static_cast<void*>(row + last), 0,
                        static_cast<size_t>(columns - last) * sizeof(T));
          }
        });
  });
}

}  // namespace

void add_creation_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_FULL, .dtypes = kMovable, .run = run_of<full<arg::full::value>>});
  list.add({.schema = TN_SCHEMA_FULL_LIKE,
            .dtypes = kMovable,
            .run = run_of<full<arg::full_like::value>>,
            .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_ARANGE, .dtypes = TN_MASK_REAL, .run = run_of<arange>});
  list.add({.schema = TN_SCHEMA_LINSPACE, .dtypes = TN_MASK_FLOAT, .run = run_of<linspace>});
  list.add({.schema = TN_SCHEMA_EYE, .dtypes = kMovable, .run = run_of<eye>});
  list.add({.schema = TN_SCHEMA_TRIL, .dtypes = kMovable, .run = run_of<triangle<true>>});
  list.add({.schema = TN_SCHEMA_TRIU, .dtypes = kMovable, .run = run_of<triangle<false>>});
}

}  // namespace tenon::cpu
