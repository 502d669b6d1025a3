#include "print/number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tenon/dtype.hpp"

namespace tenon::core {
namespace {

// digits d1 d2 d3 … with value d1.d2d3… × 10^exponent.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

Decimal parse_scientific(std::string_view text) {
  Decimal out;
  const size_t e = text.find('e');
  for (char c : text.substr(0, e))
    if (c != '.') out.digits += c;
  out.exponent = std::atoi(text.data() + e + 1);
  while (out.digits.size() > 1 && out.digits.back() == '0') out.digits.pop_back();
  return out;
}

template <class Narrow>
Decimal shortest_narrow(double x) {
  const uint16_t bits = Narrow(static_cast<float>(x)).bits;
  char text[32];
  for (int precision = 0; precision < 8; ++precision) {
    std::snprintf(text, sizeof text, "%.*e", precision, x);
    if (Narrow(std::strtof(text, nullptr)).bits == bits) break;
  }
  return parse_scientific(text);
}

// The fewest digits that give the number back; `x` is finite and not negative.
Decimal shortest(Real x) {
  if (x.type == TN_DTYPE_F16) return shortest_narrow<F16>(x.value);
  if (x.type == TN_DTYPE_BF16) return shortest_narrow<BF16>(x.value);
  char text[40];
  const auto end =
      x.type == TN_DTYPE_F32
          ? std::to_chars(text, text + sizeof text - 1, static_cast<float>(x.value),
                          std::chars_format::scientific)
          : std::to_chars(text, text + sizeof text - 1, x.value, std::chars_format::scientific);
  *end.ptr = '\0';
  return parse_scientific(text);
}

std::string sign_of(double x, bool plus) { return std::signbit(x) ? "-" : plus ? "+" : ""; }

struct Parts {
  std::string whole, fraction, exponent;  // exponent with its sign, at least two digits
};

// At most `precision` digits behind the point, zeros trimmed.
Parts positional(Real x, bool plus, int precision) {
  const Decimal d = shortest({std::fabs(x.value), x.type});
  const int count = static_cast<int>(d.digits.size());
  Parts out;
  if (count - 1 - d.exponent > precision) {
    char text[400];
    std::snprintf(text, sizeof text, "%.*f", precision, std::fabs(x.value));
    const std::string_view rounded = text;
    const size_t point = rounded.find('.');
    out.whole = rounded.substr(0, point);
    if (point != std::string_view::npos) out.fraction = rounded.substr(point + 1);
  } else if (d.exponent < 0) {
    out.whole.assign(1, '0');
    out.fraction = std::string(static_cast<size_t>(-d.exponent - 1), '0') + d.digits;
  } else {
    const size_t whole = static_cast<size_t>(d.exponent) + 1;
    out.whole = d.digits.substr(0, whole);
    out.whole.append(whole - out.whole.size(), '0');
    if (d.digits.size() > whole) out.fraction = d.digits.substr(whole);
  }
  while (!out.fraction.empty() && out.fraction.back() == '0') out.fraction.pop_back();
  out.whole = sign_of(x.value, plus) + out.whole;
  return out;
}

Parts scientific(Real x, bool plus, int precision) {
  Decimal d = shortest({std::fabs(x.value), x.type});
  if (static_cast<int>(d.digits.size()) - 1 > precision) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", precision, std::fabs(x.value));
    d = parse_scientific(text);
  }
  char exponent[16];
  std::snprintf(exponent, sizeof exponent, "%+03d", d.exponent);
  return {sign_of(x.value, plus) + d.digits.substr(0, 1), d.digits.substr(1), exponent};
}

std::string not_finite(double x, bool plus) {
  if (std::isnan(x)) return plus ? "+nan" : "nan";
  return sign_of(x, plus) + "inf";
}

// NumPy decides in the array's own type: 0.0001 and ratios rounded to it, and as many digits
// as it holds.
double rounded(double x, tn_dtype type) {
  if (type == TN_DTYPE_F16) return F16(static_cast<float>(x));
  if (type == TN_DTYPE_BF16) return BF16(static_cast<float>(x));
  return type == TN_DTYPE_F32 ? static_cast<double>(static_cast<float>(x)) : x;
}
double most_of(tn_dtype type) {
  return type == TN_DTYPE_F64 ? 1e8 : type == TN_DTYPE_F32 ? 1e6 : type == TN_DTYPE_F16 ? 1e3 : 1e2;
}

int length(const std::string& text) { return static_cast<int>(text.size()); }
std::string spaces(int n) { return std::string(static_cast<size_t>(std::max(n, 0)), ' '); }

}  // namespace

