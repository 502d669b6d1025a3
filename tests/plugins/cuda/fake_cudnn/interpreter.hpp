// Computes a graph of cuDNN's operations with plain loops in double precision. The meaning of operations and attributes is taken from
// cuDNN's documentation, "Graph API" and "cudnn_graph library".
#pragma once

#include <functional>
#include <span>

#include "descriptor.hpp"

namespace fake_cudnn {

using Index = std::vector<int64_t>;

struct Tensor {
  explicit Tensor(const Descriptor& d);

  int64_t uid;
  Index sizes, strides;
  cudnnDataType_t type;
  bool is_virtual, is_by_value;

  // The position of an element of a result of sizes `whole`; a smaller dimension repeats, or serves groups.
  int64_t place(const Index& at, const Index& whole) const;
  int64_t place(const Index& at) const { return place(at, sizes); }
  int64_t extent() const;   // the number of elements of its memory
  bool has_places() const;  // whether each element has a place of its own
};

// In row-major order.
void for_each(const Index& sizes, const std::function<void(const Index&)>& fn);

// Reads what it needs from the memory of each uid (from the host for tensors passed by value), and writes the results that are not virtual.
// Returns false for an operation that is not known here.
bool compute(const std::vector<Ref>& operations, const std::map<int64_t, void*>& memory);

// Whether all memory is aligned, except that of scalars passed by value, which is on the host.
bool is_aligned(const std::vector<Ref>& operations, const std::map<int64_t, void*>& memory,
                uintptr_t bytes);

// The number of filters of a convolution in the graph, or 0 if there is none.
int64_t filters_of(const std::vector<Ref>& operations);

}  // namespace fake_cudnn
