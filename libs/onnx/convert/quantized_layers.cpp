// The integer ops of ONNX Runtime's quantizer: operands and results come with scales and zero points.
#include "convert/layers.hpp"
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

// (q - zero)·scale of three consecutive inputs from `at` on: x, scale, zero.
Tensor real(const Call& call, size_t at, int64_t axis = -1) {
  const Tensor q = call.x(at), x = q.to(DType::F32);
  const Tensor y = call.has(at + 2) ? x - spread(call.x(at + 2), q, axis, 0).to(DType::F32) : x;
  return y * spread(call.x(at + 1), q, axis, 0).to(DType::F32);
}

// Quantises with the scale at `at` and the zero point after it, to the zero point's dtype.
Tensor result(const Call& call, const Tensor& y, size_t at, bool zero_first = false) {
  const Tensor zero = call.maybe(at + 1);
  return quantized(y, call.x(at).reshape({}), zero.defined() ? zero.reshape({}) : zero,
                   zero.defined() ? zero.dtype() : call.x(0).dtype(), zero_first);
}

// For functions of one operand: x, its scale and zero point, and those of the result.
template <Tensor (*kFn)(const Call&, const Tensor&), bool kZeroFirst = false>
Tensor of_one(const Call& call) {
  return result(call, kFn(call, real(call, 0)), 3, kZeroFirst);
}
// The same for two operands. ONNX Runtime adds the zero point of sums, products and averages before it rounds.
template <Tensor (*kFn)(const Tensor&, const Tensor&)>
Tensor of_two(const Call& call) {
  return result(call, kFn(real(call, 0), real(call, 3)), 6, true);
}

Tensor sum(const Tensor& x, const Tensor& y) { return x + y; }
Tensor product(const Tensor& x, const Tensor& y) { return x * y; }
Tensor sigmoid_of(const Call&, const Tensor& x) { return sigmoid(x); }
Tensor leaky(const Call& call, const Tensor& x) { return leaky_relu(x, call.f("alpha", 0.01F)); }
Tensor softmax_of(const Call& call, const Tensor& x) {
  const int64_t axis = wrap(call.i("axis", -1), x.ndim());
  if (call.i("opset", 13) >= 13) return softmax(x, axis);
  Ints rows(x.shape().begin(), x.shape().begin() + axis);
  rows.push_back(-1);
  return softmax(x.reshape(rows), -1).reshape(x.shape());
}

// Channels are dimension 1, or the last.
Tensor global_mean(const Call& call, const Tensor& x) {
  const bool last = call.flag("channels_last");
  Ints dims;
  for (int64_t d = last ? 1 : 2; d < x.ndim() - (last ? 1 : 0); ++d) dims.push_back(d);
  return x.mean(dims, true);
}
Tensor average(const Call& call, const Tensor& x) {
  if (call.flag("channels_last")) call.unsupported("channels_last");
  return average_pool_of(call, x, true);
}

// Inputs: the result's scale and zero point, then x, scale and zero of each part.
Tensor concat_of(const Call& call) {
  std::vector<Tensor> parts;
  for (size_t at = 2; at + 2 < call.size(); at += 3) parts.push_back(real(call, at));
  return result(call, concat(parts, call.i("axis", 0)), 0);
}

// a·b + c, where c is in units of both scales. Without a scale for the result, it is real.
Tensor gemm_of_integers(const Call& call) {
  Tensor a = real(call, 0);
  const bool rows = call.flag("transB");
  const Tensor b = real(call, 3, rows ? 0 : 1);
  if (call.flag("transA")) a = a.t();
  Tensor y = matmul(a, rows ? b.t() : b) * call.f("alpha", 1);
  if (call.has(6)) {
    const Tensor scale = call.x(1).reshape({}) * call.x(4) * call.f("alpha", 1);
    y = y + call.x(6).to(DType::F32) * scale;
  }
  return call.has(7) ? result(call, y, 7) : y;
}

// b has one scale and zero point, or one for each column.
Tensor weight_of(const Call& call, size_t b, size_t scale, size_t zero) {
  const Tensor q = call.x(b).to(DType::F32);
  return (call.has(zero) ? q - spread(call.x(zero), q, -1, 0).to(DType::F32) : q) *
         spread(call.x(scale), q, -1, 0);
}

// Integers times a constant matrix b at input 1, times both scales, plus the bias at the last input.
Tensor scaled(const Call& call, const Quantized& a, size_t b_scale, size_t b_zero, size_t bias) {
  const auto weight =
      call.kept(true, [&] { return integer_weight(call.x(1), call.maybe(b_zero)); });
  const Tensor y = scaled_product(a, *weight, call.x(b_scale));
  return call.has(bias) ? y + call.x(bias) : y;
}

