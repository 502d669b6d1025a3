// Decompositions: ops written in other ops, with the public C++ API.
#pragma once

#include "dispatch/frame.hpp"
#include "tenon/ops.hpp"
#include "tenon/tensor.hpp"

namespace tenon::core {

// A frame's arguments as types of the C++ API.
class CompositeArgs {
 public:
  explicit CompositeArgs(Frame& frame) : frame_(frame) {}
  bool has(uint32_t i) const { return frame_.has(i); }
  Tensor tensor(uint32_t i) const;    // a number becomes a rank-0 tensor; absent: undefined
  Operand operand(uint32_t i) const;  // a tensor or a number, as given; borrows
  std::vector<Tensor> tensors(uint32_t i) const;
  std::optional<int64_t> integer_or_none(uint32_t i) const {
    return has(i) ? std::optional(integer(i)) : std::nullopt;
  }
  OptionalInts ints_or_none(uint32_t i) const {
    return has(i) ? OptionalInts(ints(i)) : OptionalInts();
  }
  Frame& frame() const { return frame_; }
  int64_t integer(uint32_t i) const { return frame_.integer(i); }
  double real(uint32_t i) const { return frame_.real(i); }
  bool flag(uint32_t i) const { return frame_.flag(i); }
  std::string_view str(uint32_t i) const { return frame_.str(i); }
  std::span<const int64_t> ints(uint32_t i) const { return frame_.ints(i); }
  Generator generator(uint32_t i) const;

 private:
  Frame& frame_;
};

// Runs a body and moves its results into outs.
void run_composite(Frame& frame, tn_tensor** outs, void (*body)(const CompositeArgs&, Tensor*));

}  // namespace tenon::core
