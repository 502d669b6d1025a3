// Where a random kernel's numbers begin: where the call's generator was; in a graph, where the default generator is at its launch.
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

// Of the call's argument `generator`. Throws where a graph cannot draw from it.
inline Draws draws_of(const tn_call& call, uint32_t generator) {
  const sdk::Call args(call);
  const uint64_t seed = args.seed(generator), offset = args.offset(generator);
  const uint64_t* const launched = captured_draws(stream_of(call), seed, offset);
  return {seed, offset, launched != nullptr,
          launched != nullptr ? pointer_to(launched, 0, 0, 2) : Ptr<const uint64_t>(nullptr)};
}

}  // namespace tenon::gpu
