// Products of f16 on matrix units: shaders/cooperative.comp.
#pragma once

#include "../common/product.hpp"
#include "ops/tiles.hpp"

namespace tenon::vulkan {

// How to compute a product. The tiles of matmul.comp are the reference for the units.
enum class Way { kAny, kTiles, kCooperative };

struct Cooperative {
  static constexpr int64_t kTile = 128;
  static constexpr uint32_t kInvocations = 256;
  static int64_t groups(const Product& p);
  // Bits of word 15 besides matmul's: eight neighbours in an operand are aligned to 16 bytes.
  static uint32_t flags(const Product& p);
};

// Whether the device has matrix units, they agree with tiles (tested once, by a separate product), and the product is large enough.
bool takes_cooperative(const tn_call& call, const Product& p);
const Shader& cooperative_shader(const tn_call& call);
// Added to every sum: 0, unless a test wants the units to be refused.
uint32_t cooperative_error(const tn_call& call);

// defined in ops/matmul.cpp
void run_matmul(const tn_call& call, Way way);

}  // namespace tenon::vulkan
