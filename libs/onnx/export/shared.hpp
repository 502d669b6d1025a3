// What the emitters of a graph and of those within it share.
#pragma once

#include <set>

#include "export/emitter.hpp"

namespace tenon::onnx {

struct Emitter::Shared {
  // Views of a weight that are constants of their own, and how many elements they have together.
  struct Pieces {
    std::vector<Held> list;
    int64_t size = 0;
  };
  Writer outermost;
  std::set<std::string> names;
  std::map<std::string, std::string> constants;
  std::map<std::string, Pieces> pieces;      // by the weight's name
  std::map<std::string, std::string> whole;  // of weights, one dimension
  std::string op;                            // whose nodes are being written
  // Sizes that vary: what is noted of constants, or which of them follow sizes, and the sizes that are there by now.
  std::optional<Sketch> sketch;
  const Following* following = nullptr;
  size_t unnamed = 0;           // constants so far
  bool computes_sizes = false;  // constants of formulas are not counted
  Names inputs;
  std::map<uint32_t, std::string> sizes;
};

}  // namespace tenon::onnx
