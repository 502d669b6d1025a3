// What layer_norm, rms_norm and their backwards share: row parameters in registers, and reading their calls.
#pragma once

#include "../common/norm_call.hpp"
#include "norms.hpp"
#include "row_kernels.hpp"

namespace tenon::gpu {

// The parameter of element i in a row: `inner` neighbouring elements share one, the first is number `first`.
template <class T>
struct Parameter {
  Ptr<const Compute<T>> at;
  Ptr<const T> low;  // instead, of x's half type
  Divider inner;
  bool even;  // the parameters of a vector of elements are aligned as one
};

// The parameters of a thread's elements; `otherwise` if there are none.
template <uint32_t kVectors, class T>
GPU_DEVICE void load_parameters(const RowShape& shape, const Parameter<T>& from, int64_t first,
                                Compute<T> otherwise, Compute<T>* v) {
  using C = Compute<T>;
  constexpr uint32_t kN = kRowVector<T>, kHere = 16 / sizeof(C);
  GPU_UNROLL
  for (uint32_t j = 0; j < kVectors; ++j) {
    const uint32_t place = row_place<T>(shape, j, 0);
    if (from.low != nullptr && from.even && place < shape.n) {
      const Vec<T, kN> some = load_vec<kN>(from.low + (first + place));
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; ++k) v[j * kN + k] = widen<T>(some.at[k]);
    } else if (from.at != nullptr && from.even && place < shape.n) {
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; k += kHere) {
        const Vec<C, kHere> some = load_vec<kHere>(from.at + (first + place + k));
        GPU_UNROLL
        for (uint32_t i = 0; i < kHere; ++i) v[j * kN + k + i] = some.at[i];
      }
    } else {
      GPU_UNROLL
      for (uint32_t k = 0; k < kN; ++k) {
        v[j * kN + k] = otherwise;
        if (place + k >= shape.n) continue;
        const int64_t which = first + from.inner.divide(place + k);
        if (from.at != nullptr) v[j * kN + k] = from.at[which];
        if (from.low != nullptr) v[j * kN + k] = load<T>(from.low, which);
      }
    }
  }
}

template <class T>
Parameter<T> parameter(const tn_view* view, const RowShape& shape, int64_t inner, int64_t width) {
  using C = Compute<T>;
  const bool low = view != nullptr && view->dtype != kDtype<C>,
             even = view != nullptr && inner == 1 && shape.even != 0 &&
                    width % kRowVector<T> == 0 && reinterpret_cast<uintptr_t>(view->data) % 16 == 0;
  return {low ? Ptr<const C>(nullptr) : in_or_null<C>(view),
          low ? in<T>(*view) : Ptr<const T>(nullptr),
          Divider(static_cast<uint32_t>(std::max<int64_t>(1, inner))), even};
}

// A call of one of them.
struct RowNormCall : RowNorm {
  uint32_t op;
  RowNormCall(const tn_call& call, uint32_t which) : RowNorm(call, which), op(which) {}

  // Whether a row fits into threads that hold `vectors` of it each.
  bool fits(uint32_t vectors) const {
    bool fit = false;
    with_type(Floats{}, x->dtype,
              [&](auto tag) { fit = rows_fit<typename decltype(tag)::type>(rows, n, vectors); });
    return fit;
  }
  bool centred() const { return is_centred(op); }
  FoldShape along_rows() const { return plan_fold({{rows, n}}, {{n, 1}}); }
  FoldShape along_columns() const { return plan_fold({{n, 1}}, {{rows, n}}); }
  Cycle statistics() const { return {n, rows}; }
  Cycle parameters() const { return {1, n}; }
};

}  // namespace tenon::gpu
