// Tensors made from nothing: constants, ranges, random numbers, windows.
#include <cmath>
#include <numbers>

#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

Tensor constant(const Call& call) {
  if (Tensor given = call.tensor("value"); given.defined()) return given;
  if (call.find("value_float") != nullptr)
    return tensor(static_cast<float>(call.f("value_float", 0)));
  if (call.find("value_int") != nullptr) return tensor(call.i("value_int", 0));
  if (call.find("value_ints") != nullptr) return tensor(call.list("value_ints"));
  if (call.find("value_floats") != nullptr) {
    const std::vector<double> numbers = call.floats("value_floats");
    return tensor(std::vector<float>(numbers.begin(), numbers.end()));
  }
  call.unsupported("a constant that is neither numbers nor a dense tensor of them");
}

// Repeats a weight of one element, so that it folds in a trace.
Tensor constant_of_shape(const Call& call) {
  const Tensor value = call.tensor("value");
  const Tensor one = value.defined() ? value.reshape({}) : zeros({});
  const std::vector<int64_t> sizes = call.ints(0);
  return one.expand(sizes).contiguous();
}

Tensor eye_like(const Call& call) {
  const Tensor x = call.x(0);
  if (x.ndim() != 2) call.fail("a tensor of rank " + std::to_string(x.ndim()));
  return eye(x.shape(0), x.shape(1), call.i("k", 0), call.dtype("dtype", x.dtype()), call.device());
}

Tensor range(const Call& call) {
  const DType dtype = call.value(0).tensor().dtype();
  if (is_integral(dtype)) return arange(call.integer(0), call.integer(1), call.integer(2), dtype);
  return arange(call.number(0), call.number(1), call.number(2), dtype);
}

Tensor trilu(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t k = call.has(1) ? call.integer(1) : 0;
  return call.flag("upper", true) ? triu(x, k) : tril(x, k);
}

Results random_uniform(const std::vector<int64_t>& shape, const Call& call, DType dtype) {
  return uniform(shape, call.f("low", 0), call.f("high", 1), dtype, call.device());
}
Results random_normal(const std::vector<int64_t>& shape, const Call& call, DType dtype) {
  return normal(shape, call.f("mean", 0), call.f("scale", 1), dtype, call.device());
}

// Draws classes with probabilities proportional to exp(x), by the Gumbel-max trick.
Tensor multinomial(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t samples = call.i("sample_size", 1);
  const Tensor noise =
      uniform({x.shape(0), samples, x.shape(1)}, 1e-10, 1.0, DType::F32, call.device());
  const Tensor scores = x.to(DType::F32).unsqueeze(1) - log(-log(noise));
  return argmax(scores, 2).to(call.dtype("dtype", DType::I32));
}

// a0 - a1·cos(2πn/N) + a2·cos(4πn/N), where N is one less for a symmetric window.
Results window(const Call& call, double a0, double a1, double a2) {
  const int64_t size = call.integer(0);
  const double period = static_cast<double>(call.flag("periodic", true) ? size : size - 1);
  std::vector<double> elements;
  for (int64_t n = 0; n < size; ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    elements.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return tensor(elements).to(call.dtype("output_datatype", DType::F32));
}

}  // namespace

Family generate_ops() {
  static const Entry ops[] = {
      {"Constant", 1, constant},
      {"ConstantOfShape", 9, constant_of_shape},
      {"EyeLike", 9, eye_like},
      {"Range", 11, range},
      {"Trilu", 14, trilu},
      {"RandomUniform", 1,
       [](const Call& call) {
         return random_uniform(call.list("shape"), call, call.dtype("dtype", DType::F32));
       }},
      {"RandomNormal", 1,
       [](const Call& call) {
         return random_normal(call.list("shape"), call, call.dtype("dtype", DType::F32));
       }},
      {"RandomUniformLike", 1,
       [](const Call& call) {
         const Tensor x = call.x(0);
         return random_uniform(shape_of(x), call, call.dtype("dtype", x.dtype()));
       }},
      {"RandomNormalLike", 1,
       [](const Call& call) {
         const Tensor x = call.x(0);
         return random_normal(shape_of(x), call, call.dtype("dtype", x.dtype()));
       }},
      {"Bernoulli", 15,
       [](const Call& call) {
         const Tensor p = call.x(0);
         return bernoulli(p).to(call.dtype("dtype", p.dtype()));
       }},
      {"Multinomial", 7, multinomial},
      {"HannWindow", 17, [](const Call& call) { return window(call, 0.5, 0.5, 0); }},
      {"HammingWindow", 17, [](const Call& call) { return window(call, 25.0 / 46, 21.0 / 46, 0); }},
      {"BlackmanWindow", 17, [](const Call& call) { return window(call, 0.42, 0.5, 0.08); }},
  };
  return ops;
}

}  // namespace tenon::onnx
