// How errors print shapes, tensors and sizes in bytes.
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

}  // namespace tenon::core
