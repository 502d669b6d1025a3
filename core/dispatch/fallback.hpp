// What happens when a device has no kernel, and counts of where ops ran.
#pragma once

#include "dispatch/frame.hpp"

namespace tenon::core {

constexpr std::string_view kHostFallback = "host fallback";
constexpr std::string_view kDecomposition = "decomposition";

// Runs the op on the host with copies there and back; warns or refuses as the policy says. Throws Error.
void run_on_host(Frame& frame, tn_tensor* const* into, tn_tensor** outs);
// "[add] no kernel for f32 on cpu:0: …" with what to do about it.
[[noreturn]] void fail_no_kernel(const Frame& frame, tn_dtype dtype);

extern std::atomic<bool> g_count_placement;
void count_placement(const tn_op& op, std::string_view provider);

}  // namespace tenon::core
