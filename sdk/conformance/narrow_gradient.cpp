// Compares gradients in f32 on the device under test with those of the same values in f64 on the host. For devices without f64, and because
// training uses f32.
#include <algorithm>
#include <cmath>

#include "bridge.hpp"
#include "gradcheck.hpp"
#include "runner.hpp"

namespace tenon::conformance {
namespace {

Array widened(Array array) {
  if (array.dtype == DType::F32) array.dtype = DType::F64;
  return array;
}

Args widened(Args args) {
  for (Arg& arg : args) {
    if (auto* one = std::get_if<Array>(&arg)) *one = widened(*one);
    if (auto* list = std::get_if<std::vector<Array>>(&arg))
      for (Array& each : *list) each = widened(each);
    if (auto* dtype = std::get_if<DType>(&arg); dtype != nullptr && *dtype == DType::F32)
      *dtype = DType::F64;
    if (auto* device = std::get_if<Device>(&arg)) *device = Device("cpu");
  }
  return args;
}

bool is_float(const Tensor& x) { return x.dtype() == DType::F32 || x.dtype() == DType::F64; }

// Gradients of a weighted sum of the results, for the tensors that `wanted` marks.
std::vector<Tensor> gradients(const Call& call, const std::vector<bool>& wanted, uint64_t seed) {
  const EnableGrad on;
  std::vector<Tensor> tensors = call.tensors(), leaves;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!wanted[i]) continue;
    tensors[i] = tensors[i].detach();
    tensors[i].requires_grad_();
    leaves.push_back(tensors[i]);
  }
  std::vector<Tensor> results, weights;
  for (const Tensor& y : call.run(tensors)) {
    if (!y.defined() || !is_float(y) || !y.requires_grad()) continue;
    Rng rng(seed + results.size());
    Array weight = random_array(rng, DType::F32, Shape(y.shape().begin(), y.shape().end()));
    weight.dtype = y.dtype();
    weights.push_back(to_tensor(weight, y.device(), Layout::Contiguous, rng));
    results.push_back(y);
  }
  if (results.empty()) return {};
  return gradient(results, leaves, weights, {.allow_unused = true});
}

std::string differs(const Tensor& narrow, const Tensor& wide, double factor) {
  if (narrow.defined() != wide.defined())
    return narrow.defined() ? "there is one that the host does not have" : "there is none";
  if (!narrow.defined()) return {};
  const Array got = to_array(narrow), wanted = to_array(wide);
  if (got.shape != wanted.shape) return "the shape is another than on the host";
  double scale = 1;
  for (const Complex& value : wanted.v)
    if (std::isfinite(value.real())) scale = std::max(scale, std::abs(value.real()));
  for (size_t i = 0; i < got.size(); ++i) {
    const double g = got.re(i), w = wanted.re(i);
    if (std::isnan(g) && std::isnan(w)) continue;
    if (g == w || std::abs(g - w) <= 1e-4 * factor * scale) continue;
    std::ostringstream text;
    text << "element " << i << ": " << g << ", in f64 on the host " << w;
    return text.str();
  }
  return {};
}

}  // namespace

std::string check_narrow_gradient(const tn_op* op, const Case& c, Device device) {
  Rng rng = c.rng();
  Args args;
  c.make(args, rng);
  const Call narrow(op, args, device, static_cast<Layout>(c.layout), rng);
  const Call wide(op, widened(args), Device("cpu"), Layout::Contiguous, rng);
  std::vector<bool> wanted;
  for (size_t i = 0; i < narrow.tensors().size(); ++i) {
    const Tensor& x = narrow.tensors()[i];
    wanted.push_back(x.defined() && is_float(x) && !narrow.belongs_to(i, c.sample.fixed));
  }
  const auto got = gradients(narrow, wanted, c.seed);
  const auto exact = gradients(wide, wanted, c.seed);
  if (got.size() != exact.size()) return "other results are differentiable than on the host";
  for (size_t k = 0; k < got.size(); ++k)
    if (const std::string problem = differs(got[k], exact[k], c.sample.tolerance); !problem.empty())
      return "gradient " + std::to_string(k) + ": " + problem;
  return {};
}

}  // namespace tenon::conformance
