#include "combine.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "combine.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "indexing.hpp"
#include "lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {

template <Combine kHow, class D, class V>
HWY_INLINE V combined_lanes(D d, V a, V b) {
  if constexpr (kHow == Combine::kGreater)
    return max_nan(d, a, b);
  else if constexpr (kHow == Combine::kSmaller)
    return min_nan(d, a, b);
  else if constexpr (kHow == Combine::kMultiply)
    return hn::Mul(a, b);
  else
    return hn::Add(a, b);
}

template <Combine kHow, class To, class T>
HWY_INLINE void combine_row(To* a, const T* b, int64_t n) {
  if constexpr (is_complex_v<T> && kHow == Combine::kAdd) {
    using Part = typename T::value_type;
    combine_row<kHow>(reinterpret_cast<Part*>(a), reinterpret_cast<const Part*>(b), 2 * n);
  } else if constexpr (is_float_v<T> && HWY_TARGET != HWY_SCALAR) {
    const LaneTag<T> d;
    map_rows(a, b, a, static_cast<size_t>(n),
             [d](auto x, auto y) HWY_ATTR { return combined_lanes<kHow>(d, x, y); });
  } else {
    for (int64_t i = 0; i < n; ++i) a[i] = combined<kHow>(a[i], static_cast<To>(b[i]));
  }
}

template <Combine kHow, class T>
void combine_rows(const RowList& list) {
  using To = std::conditional_t<is_half_v<T>, float, T>;
  To* const to = static_cast<To*>(list.to) + list.first;
  const T* const from = static_cast<const T*>(list.from) + list.first;
  const int64_t n = list.last - list.first;
  const auto row_of = [&](int64_t k) { return list.order == nullptr ? k : list.order[k]; };
  const auto each = [&](auto&& combine) HWY_ATTR {
    for (int64_t k = 0; k < list.count; ++k) {
      if (n > 1 && k + kRowsAhead < list.count) {
        const int64_t next = row_of(k + kRowsAhead);
        prefetch_row(to + list.at[next] * list.width, n);
        if (list.order != nullptr) prefetch_row(from + next * list.width, n);
      }
      const int64_t j = row_of(k);
      if (list.at[j] >= 0) combine(to + list.at[j] * list.width, from + j * list.width);
    }
  };
  if (n == 1)
    each([](To* a, const T* b) HWY_ATTR { *a = combined<kHow>(*a, static_cast<To>(*b)); });
  else
    each([n](To* a, const T* b) HWY_ATTR { combine_row<kHow>(a, b, n); });
}

RowCombiner choose(Combine how, tn_dtype dtype) {
  return visit_dtype(dtype, [how]<class T>(Tag<T>) -> RowCombiner {
    if (how == Combine::kAdd) return combine_rows<Combine::kAdd, T>;
    if (how == Combine::kMultiply) return combine_rows<Combine::kMultiply, T>;
    if constexpr (is_complex_v<T>)
      return nullptr;
    else
      return how == Combine::kGreater ? combine_rows<Combine::kGreater, T>
                                      : combine_rows<Combine::kSmaller, T>;
  });
}

}  // namespace
}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(choose);
RowCombiner row_combiner(Combine how, tn_dtype dtype) {
  return HWY_DYNAMIC_DISPATCH(choose)(how, dtype);
}
}  // namespace tenon::cpu
#endif
