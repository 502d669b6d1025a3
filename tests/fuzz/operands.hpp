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

// The operands of one call: made before it, inspected after it.
class Operands {
 public:
  // NULL if Tenon refuses to make such a tensor.
  tn_tensor* make(const Operand& operand);
  // A place for a result like `result`, in a new layout.
  tn_tensor* make_place(const tn_tensor* result, Rng& rng);
  bool intact() const;
  // The operands that require a gradient.
  std::vector<tn_tensor*> leaves() const;

 private:
  std::vector<std::unique_ptr<Guarded>> memory_;  // outlives the tensors over it
  std::vector<Held> tensors_;
};

}  // namespace tenon::fuzz
