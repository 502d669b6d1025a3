// The output of compile_shader.py for a file in shaders/: one module for each compute type and way to reach memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::vulkan {

// The type that a module computes in. What it reads and writes is converted. Names as in shaders/tenon.glsl.
enum class Compute : uint32_t { kF32, kF64, kI32, kI64, kCount };

struct ShaderModule {
  const uint32_t* words = nullptr;
  size_t bytes = 0;
  // The bindings that it may write under some constants; only if buffers are bound.
  uint32_t written = 0;
};

struct Shader {
  const char* name;
  // [compute][0: buffers have addresses, 1: they are bound]
  ShaderModule modules[static_cast<size_t>(Compute::kCount)][2];
};

}  // namespace tenon::vulkan
