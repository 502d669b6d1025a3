// Layers with packed weights.
#ifndef TENON_NN_QUANTIZED_HPP
#define TENON_NN_QUANTIZED_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

// Linear with a weight packed into 8-bit or 4-bit integers along in_features. Each `group_size` of them share a scale and, with 4 bits, an
// offset (ops quantize_int8, linear_int8 and the 4-bit ones). For inference: x gets gradients, the weight does not. Weights are zero until
// loaded or made from a float layer by from_float().
// Buffers: weight (i8 (out, in), or u8 (out, in/2)), scale and offset (out, in/group_size), bias (out).
class QuantizedLinear : public Module {
 public:
  QuantizedLinear(int64_t in_features, int64_t out_features, bool with_bias = true,
                  int64_t bits = 8, int64_t group_size = 32)
      : bits_(bits), group_size_(group_size) {
    detail::check_least("QuantizedLinear", "in_features", in_features, 1);
    detail::check_least("QuantizedLinear", "out_features", out_features, 1);
    check_packing(in_features, bits, group_size);
    pack(zeros({out_features, in_features}), with_bias ? zeros({out_features}) : Tensor());
  }
  // Packs weight (out, in) and bias (out) of a Linear; the bias may be undefined.
  static QuantizedLinear from_float(const Tensor& weight, const Tensor& bias = {}, int64_t bits = 8,
                                    int64_t group_size = 32) {
    check_packing(weight.shape(-1), bits, group_size);
    QuantizedLinear made(Packing{bits, group_size});
    made.pack(weight.detach(), bias.defined() ? bias.detach() : Tensor());
    return made;
  }
  Tensor forward(const Tensor& x) override {
    if (bits_ == 8) return linear_int8(x, weight, scale, bias);
    return linear_int4(x, weight, scale, offset, bias);
  }
  std::string describe() const override {
    return "QuantizedLinear(" + std::to_string(scale->shape(1) * group_size_) + ", " +
           std::to_string(weight->shape(0)) + (bias.defined() ? ", " : ", no bias, ") +
           std::to_string(bits_) + " bits in groups of " + std::to_string(group_size_) + ")";
  }

  Parameter weight, scale, offset, bias;

 private:
  struct Packing {
    int64_t bits, group_size;
  };
  explicit QuantizedLinear(Packing packing)
      : bits_(packing.bits), group_size_(packing.group_size) {}
  void pack(const Tensor& floats, const Tensor& shift) {
    NoGrad guard;
    if (bits_ == 8) {
      const auto packed = quantize_int8(floats, group_size_);
      weight = add_buffer("weight", packed.packed);
      scale = add_buffer("scale", packed.scale);
    } else {
      const auto packed = quantize_int4(floats, group_size_);
      weight = add_buffer("weight", packed.packed);
      scale = add_buffer("scale", packed.scale);
      offset = add_buffer("offset", packed.offset);
    }
    bias = add_buffer("bias", shift);
  }
  static void check_packing(int64_t in_features, int64_t bits, int64_t group_size) {
    if (bits != 8 && bits != 4)
      detail::refuse("QuantizedLinear", "bits", std::to_string(bits), "must be 8 or 4");
    detail::check_least("QuantizedLinear", "group_size", group_size, 1);
    if (in_features % group_size != 0 || (bits == 4 && group_size % 2 != 0))
      detail::refuse("QuantizedLinear",
                     std::to_string(in_features) + " in_features do not divide into groups of " +
                         std::to_string(group_size) + (bits == 4 ? ", which must be even" : ""));
  }
  int64_t bits_, group_size_;
};

}  // namespace tenon::nn
#endif
