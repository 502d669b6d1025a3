// A call as it is drawn: data only, so that the process that starts others can tell which call killed one.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sample.hpp"
#include "signature.hpp"

namespace tenon::fuzz {

using conformance::Complex;
using conformance::Rng;
using conformance::Shape;

// A tensor to be made in guarded memory.
struct Operand {
  DType dtype = DType::F32;
  Shape shape, strides;
  int64_t first = 0;            // element of the buffer that index 0 is
  int64_t count = 0;            // elements of the buffer
  std::vector<Complex> values;  // row-major; where there are none they are drawn from [low, high]
  double low = -2, high = 4;
  uint64_t fill = 0;       // seed of what is drawn
  bool at_end = true;      // the buffer ends at a forbidden page; else it begins there
  bool sealed = false;     // in memory that cannot be written
  bool read_only = false;  // sealed, and Tenon is told so
  bool unaligned = false;
  bool requires_grad = false;
};

struct Nothing {};     // left out
struct HostDevice {};  // where the schema says device
struct SameAs {        // the very tensor that another argument is
  size_t arg;
};
using Value = std::variant<Nothing, Operand, std::vector<std::optional<Operand>>, int64_t, double,
                           bool, std::string, Shape, DType, Complex, HostDevice, SameAs>;

struct Call {
  std::vector<Value> args;
  bool recording = false;  // float operands require a gradient, and backward runs
  bool twice = false;      // gradients of gradients
  bool into = false;       // then once more, into guarded results
  bool huge = false;       // an operand has so many elements that walking over them takes too long
  uint64_t seed = 0;       // of what is drawn while it runs
};

// Elements of a shape, as a double, which no sizes overflow.
double elements(const Shape& shape);
// Gives an operand whose shape is known strides and a buffer: dense, permuted, with gaps, flipped, repeated or overlapping.
void lay_out(Operand& operand, Rng& rng);
// Makes one to three things of a call wrong, or changes a size wherever it occurs.
void mutate(Call& call, const Signature& signature, Rng& rng);
// Numbers at the edges of what an argument may be, and beyond.
int64_t odd_integer(Rng& rng);
double odd_real(Rng& rng);
Operand plain_operand(DType dtype, Shape shape);
DType any_dtype(Rng& rng);

// The call of this number; the same for the same seed and the same signature.
Call draw_call(const Signature& signature, uint64_t seed, uint64_t number);
// "gather(f32(), -1, i64(3,)/0 sealed) recording"
std::string describe(const Signature& signature, const Call& call);

}  // namespace tenon::fuzz
