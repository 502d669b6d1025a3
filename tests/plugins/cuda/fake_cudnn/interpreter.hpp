// Computes a graph of cuDNN's operations by plain loops in double precision. The meaning of operations and attributes: cuDNN
// documentation, "Graph API" and "cudnn_graph library".
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

  // Of an element of a result of `whole` sizes: a dimension that is smaller repeats, or serves groups.
  int64_t place(const Index& at, const Index& whole) const;
  int64_t place(const Index& at) const { return place(at, sizes); }
  int64_t extent() const;   // elements of memory
  bool has_places() const;  // whether each element has one of its own
};

// Row-major.
void for_each(const Index& sizes, const std::function<void(const Index&)>& fn);

// Reads what it needs of the memory of each uid, on the host for tensors by value, and writes what is not virtual. False where an
// operation is none that is known here.
bool compute(const std::vector<Ref>& operations, const std::map<int64_t, void*>& memory);

// Whether the memory of all but scalars by value, which lie on the host, is aligned.
bool is_aligned(const std::vector<Ref>& operations, const std::map<int64_t, void*>& memory,
                uintptr_t bytes);

// The filters of a convolution in it, 0 without one.
int64_t filters_of(const std::vector<Ref>& operations);

}  // namespace fake_cudnn
