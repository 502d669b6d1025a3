// Nodes that run over the same elements in the same order, and so may run as one loop.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// A view as a loop walks it.
struct Access {
  uint32_t buffer = 0;
  int64_t offset = 0;  // elements
  Dims strides = {};   // by dimension of the loop; 0 repeats
  bool operator==(const Access&) const = default;
};

struct Member {
  enum class Kind : uint8_t { Op, Reduce, Copy };
  Kind kind = Kind::Op;
  uint32_t node = 0;
  Access result = {};
  std::vector<Access> reads = {};  // of the arguments that are views, in their order
};

struct Group {
  Dims shape;                   // of the loop; no dimension of size 1
  size_t reduced = 0;           // its last dimensions, over which members of the kind reduce
  std::vector<Member> members;  // in the order of their nodes

  int64_t kept() const;  // elements of the other dimensions
  int64_t row() const;   // of the reduced ones
};

// One node; `why` says what stands against it.
std::optional<Group> group_of(const Node& node, uint32_t at, std::string& why);

// All in one loop, where each element that one writes and another touches is touched at the same turn. Whether other nodes would have to
// run in between is not asked.
std::optional<Group> joined(std::vector<Group> groups, std::string& why);

// Dimensions that all of the accesses walk as one become one; the first `kept` ones stay apart from the rest. Returns how many of
// those there are.
size_t merge_dimensions(Dims& shape, const std::vector<Access*>& accesses, size_t kept);

}  // namespace tenon::graph