// a, converted to 8-bit integers by its own range, times b.
Tensor dynamic_matmul(const Call& call) {
  if (call.constant({1, 3}) && call.x(1).ndim() == 2)
    return scaled(call, by_own_range(call.x(0)), 2, 3, 4);
  const auto weight = call.kept(call.constant({1, 2, 3}), [&] { return weight_of(call, 1, 2, 3); });
  const Tensor y = matmul(through_integers(call.x(0)), *weight);
  return call.has(4) ? y + call.x(4) : y;
}

// Inputs: a, b, their scales, their zero points, bias.
Tensor product_of_scaled(const Call& call) {
  if (call.constant({1, 5}) && call.x(1).ndim() == 2)
    return scaled(call, {call.x(0), call.x(2), call.maybe(4)}, 3, 5, 6);
  const auto weight = call.kept(call.constant({1, 3, 5}), [&] { return weight_of(call, 1, 3, 5); });
  const Tensor q = call.x(0).to(DType::F32);
  const Tensor a = (call.has(4) ? q - call.x(4).to(DType::F32) : q) * call.x(2);
  const Tensor y = matmul(a, *weight);
  return call.has(6) ? y + call.x(6) : y;
}

// Unpacks rows of b (N, blocks, bytes), whose entries have 2, 4 or 8 bits, low bits first, to real numbers (N, K).
Tensor unpacked(const Call& call, int64_t bits, int64_t block) {
  const int64_t n = call.i("N", 0), k = call.i("K", 0), blocks = (k + block - 1) / block;
  const auto entries = [&](const Tensor& packed, int64_t columns) {
    std::vector<Tensor> parts;
    for (int64_t at = 0; at < 8; at += bits)
      parts.push_back(bitwise_and(bitwise_right_shift(packed, at), (1 << bits) - 1));
    return stack(parts, -1).reshape({n, -1}).narrow(1, 0, columns).to(DType::F32);
  };
  const Tensor q = entries(call.x(1).reshape({n, -1}), blocks * block);
  Tensor centred = q.reshape({n, blocks, block});
  if (call.has(3)) {
    const Tensor given = call.x(3);
    const Tensor zero = given.dtype() == DType::U8 ? entries(given.reshape({n, -1}), blocks)
                                                   : given.to(DType::F32).reshape({n, blocks});
    centred = centred - zero.unsqueeze(-1);
  } else {
    centred = centred - static_cast<double>(1 << (bits - 1));
  }
  const Tensor real = centred * call.x(2).to(DType::F32).reshape({n, blocks, 1});
  return real.reshape({n, blocks * block}).narrow(1, 0, k).contiguous();
}

// a·bᵀ, where b has few bits and one scale for each block of columns.
Tensor matmul_of_few_bits(const Call& call) {
  const int64_t bits = call.i("bits", 4), block = call.i("block_size", 32);
  const int64_t n = call.i("N", 0), k = call.i("K", 0);
  if (call.has(4)) call.unsupported("g_idx");
  if (bits != 2 && bits != 4 && bits != 8) call.unsupported(std::to_string(bits) + " bits");
  if (block < 8 || n < 1 || k < 1) call.fail("N, K and block_size are required");
  const Tensor x = call.x(0);
  // The 4-bit op has the same bytes, with a zero point of 8.
  if (bits == 4 && !call.has(3) && k % block == 0) {
    const Tensor scale = call.x(2).reshape({n, k / block});
    return linear_int4(x, call.x(1).reshape({n, k / 2}), scale, scale * -8.0, call.maybe(5));
  }
  const auto weight = call.kept(call.constant({1, 2, 3}),
                                [&] { return unpacked(call, bits, block).to(x.dtype()); });
  return linear(x, *weight, call.maybe(5));
}

}  // namespace

Family quantized_layer_ops() {
  static const Entry ops[] = {
      {"DynamicQuantizeMatMul", 1, dynamic_matmul, kMicrosoft},
      {"MatMulIntegerToFloat", 1, product_of_scaled, kMicrosoft},
      {"MatMulNBits", 1, matmul_of_few_bits, kMicrosoft},
      {"QGemm", 1, gemm_of_integers, kMicrosoft},
      {"QLinearAdd", 1, of_two<sum>, kMicrosoft},
      {"QLinearAveragePool", 1, of_one<average, true>, kMicrosoft},
      {"QLinearConcat", 1, concat_of, kMicrosoft},
      {"QLinearGlobalAveragePool", 1, of_one<global_mean>, kMicrosoft},
      {"QLinearLeakyRelu", 1, of_one<leaky>, kMicrosoft},
      {"QLinearMul", 1, of_two<product>, kMicrosoft},
      {"QLinearSigmoid", 1, of_one<sigmoid_of>, kMicrosoft},
      {"QLinearSoftmax", 1, of_one<softmax_of>, kMicrosoft},
  };
  return ops;
}

}  // namespace tenon::onnx
