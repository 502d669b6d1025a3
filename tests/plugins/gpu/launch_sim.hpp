// Launches kernels in tests of the simulator.
#pragma once

#include <tuple>
#include <vector>

#include "portable.hpp"

namespace tenon::gpu {

template <class T>
auto all_of(std::vector<T>& values) {
  return Ptr<T>(values.data(), values.data(), values.data() + values.size());
}
template <class T>
auto all_of(const std::vector<T>& values) {
  return Ptr<const T>(values.data(), values.data(), values.data() + values.size());
}

template <class Body>
void run(uint32_t lanes, uint32_t blocks, uint32_t threads, const Body& body) {
  sim::run({{blocks, 1, 1}, {threads, 1, 1}, 0, lanes}, body);
}

// Like launch() of launch.hpp, with the kernel's limit on threads.
template <class... P, class... A>
void run_kernel(uint32_t lanes, uint32_t threads, void (*kernel)(P...), const A&... args) {
  sim::with_kernel(kernel, std::tuple<A...>(args...), [&](uint32_t most, const auto& body) {
    sim::run({{1, 1, 1}, {threads, 1, 1}, 0, lanes, most}, body);
  });
}

}  // namespace tenon::gpu
