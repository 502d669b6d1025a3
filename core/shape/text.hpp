// Shapes in messages of checks: written out only when a check fails.
#pragma once

#include <fmt/format.h>

#include "tensor/tensor.hpp"

namespace tenon::core {

struct ShownShape {
  std::span<const int64_t> shape;
};
inline ShownShape shown(std::span<const int64_t> shape) { return {shape}; }

}  // namespace tenon::core

template <>
struct fmt::formatter<tenon::core::ShownShape> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const tenon::core::ShownShape& text, Context& context) const {
    return fmt::formatter<std::string_view>::format(tenon::core::format_shape(text.shape), context);
  }
};
