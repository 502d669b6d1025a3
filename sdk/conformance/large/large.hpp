// Problems at the sizes of real networks, at which backends call vendors' libraries. Every element is computed; those at positions drawn at
// random are compared with the definition in double precision.
#pragma once

#include <cmath>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "array.hpp"
#include "tenon/schemas.h"

namespace tenon::conformance::large {

// ---- How far a result may be from what it is in exact arithmetic ------------------------------------------------------------
//
// | what                                | bound                      | why                                                           |
// |-------------------------------------|----------------------------|---------------------------------------------------------------|
// | a result, once rounded              | u·|y|                      | u: the unit roundoff of its dtype                             |
// | a sum of n terms t                  | 4·√n·s·Σ|t|                | s: that of the sums (f32 for halves). Rounding errors of       |
// |                                     |                            | random sign: Higham and Mary 2019, theorem 3.1, with λ = 4    |
// | a factor that may be rounded before | u·|factor|                 | libraries store probabilities and score gradients in halves    |
// |   it is multiplied (attention)      |                            |                                                               |
// | exp of a score                      | (its error + 4·s)·p        | e^(x + δ) = e^x·(1 + δ); exp itself is right to some ulps     |
// | rsqrt, division, log                | 4·s, relative              | some ulps each                                                |

double unit_of(DType dtype);
double sum_unit_of(DType dtype);
inline double sum_error(DType dtype, double terms, double sizes) {
  return 4 * std::sqrt(terms) * sum_unit_of(dtype) * sizes;
}

// The value that an element must have, and the error that it may have before rounding.
struct Wanted {
  double value = 0, error = 0;
};

// ---- Operands ----------------------------------------------------------------------------------------------------------------

// A tensor on the device, and its elements as rounded to the dtype.
struct Numbers {
  Tensor tensor;
  Shape shape;
  std::vector<double> v;

  double operator[](int64_t i) const { return v[static_cast<size_t>(i)]; }
};

struct Setting {
  DType dtype;
  Device device;
  Rng rng;
  bool small;  // for software devices: the same problems, smaller

  Numbers draw(const Shape& shape, double low = -1, double high = 1);
  Tensor labels(const Shape& shape, int64_t classes, std::vector<int64_t>& drawn);
  // n, or a smaller number for a software device.
  int64_t size(int64_t n, int64_t otherwise) const { return small ? otherwise : n; }
};

std::vector<double> elements_of(const Tensor& tensor);

// Empty if the elements at about 100 positions equal wanted(position); positions count in row-major order.
std::string compare(Setting& s, const Tensor& got, const Shape& shape,
                    const std::function<Wanted(int64_t place)>& wanted);

// ---- Cases -------------------------------------------------------------------------------------------------------------------

struct Case {
  std::string op, label;
  uint64_t dtypes;
  std::function<std::string(Setting& setting)> run;  // returns what is wrong, or nothing
};
using Cases = std::deque<Case>;

void add_products(Cases& cases);
void add_convolutions(Cases& cases);
void add_attention(Cases& cases);
void add_rows(Cases& cases);  // softmax, norms, losses

}  // namespace tenon::conformance::large
