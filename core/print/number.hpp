// Numbers as NumPy writes them in arrays: one format for all elements of an array.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/dtype.h"

namespace tenon::core {

// A real number, with the type that decides its shortest digits (F16, BF16, F32 or F64).
struct Real {
  double value = 0;
  tn_dtype type = TN_DTYPE_F64;
};

// The common format of an array's floating-point numbers; precision 8, trailing zeros trimmed.
class RealFormat {
 public:
  // `plus`: positive numbers get a sign, as imaginary parts do.
  RealFormat(const std::vector<Real>& numbers, bool plus);
  std::string operator()(Real x) const;

 private:
  void fit_scientific(const std::vector<Real>& finite);
  void fit_positional(const std::vector<Real>& finite);

  bool plus_;
  bool scientific_ = false;
  int pad_left_ = 0, pad_right_ = 0;
  int precision_ = 8;
  int exponent_digits_ = 2;
};

// A number on its own, as NumPy's scalars print.
std::string format_alone(Real x, bool plus = false);
// (1+2j)
std::string format_alone(Real real, Real imag);

}  // namespace tenon::core
