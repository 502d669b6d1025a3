#include "sort_few.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sort_few.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// A key's rank is the number of keys below it and of equal ones before it, counted for a vector of keys at a time. The work grows with
// n² / lanes.
template <class K>
bool rank(const K* keys, size_t n, K* ranks) {
  const hn::ScalableTag<K> d;
  const size_t lanes = hn::Lanes(d);
  if (n > std::min(kMostFew, 8 * lanes)) return false;
  const auto one = hn::Set(d, 1), steps = hn::Iota(d, 0);
  for (size_t first = 0; first < n; first += lanes) {
    const size_t behind = std::min(n, first + lanes);
    const auto own = hn::LoadU(d, keys + first);
    auto count = hn::Set(d, static_cast<K>(first));
    for (size_t j = 0; j < first; ++j) {
      const auto above = hn::Gt(hn::Set(d, keys[j]), own);
      count = hn::IfThenElse(above, hn::Sub(count, one), count);
    }
    for (size_t j = first; j < behind; ++j) {
      const auto other = hn::Set(d, keys[j]);
      const auto earlier = hn::Gt(steps, hn::Set(d, static_cast<K>(j - first)));
      const auto precedes = hn::Or(hn::Lt(other, own), hn::And(hn::Eq(other, own), earlier));
      count = hn::IfThenElse(precedes, hn::Add(count, one), count);
    }
    for (size_t j = behind; j < n; ++j) {
      const auto below = hn::Lt(hn::Set(d, keys[j]), own);
      count = hn::IfThenElse(below, hn::Add(count, one), count);
    }
    hn::StoreU(count, d, ranks + first);
  }
  return true;
}

template <class K>
void rank_columns(const K* keys, size_t n, K* ranks) {
  const hn::CappedTag<K, kRowsOfFew> d;
  const auto one = hn::Set(d, 1);
  for (size_t row = 0; row < kRowsOfFew; row += hn::Lanes(d))
    for (size_t i = 0; i < n; ++i) {
      const auto key = [=](size_t j) HWY_ATTR { return hn::LoadU(d, keys + j * kRowsOfFew + row); };
      const auto own = key(i);
      auto count = hn::Set(d, static_cast<K>(i));
      for (size_t j = 0; j < i; ++j)
        count = hn::IfThenElse(hn::Gt(key(j), own), hn::Sub(count, one), count);
      for (size_t j = i + 1; j < n; ++j)
        count = hn::IfThenElse(hn::Lt(key(j), own), hn::Add(count, one), count);
      hn::StoreU(count, d, ranks + i * kRowsOfFew + row);
    }
}

}  // namespace

bool rank_32(const int32_t* keys, size_t n, int32_t* ranks) { return rank(keys, n, ranks); }
bool rank_64(const int64_t* keys, size_t n, int64_t* ranks) { return rank(keys, n, ranks); }
void rank_rows_32(const int32_t* keys, size_t n, int32_t* ranks) { rank_columns(keys, n, ranks); }
void rank_rows_64(const int64_t* keys, size_t n, int64_t* ranks) { rank_columns(keys, n, ranks); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
HWY_EXPORT(rank_32);
HWY_EXPORT(rank_64);
HWY_EXPORT(rank_rows_32);
HWY_EXPORT(rank_rows_64);

bool rank_few(const int32_t* keys, size_t n, int32_t* ranks) {
  return HWY_DYNAMIC_DISPATCH(rank_32)(keys, n, ranks);
}
bool rank_few(const int64_t* keys, size_t n, int64_t* ranks) {
  return HWY_DYNAMIC_DISPATCH(rank_64)(keys, n, ranks);
}
void rank_rows(const int32_t* keys, size_t n, int32_t* ranks) {
  HWY_DYNAMIC_DISPATCH(rank_rows_32)(keys, n, ranks);
}
void rank_rows(const int64_t* keys, size_t n, int64_t* ranks) {
  HWY_DYNAMIC_DISPATCH(rank_rows_64)(keys, n, ranks);
}

}  // namespace tenon::cpu
#endif
