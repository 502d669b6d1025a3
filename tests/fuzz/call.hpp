// A drawn call: data only, so that the process that starts the others can tell which call killed one.
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
  int64_t first = 0;            // the element of the buffer at index 0
  int64_t count = 0;            // elements of the buffer
  std::vector<Complex> values;  // row-major; if empty, drawn from [low, high]
  double low = -2, high = 4;
  uint64_t fill = 0;       // seed of the drawn elements
  bool at_end = true;      // the buffer ends at a forbidden page; otherwise it begins at one
  bool sealed = false;     // in memory that cannot be written to
  bool read_only = false;  // sealed, and Tenon knows it
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
  bool into = false;       // then once more, into given results in guarded memory
  bool huge = false;       // an operand has so many elements that walking over them takes too long
  uint64_t seed = 0;       // seed of what is drawn during the call
};

// The number of elements of a shape, as a double so that no size overflows.
double elements(const Shape& shape);
// Gives an operand of known shape strides and a buffer: dense, permuted, with gaps, flipped, repeated or overlapping.
void lay_out(Operand& operand, Rng& rng);
// Makes one to three parts of a call wrong, or changes a size everywhere it occurs.
void mutate(Call& call, const Signature& signature, Rng& rng);
// Numbers at the edges of an argument's range, and beyond.
int64_t odd_integer(Rng& rng);
double odd_real(Rng& rng);
Operand plain_operand(DType dtype, Shape shape);
DType any_dtype(Rng& rng);

// The call of this number; the same seed and signature give the same call.
Call draw_call(const Signature& signature, uint64_t seed, uint64_t number);
// "gather(f32(), -1, i64(3,)/0 sealed) recording"
std::string describe(const Signature& signature, const Call& call);

}  // namespace tenon::fuzz
