// Angles and hyperbolic functions.
#include "math.hpp"

namespace tenon::gpu {
namespace {

#define TENON_GPU_ANGLE(Name, function)                    \
  template <class C>                                       \
  struct Name {                                            \
    GPU_FN C operator()(C x) const { return function(x); } \
  }

TENON_GPU_ANGLE(Sin, std::sin);
TENON_GPU_ANGLE(Cos, std::cos);
TENON_GPU_ANGLE(Tan, std::tan);
TENON_GPU_ANGLE(Asin, std::asin);
TENON_GPU_ANGLE(Acos, std::acos);
TENON_GPU_ANGLE(Atan, std::atan);
TENON_GPU_ANGLE(Sinh, std::sinh);
TENON_GPU_ANGLE(Cosh, std::cosh);
TENON_GPU_ANGLE(Tanh, std::tanh);
TENON_GPU_ANGLE(Asinh, std::asinh);
TENON_GPU_ANGLE(Acosh, std::acosh);
TENON_GPU_ANGLE(Atanh, std::atanh);

}  // namespace

void add_unary_trigonometry_kernels(KernelList& list) {
  add_math<Sin, 1>(list, TN_SCHEMA_SIN);
  add_math<Cos, 1>(list, TN_SCHEMA_COS);
  add_math<Tan, 1>(list, TN_SCHEMA_TAN);
  add_math<Asin, 1>(list, TN_SCHEMA_ASIN);
  add_math<Acos, 1>(list, TN_SCHEMA_ACOS);
  add_math<Atan, 1>(list, TN_SCHEMA_ATAN);
  add_math<Sinh, 1>(list, TN_SCHEMA_SINH);
  add_math<Cosh, 1>(list, TN_SCHEMA_COSH);
  add_math<Tanh, 1>(list, TN_SCHEMA_TANH);
  add_math<Asinh, 1>(list, TN_SCHEMA_ASINH);
  add_math<Acosh, 1>(list, TN_SCHEMA_ACOSH);
  add_math<Atanh, 1>(list, TN_SCHEMA_ATANH);
}

}  // namespace tenon::gpu
