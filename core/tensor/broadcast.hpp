// Broadcasting of two shapes.
#pragma once

#include "tensor/tensor.hpp"

namespace tenon::core {

// Sets `shape` to the broadcast shape of a and b. Returns false if they do not broadcast.
bool broadcast(std::span<const int64_t> a, std::span<const int64_t> b, Dims& shape);

}  // namespace tenon::core
