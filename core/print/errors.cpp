// How errors print shapes, tensors and sizes in bytes, and the names that may have been meant.
#include "memory/allocator.hpp"
#include "status.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {

std::string format_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 6; ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

ShapeText::operator std::string() const {
  std::string text = "(";
  for (size_t d = 0; d < shape.size(); ++d) text += fmt::format("{}{}", d ? ", " : "", shape[d]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

TensorText::operator std::string() const {
  return fmt::format("{}{}@{}", dtype_name(tensor.dtype()), format_shape(tensor.sizes()),
                     tensor.device->id);
}

namespace {

uint32_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<uint32_t> row(b.size() + 1);
  for (uint32_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (uint32_t i = 1; i <= a.size(); ++i) {
    uint32_t diagonal = row[0];
    row[0] = i;
    for (uint32_t j = 1; j <= b.size(); ++j) {
      uint32_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view wanted, const std::vector<std::string_view>& names) {
  std::string_view best;
  size_t distance = wanted.size() / 2 + 1;
  for (std::string_view name : names) {
    // The distance is at least the difference in length, so a long text is compared with no name.
    if (std::max(wanted.size(), name.size()) - std::min(wanted.size(), name.size()) >= distance)
      continue;
    if (uint32_t d = edit_distance(wanted, name); d < distance) distance = d, best = name;
  }
  return std::string(best);
}

}  // namespace tenon::core
