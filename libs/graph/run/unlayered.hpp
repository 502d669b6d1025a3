// Hides the layers over this thread's calls while recorded calls are made again: the layers saw them when they were recorded.
#pragma once

#include "tenon/ext/draft/call_layers.h"

namespace tenon::graph {

class Unlayered {
 public:
  Unlayered() : before_(tn_call_layers_show(0)) {}
  ~Unlayered() { tn_call_layers_show(before_); }
  Unlayered(const Unlayered&) = delete;

 private:
  uint32_t before_;
};

}  // namespace tenon::graph
