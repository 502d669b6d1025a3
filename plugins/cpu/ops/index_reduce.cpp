// scatter_add, scatter_reduce. An index that was expanded from one column moves whole rows. Halves are combined in f32.
#include <limits>

#include "ops/index_incoming.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// Rounded down, of integers.
template <class T>
T mean_of(T sum, uint32_t count) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    const int64_t whole = sum / int64_t{count};
    return static_cast<T>(whole - (sum % int64_t{count} < 0));
  } else {
    return static_cast<T>(sum / static_cast<T>(count));
  }
}

// What places begin with that do not count themselves.
template <class T>
T start_of(std::string_view reduce) {
  using Limits = std::numeric_limits<T>;
  if (reduce == "prod") return T(1);
  if (reduce == "amax") return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (reduce == "amin") return Limits::has_infinity ? Limits::infinity() : Limits::max();
  return T(0);
}

template <class T>
void divide(T* to, int64_t n, const std::vector<uint32_t>& counts, bool include_self) {
  const auto rows = static_cast<int64_t>(counts.size());
  const int64_t width = n / std::max<int64_t>(1, rows);
  parallel_for(rows, std::max<int64_t>(1, kGrainMath / std::max<int64_t>(1, width)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   const uint32_t many = counts[static_cast<size_t>(r)] + include_self;
                   if (many < 2) continue;
                   for (int64_t i = r * width; i < (r + 1) * width; ++i)
                     to[i] = mean_of(to[i], many);
                 }
               });
}

template <class T, class To>
void combine(const Incoming& in, To* to, std::string_view reduce, bool include_self) {
  if (!include_self) in.fill(to, start_of<To>(reduce));
  if (reduce == "prod") return in.combine<Combine::kMultiply, T>(to);
  if constexpr (!is_complex_v<To>) {
    if (reduce == "amax") return in.combine<Combine::kGreater, T>(to);
    if (reduce == "amin") return in.combine<Combine::kSmaller, T>(to);
  }
  in.combine<Combine::kAdd, T>(to);
  if constexpr (!std::is_same_v<To, bool>)
    if (reduce == "mean") divide(to, numel(in.out), in.counts(), include_self);
}

// body(Tag<T>, where the result is computed), of `out`, which starts as x.
template <class Body>
void with_result(const tn_view& x, const tn_view& out, Body&& body) {
  start_as(x, out);
  with_wide(out.dtype, out.data, numel(out), [&](void* to) {
    visit_dtype<TN_MASK_ALL>(out.dtype, [&]<class T>(Tag<T> tag) {
      body(tag, static_cast<std::conditional_t<is_half_v<T>, float, T>*>(to));
    });
  });
}

void scatter_add(const tn_call& call) {
  using arg = tenon::arg::scatter_add;
  const int64_t dim = call.args[arg::dim].as.i;
  const Incoming in(output(call), input(call, arg::src), input(call, arg::index), dim);
  const tn_view& x = input(call, arg::x);
  // In place nothing may be written before all indices are known to be right; of rows they are few.
  const int64_t size = in.out.shape[dim];
  if (in.rows || x.data == in.out.data) check_indices("scatter_add", in.index, dim, size, false);
  std::atomic<bool> bad = false;
  with_result(x, in.out, [&]<class T, class To>(Tag<T>, To* to) {
    in.combine<Combine::kAdd, T>(to, InRange{static_cast<uint64_t>(size), bad});
  });
  if (bad) check_indices("scatter_add", in.index, dim, size, false);
}

void scatter_reduce(const tn_call& call) {
  using arg = tenon::arg::scatter_reduce;
  const int64_t dim = call.args[arg::dim].as.i;
  const Incoming in(output(call), input(call, arg::src), input(call, arg::index), dim);
  check_indices("scatter_reduce", in.index, dim, in.out.shape[dim], false);
  with_result(input(call, arg::x), in.out, [&]<class T, class To>(Tag<T>, To* to) {
    combine<T>(in, to, text_arg(call, arg::reduce), call.args[arg::include_self].as.i != 0);
  });
}

// The index may lie as it likes: it is large where it was expanded.
template <class arg>
bool is_dense(const tn_call& call) {
  return (input(call, arg::x).flags & input(call, arg::src).flags & output(call).flags &
          TN_VIEW_CONTIGUOUS) != 0;
}

template <class arg>
void add_of(KernelList& list, KernelSpec spec) {
  list.add(spec);
  spec.flags = TN_KERNEL_STRIDED;
  spec.priority = 1;
  spec.supports = supports_of<is_dense<arg>>;
  list.add(spec);
}

}  // namespace

void add_index_reduce_kernels(KernelList& list) {
  add_of<arg::scatter_add>(
      list, {.schema = TN_SCHEMA_SCATTER_ADD, .dtypes = TN_MASK_ALL, .run = run_of<scatter_add>});
  add_of<arg::scatter_reduce>(
      list,
      {.schema = TN_SCHEMA_SCATTER_REDUCE, .dtypes = TN_MASK_ALL, .run = run_of<scatter_reduce>});
}

}  // namespace tenon::cpu
