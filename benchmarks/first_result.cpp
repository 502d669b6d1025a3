// Start to first result through a loaded plugin: what run.py holds against `import torch`.
#include <cstdio>

#include "tenon/tenon.hpp"

int main() {
  tenon::Tensor x = tenon::full({16}, 1.0), y = x + x;
  std::printf("%g\n", static_cast<double>(y.sum().item<float>()));
  return 0;
}
