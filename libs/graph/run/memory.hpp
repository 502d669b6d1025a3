// What runs work in beside weights, inputs and results.
#pragma once

#include "plan/arena.hpp"

namespace tenon::graph {

// Serves one run at a time, of any instance: one program's instances for many sizes share one, which is as large as the largest needed.
class Memory {
 public:
  explicit Memory(const Device& device);

  // Makes room for an arena and for scratch memory of kernels. What was there before may lie elsewhere afterwards.
  void reserve(const Arena& arena, uint64_t scratch);
  // A flat tensor, at least as large as the arena's. It has been reserved.
  const Tensor& arena(DType dtype) const { return arenas_.at(dtype); }
  const Tensor& scratch() const { return scratch_; }
  // Another number after each move, and for each Memory; never 0.
  uint64_t place() const { return place_; }

 private:
  void grow(Tensor& tensor, int64_t size, DType dtype);

  Device device_;
  std::map<DType, Tensor> arenas_;
  Tensor scratch_;
  uint64_t place_;
};

}  // namespace tenon::graph
