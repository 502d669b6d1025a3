// The activations that linear fuses.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::cpu {

enum class Activation : uint8_t { None, Relu, Gelu, GeluTanh, Silu, Sigmoid, Tanh };

inline Activation activation_of(std::string_view name) {
  return name == "relu"        ? Activation::Relu
         : name == "gelu"      ? Activation::Gelu
         : name == "gelu_tanh" ? Activation::GeluTanh
         : name == "silu"      ? Activation::Silu
         : name == "sigmoid"   ? Activation::Sigmoid
         : name == "tanh"      ? Activation::Tanh
                               : Activation::None;
}

// x = activation(x) in place over threads.
void activate(Activation activation, float* x, int64_t n);
void activate(Activation activation, double* x, int64_t n);

}  // namespace tenon::cpu
