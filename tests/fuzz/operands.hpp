// Tensors in guarded memory.
#pragma once

#include <memory>
#include <vector>

#include "call.hpp"
#include "guarded.hpp"

namespace tenon::fuzz {

// An owned reference.
struct ReleaseTensor {
  void operator()(tn_tensor* tensor) const { tn_tensor_release(tensor); }
};
using Held = std::unique_ptr<tn_tensor, ReleaseTensor>;

// The operands of one call: made, and looked at when it is over.
class Operands {
 public:
  // NULL where Tenon refuses to make such a tensor.
  tn_tensor* make(const Operand& operand);
  // A result's place like `result`, laid out anew.
  tn_tensor* make_place(const tn_tensor* result, Rng& rng);
  bool intact() const;
  // Those that require a gradient.
  std::vector<tn_tensor*> leaves() const;

 private:
  std::vector<std::unique_ptr<Guarded>> memory_;  // outlives the tensors over it
  std::vector<Held> tensors_;
};

}  // namespace tenon::fuzz
