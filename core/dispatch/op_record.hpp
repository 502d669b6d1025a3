// The record of an op in ops/. The core reads the records once, into tn_op; the generator (tools/generate_ops.py) reads the same
// text for the C++ functions, the positions of arguments and the docs.
#pragma once

#include <span>

#include "dispatch/frame.hpp"

namespace tenon::core {

// Read by the generator only; not compiled into the library.
struct Text {
  constexpr Text() = default;
  consteval Text(const char*) {}
};

// Facts of every op that uses a shape rule.
struct RuleFacts {
  Text dtypes = {}, shapes = {};  // of arguments, and of results where they differ
  // The result has the broadcast shape of the operands: in place is safe.
  bool elementwise = false;
  Text numbers = {};     // tensor arguments that may be numbers: "x y", or "all"
  bool ordered = false;  // a reduction that counts positions: dimensions keep their order
  // Dtypes it leaves as they are: calls with these may take the short path.
  uint64_t unchanged = 0;
};

// Infers results and puts the operands into canonical form.
struct Rule : RuleFacts {
  RuleFn infer;
};

// One op. Exactly one of `rule` (then a kernel, or `decompose`), `view`, `run` and `decompose` alone says how it runs.
struct OpRecord {
  const char* schema;  // without name and revision: "(Tensor x, Tensor y) -> Tensor"
  Text gives = {}, example = {}, autocast = {};  // autocast: low, f32, f32 on GPUs, or widest
  Text dtypes = {}, shapes = {}, numbers = {};   // where there is no rule to say it
  Text linear = {};          // tensor arguments it is linear in: together "x src", in each "x, y"
  bool elementwise = false;  // where there is no rule to say it (for the generator)
  bool in_place = false;     // Tensor has a method NAME_ (for the generator)
  const Rule* rule = nullptr;
  const GradFormula* gradient = nullptr;
  bool through = false;             // the decomposition is differentiated
  DecomposeFn decompose = nullptr;  // for backends without a kernel
  ViewFn view = nullptr;            // metadata only, in the core
  DecomposeFn run = nullptr;        // in the core: decides about copies rather than computes
  // Kernels skip the copy of argument 0 when the result takes its place.
  bool updates_first = false;
  unsigned revision = 1;  // of the schema's meaning
};

struct NamedRecord {
  const char* name;
  const OpRecord* record;
};
// In the order of ops/meson.build.
extern const std::span<const NamedRecord> kRecords;

}  // namespace tenon::core
