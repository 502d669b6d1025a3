// The works that `tenon bench` runs.
#include "bench.hpp"

namespace tenon::tool {
namespace {

constexpr int64_t kMillion = 1 << 20;

Tensor floats(IntList shape, Device device, DType dtype = DType::F32) {
  return normal(shape, 0.0, 1.0, DType::F32).to(dtype).to(device);
}

// A function of one tensor of a million floats; `passes` counts how often memory is crossed.
Work elementwise(std::string name, double passes, Tensor (*op)(const Tensor&),
                 double tolerance = 1e-5) {
  return {std::move(name), "GB/s", passes * 4 * kMillion, tolerance, [op](Device device) {
            Tensor x = floats({1024, kMillion / 1024}, device);
            return [x, op] { return op(x); };
          }};
}

Work product(int64_t n, DType dtype, double tolerance) {
  std::string name = "matmul " + std::to_string(n) + "³ " + std::string(name_of(dtype));
  double count = static_cast<double>(n);
  return {name,
          "GFLOP/s",
          2 * count * count * count,
          tolerance,
          [n, dtype](Device device) {
            Tensor x = floats({n, n}, device, dtype), y = floats({n, n}, device, dtype);
            return [x, y] { return matmul(x, y); };
          },
          dtype};
}

Work convolution() {
  return {"conv 3×3 64→64 56×56 batch 8", "GFLOP/s", 2.0 * 8 * 64 * 64 * 9 * 56 * 56, 1e-4,
          [](Device device) {
            Tensor x = floats({8, 64, 56, 56}, device), w = floats({64, 64, 3, 3}, device);
            return [x, w] { return conv(x, w, {}, {1}, {1}); };
          }};
}

// One step of a perceptron: forward, loss, backward, SGD. Returns the loss.
Work perceptron(std::string name, const std::vector<int64_t>& widths, int64_t batch) {
  return {std::move(name), "samples/s", static_cast<double>(batch), 1e-3,
          [widths, batch](Device device) {
            std::vector<Tensor> weights, biases, all;
            for (size_t i = 0; i + 1 < widths.size(); ++i) {
              double bound = 1.0 / std::sqrt(static_cast<double>(widths[i]));
              weights.push_back(
                  uniform({widths[i + 1], widths[i]}, -bound, bound).to(device).requires_grad_());
              biases.push_back(uniform({widths[i + 1]}, -bound, bound).to(device).requires_grad_());
            }
            for (auto* list : {&weights, &biases})
              all.insert(all.end(), list->begin(), list->end());
            Tensor x = floats({batch, widths.front()}, device);
            Tensor target = randint({batch}, 0, widths.back()).to(device);
            return [=] {
              Tensor h = x;
              for (size_t i = 0; i < weights.size(); ++i)
                h = linear(h, weights[i], biases[i], i + 1 < weights.size() ? "relu" : "none");
              Tensor loss = cross_entropy(h, target);
              std::vector<Tensor> grads = gradient({loss}, all);
              NoGrad guard;
              sgd_step(all, grads, std::vector<Tensor>{}, 1e-3);
              return loss.detach();
            };
          }};
}

}  // namespace

std::vector<Work> op_suite() {
  std::vector<Work> works;
  works.push_back({"add, 16 floats", "calls/s", 1, 1e-6, [](Device device) {
                     Tensor x = floats({16}, device), y = floats({16}, device);
                     return [x, y] { return x + y; };
                   }});
  works.push_back({"add, 1 M floats", "GB/s", 12.0 * kMillion, 1e-6, [](Device device) {
                     Tensor x = floats({kMillion}, device), y = floats({kMillion}, device);
                     return [x, y] { return x + y; };
                   }});
  works.push_back(elementwise("exp, 1 M floats", 2, [](const Tensor& x) { return exp(x); }));
  works.push_back(elementwise("gelu, 1 M floats", 2, [](const Tensor& x) { return gelu(x); }));
  works.push_back(
      elementwise("sum of rows, 1 M floats", 1, [](const Tensor& x) { return sum(x, {1}); }));
  works.push_back(
      elementwise("softmax, 1 M floats", 2, [](const Tensor& x) { return softmax(x, 1); }));
  works.push_back(elementwise(
      "layer_norm, 1 M floats", 2, [](const Tensor& x) { return layer_norm(x, {x.shape()[1]}).y; },
      1e-4));
  works.push_back(product(256, DType::F32, 1e-4));
  works.push_back(product(1024, DType::F32, 1e-4));
  works.push_back(product(1024, DType::BF16, 2e-2));
  works.push_back(convolution());
  return works;
}

std::vector<Work> model_suite() {
  return {perceptron("MLP 64-64-10 step, batch 32", {64, 64, 10}, 32),
          perceptron("classic 1024-256-256-8 step, batch 64", {1024, 256, 256, 8}, 64)};
}

}  // namespace tenon::tool
