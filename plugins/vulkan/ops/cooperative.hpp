// Products of f16 on matrix units: shaders/cooperative.comp.
#pragma once

#include "../common/product.hpp"
#include "ops/tiles.hpp"

namespace tenon::vulkan {

// How a product may be computed. The tiles of matmul.comp are what the units are compared with.
enum class Way { kAny, kTiles, kCooperative };

struct Cooperative {
  static constexpr int64_t kTile = 128;
  static constexpr uint32_t kInvocations = 256;
  static int64_t groups(const Product& p);
  // Bits of word 15 beside matmul's: eight neighbours of an operand lie on a boundary of 16 bytes.
  static uint32_t flags(const Product& p);
};

// Whether the device of a call has units, they give what tiles give (tried once, with a product of its own), and the product is large
// enough for them.
bool takes_cooperative(const tn_call& call, const Product& p);
const Shader& cooperative_shader(const tn_call& call);
// What is added to every sum: 0, but where a test wants the units refused.
uint32_t cooperative_error(const tn_call& call);

// ops/matmul.cpp's
void run_matmul(const tn_call& call, Way way);

}  // namespace tenon::vulkan
