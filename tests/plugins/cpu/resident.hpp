// What a test's process takes of the machine's memory.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace testing_ops {

// The largest resident memory of this process since the last call, in MiB.
inline int64_t most_resident() {
  std::ifstream status("/proc/self/status");
  int64_t kib = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) kib = std::stoll(line.substr(6));
  std::ofstream("/proc/self/clear_refs") << "5";
  return kib / 1024;
}

}  // namespace testing_ops
