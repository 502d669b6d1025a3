// State that the emitters of a graph and of its inner graphs share.
#pragma once

#include "export/emitter.hpp"

namespace tenon::onnx {

struct Emitter::Shared {
  // Views of a weight that became constants, and their total number of elements.
  struct Pieces {
    std::vector<Held> list;
    int64_t size = 0;
  };
  Writer outermost;
  std::set<std::string> names;
  std::map<std::string, std::string> constants;
  std::map<std::string, Pieces> pieces;      // by the name of the weight
  std::map<std::string, std::string> whole;  // weights as vectors
  std::string op;                            // whose nodes are being written
  // For varying sizes: notes about constants (or which of them depend on sizes), and the sizes computed so far.
  std::optional<Sketch> sketch;
  const Following* following = nullptr;
  std::string ops;   // of a sketch
  size_t views = 0;  // that were asked for so far
  ByElement by_element;
  size_t unnamed = 0;           // number of unnamed constants so far
  bool computes_sizes = false;  // constants inside formulas do not count
  Names inputs;
  std::map<uint32_t, std::string> sizes;
};

}  // namespace tenon::onnx
