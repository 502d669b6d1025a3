// LAPACK, opened when first needed, so that its 25 MB cost nothing to programs that factor no matrix.
#pragma once

#include <complex>
#include <cstdint>

// The header declares every routine. Only its types are used, so nothing is linked.
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#define LAPACK_GLOBAL(lcname, UCNAME) scipy_##lcname##_
#include <lapack.h>

#include "../common/parallel.hpp"

namespace tenon::linalg {

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

template <class T>
T conj(T x) {
  if constexpr (is_complex<T>)
    return std::conj(x);
  else
    return x;
}

// The routines of one element type, as LAPACK names them without the letter of the type.
template <class T>
struct Routines;

// X(routine, its name without the type's letter): orthogonal and symmetric routines have other names for complex numbers.
#define TN_LAPACK_REAL(X, s) \
  X(potrf, s##potrf)         \
  X(getrf, s##getrf)         \
  X(getri, s##getri)         \
  X(getrs, s##getrs)         \
  X(trtrs, s##trtrs)         \
  X(geqrf, s##geqrf) X(gesdd, s##gesdd) X(make_q, s##orgqr) X(heevd, s##syevd) X(geevx, s##geevx)
#define TN_LAPACK_COMPLEX(X, s) \
  X(potrf, s##potrf)            \
  X(getrf, s##getrf)            \
  X(getri, s##getri)            \
  X(getrs, s##getrs)            \
  X(trtrs, s##trtrs)            \
  X(geqrf, s##geqrf) X(gesdd, s##gesdd) X(make_q, s##ungqr) X(heevd, s##heevd) X(geevx, s##geevx)
#define TN_LAPACK_FIELD(routine, name) decltype(&scipy_##name##_) routine;
template <>
struct Routines<float> {
  TN_LAPACK_REAL(TN_LAPACK_FIELD, s)
};
template <>
struct Routines<double> {
  TN_LAPACK_REAL(TN_LAPACK_FIELD, d)
};
template <>
struct Routines<std::complex<float>> {
  TN_LAPACK_COMPLEX(TN_LAPACK_FIELD, c)
};
template <>
struct Routines<std::complex<double>> {
  TN_LAPACK_COMPLEX(TN_LAPACK_FIELD, z)
};
#undef TN_LAPACK_FIELD

// Opens the library at the first call. Throws Error(TN_UNIMPLEMENTED) if it is missing.
template <class T>
const Routines<T>& lapack();

// A thread inside LAPACK. Throws Error(TN_OUT_OF_MEMORY) where there is no memory for one more than ever before.
class Caller {
 public:
  Caller();
  ~Caller();
  Caller(const Caller&) = delete;
};

// While it lives, LAPACK may use all threads for one large matrix of n rows; otherwise one, because batches are divided among the plugin's
// threads.
class WholeMachine {
 public:
  WholeMachine(int64_t matrices, int64_t n);
  ~WholeMachine();

 private:
  host::Team team_;
};

}  // namespace tenon::linalg
