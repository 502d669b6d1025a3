// exp, log and their relations, error functions and roots.
#include "math.hpp"

#include "../../common/erfinv.hpp"
#include "../../common/gamma.hpp"

namespace tenon::gpu {
namespace {

#define TENON_GPU_MATH1(Name, expression)                 \
  template <class C>                                      \
  struct Name {                                           \
    GPU_FN C operator()(C x) const { return expression; } \
  }

TENON_GPU_MATH1(Exp, std::exp(x));
TENON_GPU_MATH1(Exp2, std::exp2(x));
TENON_GPU_MATH1(Expm1, std::expm1(x));
TENON_GPU_MATH1(Log, std::log(x));
TENON_GPU_MATH1(Log2, std::log2(x));
TENON_GPU_MATH1(Log10, std::log10(x));
TENON_GPU_MATH1(Log1p, std::log1p(x));
TENON_GPU_MATH1(Erf, std::erf(x));
TENON_GPU_MATH1(Erfc, std::erfc(x));
TENON_GPU_MATH1(Erfinv, erfinv(x));
TENON_GPU_MATH1(Lgamma, std::lgamma(x));
TENON_GPU_MATH1(Digamma, digamma(x));
TENON_GPU_MATH1(Sqrt, std::sqrt(x));
TENON_GPU_MATH1(Rsqrt, C(1) / std::sqrt(x));
TENON_GPU_MATH1(Reciprocal, C(1) / x);

}  // namespace

void add_unary_math_kernels(KernelList& list) {
  add_math<Exp, 1>(list, TN_SCHEMA_EXP);
  add_math<Exp2, 1>(list, TN_SCHEMA_EXP2);
  add_math<Expm1, 1>(list, TN_SCHEMA_EXPM1);
  add_math<Log, 1>(list, TN_SCHEMA_LOG);
  add_math<Log2, 1>(list, TN_SCHEMA_LOG2);
  add_math<Log10, 1>(list, TN_SCHEMA_LOG10);
  add_math<Log1p, 1>(list, TN_SCHEMA_LOG1P);
  add_math<Erf, 1>(list, TN_SCHEMA_ERF);
  add_math<Erfc, 1>(list, TN_SCHEMA_ERFC);
  add_math<Erfinv, 1>(list, TN_SCHEMA_ERFINV);
  add_math<Lgamma, 1>(list, TN_SCHEMA_LGAMMA);
  add_math<Digamma, 1>(list, TN_SCHEMA_DIGAMMA);
  add_math<Sqrt, 1>(list, TN_SCHEMA_SQRT);
  add_math<Rsqrt, 1>(list, TN_SCHEMA_RSQRT);
  add_math<Reciprocal, 1>(list, TN_SCHEMA_RECIPROCAL);
}

}  // namespace tenon::gpu
