// Ops that the core runs itself: they decide about copies rather than compute.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

void run_contiguous(Frame& frame, tn_tensor** outs);  // the tensor itself when it is row-major
void run_to(Frame& frame, tn_tensor** outs);          // the tensor itself when it is there already

struct CoreOp {
  std::string_view name;
  DecomposeFn run;
};
constexpr CoreOp kCoreOps[] = {{"contiguous", &run_contiguous}, {"to", &run_to}};

}  // namespace tenon::core
