// Work of more than a millisecond, shared with threads that live as long as it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace tenon::onnx {

// Runs job(i) for each i below `count`. `job` does not throw.
template <class Job>
void share_work(int64_t count, int64_t threads, const Job& job) {
  std::atomic<int64_t> next{0};
  const auto work = [&]() noexcept {
    for (int64_t i = next++; i < count; i = next++) job(i);
  };
  std::vector<std::thread> helpers;
  try {
    for (int64_t i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // there are no more threads: those that began do it all
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace tenon::onnx
