// What an index brings to places of a result: element by element, or, where it was expanded from one column, whole rows.
#pragma once

#include <array>
#include <bit>
#include <span>
#include <vector>

#include "index_loop.hpp"

namespace tenon::cpu {

// What comes to places of the result.
struct Incoming {
  const tn_view &index, &src, &out;
  int64_t dim;
  bool rows;  // whole rows go to one place each

  Incoming(const tn_view& to, const tn_view& from, const tn_view& places, int64_t d)
      : index(places), src(from), out(to), dim(d), rows(has_rows()) {}

  // Each element of src into its place of `to`, which lies as the result does; f32 if that has halves. Rows are not asked whether their
  // indices are `good`.
  template <Combine kHow, class T, class To, class Good = AllGood>
  void combine(To* to, const Good& good = {}) const {
    if (!rows)
      return each<T>(
          to, [](To& a, const T& b) { a = combined<kHow>(a, static_cast<To>(b)); }, good);
    const T* const from = data_of<const T>(src);
    each_list([&](const Around& a, int64_t o, std::span<const int64_t> at) {
      const auto count = static_cast<int64_t>(at.size());
      combine_rows(kHow, out.dtype, to + o * a.size * a.inner, a.size, from + o * count * a.inner,
                   at.data(), count, a.inner);
    });
  }

  // `value` into every place that something comes to.
  template <class To>
  void fill(To* to, To value) const {
    using Bytes = std::array<char, sizeof(To)>;  // one loop for all dtypes of a size
    fill_bytes(reinterpret_cast<Bytes*>(to), std::bit_cast<Bytes>(value));
  }

  // How many come to each element, or to each row.
  std::vector<uint32_t> counts() const {
    const Around a = around(out, dim);
    std::vector<uint32_t> found(static_cast<size_t>(a.outer * a.size * (rows ? 1 : a.inner)));
    if (!rows) {
      each_place(found.data(), [](uint32_t& n) { ++n; });
    } else {
      each_list([&](const Around&, int64_t o, std::span<const int64_t> at) {
        for (const int64_t i : at) ++found[static_cast<size_t>(o * a.size + i)];
      });
    }
    return found;
  }

 private:
  template <class Bytes>
  void fill_bytes(Bytes* to, Bytes value) const {
    if (!rows) return each_place(to, [value](Bytes& a) { a = value; });
    each_list([&](const Around& a, int64_t o, std::span<const int64_t> at) {
      std::vector<bool> filled(static_cast<size_t>(a.size));
      for (const int64_t i : at) {
        if (filled[static_cast<size_t>(i)]) continue;
        filled[static_cast<size_t>(i)] = true;
        std::fill_n(to + (o * a.size + i) * a.inner, a.inner, value);
      }
    });
  }

  // The index is the same along the inner dimensions, and reaches all of src, and of the result in others than dim.
  bool has_rows() const {
    if ((src.flags & TN_VIEW_CONTIGUOUS) == 0 || index.ndim != out.ndim || src.ndim != out.ndim ||
        around(out, dim).inner == 1)
      return false;
    for (uint32_t d = 0; d < index.ndim; ++d) {
      if (src.shape[d] != index.shape[d]) return false;
      if (d != dim && index.shape[d] != out.shape[d]) return false;
      if (d > dim && index.strides[d] != 0 && index.shape[d] != 1) return false;
    }
    return true;
  }
  // f(element of `to`, element of src) for every index.
  template <class T, class To, class F, class Good = AllGood>
  void each(To* to, F&& f, const Good& good = {}) const {
    if (numel(index) == 0) return;
    IndexLoop plan(out, index, src, dim, kZeros);
    Operands<3> operands = operands_for(out, index, src, sizeof(T));
    operands.data[0] = reinterpret_cast<char*>(to);
    operands.size[0] = sizeof(To);
    for_each_index<To, T>(plan, operands, f, good);
  }
  // f(element of `to`) for every index, whatever src holds.
  template <class To, class F>
  void each_place(To* to, F&& f) const {
    each<char>(to, [&f](To& a, const char&) { f(a); });
  }
  // f(extents of the result, o, places along dim) for each entry o of the outer dimensions.
  template <class F>
  void each_list(F&& f) const {
    if (numel(index) == 0) return;
    const auto count = static_cast<size_t>(index.shape[dim]);
    const Around a = around(out, dim);
    const int64_t outer = a.outer, step = index.strides[dim];
    std::vector<int64_t> copy(step == 1 ? 0 : count);
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t* from = data_of<const int64_t>(index);
      int64_t rest = o;
      for (int64_t d = dim; d-- > 0; rest /= index.shape[d])
        from += rest % index.shape[d] * index.strides[d];
      for (size_t j = 0; j < copy.size(); ++j) copy[j] = from[static_cast<int64_t>(j) * step];
      f(a, o, std::span(step == 1 ? from : copy.data(), count));
    }
  }
};

}  // namespace tenon::cpu
