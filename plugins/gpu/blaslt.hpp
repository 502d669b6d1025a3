// What cuBLASLt and its counterpart at AMD share: one interface under two prefixes. "blaslt_api.hpp" lies in the vendor's folder and says
//   BLASLT(name)        how the vendor spells a type: MatmulDesc_t
//   BLASLT_VALUE(name)  a constant of the library: EPILOGUE_BIAS
//   BLAS_VALUE(name)    a constant of its elder sister: OP_T
//   BLASLT_CALL(name)   and how a function is called
// and, in the namespace blaslt, what they do not have alike.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "blas_product.hpp"
#include "blaslt_api.hpp"

namespace tenon::gpu::blaslt {

// Descriptors with an owner.
#define TENON_BLASLT_OWNER(Name, Handle)                                                       \
  struct Name##Deleter {                                                                       \
    void operator()(BLASLT(Handle##_t) handle) const { BLASLT_CALL(Handle##Destroy)(handle); } \
  };                                                                                           \
  using Name = std::unique_ptr<std::remove_pointer_t<BLASLT(Handle##_t)>, Name##Deleter>

TENON_BLASLT_OWNER(Description, MatmulDesc);
TENON_BLASLT_OWNER(MatrixLayout, MatrixLayout);
TENON_BLASLT_OWNER(Preference, MatmulPreference);
#undef TENON_BLASLT_OWNER

template <class T>
void set(const Description& description, BLASLT(MatmulDescAttributes_t) which, const T& value) {
  check(BLASLT_CALL(MatmulDescSetAttribute)(description.get(), which, &value, sizeof value),
        "describing a product");
}
template <class T>
void set(const MatrixLayout& layout, BLASLT(MatrixLayoutAttribute_t) which, const T& value) {
  check(BLASLT_CALL(MatrixLayoutSetAttribute)(layout.get(), which, &value, sizeof value),
        "describing a matrix");
}
template <class T>
void set(const Preference& preference, BLASLT(MatmulPreferenceAttributes_t) which, const T& value) {
  check(BLASLT_CALL(MatmulPreferenceSetAttribute)(preference.get(), which, &value, sizeof value),
        "describing what an algorithm may use");
}

// The library's A is our Bᵀ: a and b are given in its order.
Description make_description(const Types& types, const BlasSide& a, const BlasSide& b);
MatrixLayout make_layout(DataType element, int64_t rows, int64_t columns, int64_t pitch,
                         int64_t copies, int64_t step);
MatrixLayout make_layout(DataType element, const BlasSide& side, int64_t along, int64_t across,
                         int64_t copies, int64_t step);

// The heuristic's choices for addresses that are multiples of `alignment` bytes, the best first; `most` of them.
// Throws TN_UNIMPLEMENTED if it has none.
using Heuristic = BLASLT(MatmulHeuristicResult_t);
std::vector<Heuristic> choose(const tn_call& call, const Description& description,
                              const MatrixLayout& a, const MatrixLayout& b, const MatrixLayout& c,
                              uint32_t alignment, int most);

// What a BlasVendor takes and prepares: matmul, and linear with bias and activations.
bool takes_bias(const BlasProduct& product);
std::unique_ptr<BlasPlan> prepare(const tn_call& call, const BlasProduct& product);

}  // namespace tenon::gpu::blaslt
