// The first random number of a kernel: the state of the call's generator; in a graph, that of the default generator at the launch.
#pragma once

#include "capture.hpp"
#include "launch.hpp"
#define TENON_PHILOX_FN GPU_FN
#include "tenon/philox.hpp"

namespace tenon::gpu {

struct Draws {
  uint64_t seed, offset;
  bool captured;
  Ptr<const uint64_t> launched;  // the seed, and how far the generator has come since the capture

  GPU_FN philox::Block block(int64_t b) const {
    const uint64_t own = captured ? static_cast<uint64_t>(launched[0]) : seed;
    const uint64_t moved = captured ? static_cast<uint64_t>(launched[1]) : 0;
    return philox::block(own, offset + moved + static_cast<uint64_t>(b));
  }
};

// From the call's argument `generator`. Throws if a graph cannot draw from it.
inline Draws draws_of(const tn_call& call, uint32_t generator) {
  const sdk::Call args(call);
  const uint64_t seed = args.seed(generator), offset = args.offset(generator);
  const uint64_t* const launched = captured_draws(stream_of(call), seed, offset);
  return {seed, offset, launched != nullptr,
          launched != nullptr ? pointer_to(launched, 0, 0, 2) : Ptr<const uint64_t>(nullptr)};
}

}  // namespace tenon::gpu