RealFormat::RealFormat(const std::vector<Real>& numbers, bool plus) : plus_(plus) {
  std::vector<Real> finite;
  double low = HUGE_VAL, high = 0;
  bool negative_infinity = plus;
  for (const Real& x : numbers) {
    negative_infinity |= std::isinf(x.value) && x.value < 0;
    if (!std::isfinite(x.value)) continue;
    finite.push_back(x);
    const double magnitude = std::fabs(x.value);
    if (magnitude == 0) continue;
    low = std::min(low, magnitude);
    high = std::max(high, magnitude);
  }
  const tn_dtype type = finite.empty() ? TN_DTYPE_F64 : finite[0].type;
  scientific_ = high != 0 && (high >= most_of(type) || low < rounded(0.0001, type) ||
                              rounded(high / low, type) > 1000);
  if (!finite.empty()) scientific_ ? fit_scientific(finite) : fit_positional(finite);
  if (finite.size() != numbers.size()) {
    const int offset = pad_right_ + 1;
    pad_left_ = std::max({pad_left_, 3 - offset, 3 + negative_infinity - offset});
  }
}

void RealFormat::fit_scientific(const std::vector<Real>& finite) {
  int fraction = 0, exponent = 0;
  for (const Real& x : finite) {
    const Parts parts = scientific(x, plus_, 8);
    pad_left_ = std::max(pad_left_, length(parts.whole));
    fraction = std::max(fraction, length(parts.fraction));
    exponent = std::max(exponent, length(parts.exponent) - 1);
  }
  precision_ = fraction;
  exponent_digits_ = exponent;
  pad_right_ = exponent + 2 + fraction;
}

void RealFormat::fit_positional(const std::vector<Real>& finite) {
  for (const Real& x : finite) {
    const Parts parts = positional(x, plus_, 8);
    pad_left_ = std::max(pad_left_, length(parts.whole));
    pad_right_ = std::max(pad_right_, length(parts.fraction));
  }
}

std::string RealFormat::operator()(Real x) const {
  if (!std::isfinite(x.value)) {
    const std::string text = not_finite(x.value, plus_);
    return spaces(pad_left_ + pad_right_ + 1 - length(text)) + text;
  }
  if (!scientific_) {
    const Parts parts = positional(x, plus_, precision_);
    return spaces(pad_left_ - length(parts.whole)) + parts.whole + '.' + parts.fraction +
           spaces(pad_right_ - length(parts.fraction));
  }
  // All get as many digits as the longest needs, of their exact value.
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", precision_, std::fabs(x.value));
  Parts parts = scientific(x, plus_, precision_);
  parts.whole = sign_of(x.value, plus_) + text[0];
  parts.fraction = precision_ > 0 ? std::string(text + 2, static_cast<size_t>(precision_)) : "";
  const int missing = exponent_digits_ + 1 - length(parts.exponent);
  parts.exponent.insert(1, static_cast<size_t>(std::max(missing, 0)), '0');
  return spaces(pad_left_ - length(parts.whole)) + parts.whole + '.' + parts.fraction + 'e' +
         parts.exponent;
}

std::string format_alone(Real x, bool plus) {
  if (!std::isfinite(x.value)) return not_finite(x.value, plus);
  const double magnitude = std::fabs(x.value);
  if (magnitude == 0 ||
      (magnitude >= 1e-4 && magnitude < (x.type == TN_DTYPE_F64 ? 1e16 : most_of(x.type)))) {
    const Parts parts = positional(x, plus, 400);
    return parts.whole + '.' + (parts.fraction.empty() ? "0" : parts.fraction);
  }
  const Parts parts = scientific(x, plus, 400);
  return parts.whole + (parts.fraction.empty() ? "" : "." + parts.fraction) + 'e' + parts.exponent;
}

std::string format_alone(Real real, Real imag) {
  // NumPy leaves out a fraction of zero here, and a real part of +0.
  const auto part = [](Real x, bool plus) {
    std::string text = format_alone(x, plus);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  };
  if (real.value == 0 && !std::signbit(real.value)) return part(imag, false) + 'j';
  return '(' + part(real, false) + part(imag, true) + "j)";
}

}  // namespace tenon::core
