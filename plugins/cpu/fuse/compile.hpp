// From an expression of tn.graph to tiles.
#pragma once

#include <memory>
#include <unordered_map>

#include "fused.hpp"
#include "tenon/ext/draft/graph.h"

namespace tenon::cpu {

// This plugin's kernels, as a registered one is known again: by what it runs.
class KnownKernels {
 public:
  explicit KnownKernels(const KernelList& list);
  struct Known {
    const tn_kernel* kernel;
    Stretch stretch;
  };
  // NULL for another plugin's.
  const Known* find(const tn_kernel& kernel) const;

 private:
  struct Key {
    const void* run;
    const void* self;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.run) * 31 + std::hash<const void*>()(key.self);
    }
  };
  static Key key_of(const tn_kernel& kernel);
  std::unordered_map<Key, Known, Hash> known_;
};

// Throws sdk::Error: TN_INVALID_ARGUMENT for what is no expression, TN_UNIMPLEMENTED for what does not go by tiles.
std::unique_ptr<Fused> compile(const tn_graph_expression& expression, const KnownKernels& kernels);

}  // namespace tenon::cpu
