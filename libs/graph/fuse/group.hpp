// Groups of nodes that run over the same elements in the same order and so can run as one loop.
#pragma once

#include "ir/graph.hpp"

namespace tenon::graph {

// How a loop walks a view.
struct Access {
  uint32_t buffer = 0;
  int64_t offset = 0;  // elements
  Dims strides = {};   // by dimension of the loop; 0: the element repeats
  bool operator==(const Access&) const = default;
};

struct Member {
  enum class Kind : uint8_t { Op, Reduce, Copy };
  Kind kind = Kind::Op;
  uint32_t node = 0;
  Access result = {};
  std::vector<Access> reads = {};  // of the arguments that are views, in order
};

struct Group {
  Dims shape;                   // of the loop; dimensions of size 1 are left out
  size_t reduced = 0;           // how many of the last dimensions are reduced
  std::vector<Member> members;  // in node order

  int64_t kept() const;  // the product of the dimensions that are not reduced
  int64_t row() const;   // the product of the reduced dimensions
};

// A group of one node. If there is none, `why` says what prevents it.
std::optional<Group> group_of(const Node& node, uint32_t at, std::string& why);

// Joins two groups into one loop. Every element that one group writes and the other touches must be touched in the same iteration. Does not
// ask whether other nodes must run in between.
std::optional<Group> joined(std::vector<Group> groups, std::string& why);

// Merges dimensions that every access walks as one. The first `kept` dimensions are not merged with the rest. Returns how many of the first
// are left.
size_t merge_dimensions(Dims& shape, const std::vector<Access*>& accesses, size_t kept);

}  // namespace tenon::graph
