#include "run/memory.hpp"

#include <algorithm>
#include <atomic>

#include "tenon/creation.hpp"

namespace tenon::graph {
namespace {

uint64_t next_place() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Memory::Memory(const Device& device) : device_(device), place_(next_place()) {}

void Memory::reserve(const Arena& arena, uint64_t scratch) {
  for (const auto& [dtype, size] : arena.sizes) grow(arenas_[dtype], size, dtype);
  if (scratch != 0) grow(scratch_, static_cast<int64_t>(scratch), DType::U8);
}

void Memory::grow(Tensor& tensor, int64_t size, DType dtype) {
  const int64_t known = tensor.defined() ? tensor.numel() : 0;
  if (tensor.defined() && size <= known) return;
  tensor = Tensor();  // first, so that its memory may be part of the new one
  // By half at least, so that sizes that grow step by step move it a few times only. What no run reaches takes no memory on the host.
  tensor = empty(std::max(size, known + known / 2), dtype, device_);
  place_ = next_place();
}

}  // namespace tenon::graph
