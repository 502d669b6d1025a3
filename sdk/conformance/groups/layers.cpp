// Tests call layers that the plugin offers ("tn.layers"). With any layer, calls keep their shapes and errors, the thread gets its layers
// back, gradients pass through, and memory returns. The layer itself says how close results must be.
#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>

#include "groups/groups.hpp"
#include "runner.hpp"

namespace tenon::conformance {

std::vector<tn_offered_layer> layers_of(const Subject& subject) {
  const void* found = nullptr;
  tn_status* status = tn_plugin_interface(
      detail::to_str(subject.id), detail::to_str(TN_LAYERS_NAME), TN_LAYERS_REVISION, &found);
  tn_status_release(status);
  if (status != nullptr || found == nullptr) return {};
  const auto& table = *static_cast<const tn_layers*>(found);
  std::vector<tn_offered_layer> layers;
  for (uint32_t i = 0; i < table.count; ++i) {
    const auto* entry = reinterpret_cast<const char*>(table.layers) + size_t{i} * table.stride;
    layers.push_back(*reinterpret_cast<const tn_offered_layer*>(entry));
  }
  return layers;
}

namespace {

// Pushes the layer over this thread's calls for the lifetime of the object.
class Under {
 public:
  explicit Under(const tn_offered_layer& offered) : layer_(offered.layer) {
    detail::check(tn_call_layer_push(layer_));
  }
  ~Under() { tn_status_release(tn_call_layer_pop(layer_)); }
  Under(const Under&) = delete;

 private:
  const tn_call_layer* layer_;
};

double largest(const Array& array) {
  double most = 0;
  for (const Complex& x : array.v)
    if (std::isfinite(std::abs(x))) most = std::max(most, std::abs(x));
  return most;
}

// `factor`: how many of the layer's roundings may add up.
std::string compare(const std::vector<Array>& got, const std::vector<Array>& wanted,
                    double tolerance, double factor = 1) {
  if (got.size() != wanted.size()) return "another number of results than without the layer";
  for (size_t k = 0; k < got.size(); ++k) {
    const std::string name = "result " + std::to_string(k);
    if (got[k].shape != wanted[k].shape || got[k].dtype != wanted[k].dtype)
      return name + " has another shape or dtype than without the layer";
    if (tolerance < 0) continue;
    const double most = largest(wanted[k]) * tolerance * factor;
    for (size_t i = 0; i < got[k].size(); ++i) {
      const Complex a = got[k].v[i], b = wanted[k].v[i];
      const bool same = a == b || (std::isnan(a.real()) && std::isnan(b.real()));
      if (!same && !(std::abs(a - b) <= most))
        return name + ": element " + std::to_string(i) + " is " + std::to_string(a.real()) +
               ", without the layer " + std::to_string(b.real());
    }
  }
  return {};
}

std::vector<Array> results_of(const Call& call) {
  const NoGrad off;
  std::vector<Array> arrays;
  for (const Tensor& tensor : call.run()) arrays.push_back(to_array(tensor));
  return arrays;
}

bool repeats(const std::string& op, const Call& call) {
  const std::string schema(detail::to_view(tn_op_schema(tn_op_find(detail::to_str(op)))));
  return call.written().empty() && schema.find("generator") == std::string::npos;
}

// Every op in the samples, with its first sample.
std::vector<std::string> sampled_ops() {
  std::vector<std::string> names;
  for (const Sample& sample : table().samples()) names.push_back(sample.op);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string check_call(const Call& call, const tn_offered_layer& layer) {
  const std::vector<Array> wanted = results_of(call);
  const Under under(layer);
  return compare(results_of(call), wanted, layer.tolerance);
}

// Loss and gradients of a network with a hidden layer.
std::vector<Array> gradients_of(Device device) {
  const auto made = [&](const Shape& shape, float scale) {
    std::vector<float> values(static_cast<size_t>(Array::count(shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = scale * (static_cast<float>(i % 7) - 3);
    return tensor(values, shape, TensorOptions(device));
  };
  Tensor w = made({8, 16}, 0.1f), v = made({16, 4}, 0.1f);
  w.requires_grad_(), v.requires_grad_();
  const Tensor d = matmul(gelu(matmul(made({5, 8}, 0.5f), w)), v) - made({5, 4}, 0.2f);
  const Tensor loss = mean(d * d);
  loss.backward();
  return {to_array(loss), to_array(w.grad()), to_array(v.grad())};
}

std::string check_gradients(const tn_offered_layer& layer, Device device) {
  const std::vector<Array> wanted = gradients_of(device);
  const Under under(layer);
  return compare(gradients_of(device), wanted, layer.tolerance, 8);
}

// A failing call leaves the thread's layers unchanged, and the layer keeps working.
std::string check_errors(const tn_offered_layer& layer, Device device) {
  const auto shapes_differ = [&] {
    try {
      static_cast<void>(ones({2, 3}, DType::F32, device) + ones({4}, DType::F32, device));
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  const Under under(layer);
  if (!shapes_differ()) return "shapes that do not broadcast are no error under it";
  const Under twice(layer);  // over itself, because programs may nest it
  return shapes_differ() ? "" : "shapes that do not broadcast are no error under it, twice";
}

std::string check_threads(const tn_offered_layer& layer, Device device) {
  std::string problems[4];
  std::vector<std::thread> threads;
  for (std::string& problem : problems)
    threads.emplace_back([&] {
      try {
        problem = check_gradients(layer, device);
      } catch (const std::exception& error) {
        problem = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems)
    if (!problem.empty()) return "on four threads: " + problem;
  return {};
}

std::string check_memory(const tn_offered_layer& layer, Device device) {
  const auto used = [&] {
    device.synchronize();
    return device.memory().used + Device("cpu").memory().used;
  };
  const auto run = [&] {
    const Under under(layer);
    static_cast<void>(gradients_of(device));
  };
  run();  // plans and caches are made once
  const uint64_t before = used();
  for (int i = 0; i < 3; ++i) run();
  const uint64_t after = used();
  return after == before ? ""
                         : std::to_string(static_cast<int64_t>(after - before)) +
                               " bytes more are in use after three passes under it";
}

}  // namespace

std::vector<std::string> layers_units(const Claims& claims) { return claims.layers; }

void run_layers(const Subject& given, const std::string& unit, Sink& sink) {
  Subject subject = given;
  load_subject(subject);  // so that its id is known
  const Options options = options_for(subject, true);
  const Device device = options.device;
  for (const tn_offered_layer& layer : layers_of(subject)) {
    if (detail::to_view(layer.name) != unit) continue;
    for (const std::string& op : sampled_ops()) {
      const auto call = first_call(op, options);
      if (call == nullptr || !repeats(op, *call)) continue;
      std::string name = unit + "/";
      run_case(sink, name += op, [&] { return check_call(*call, layer); });
    }
    run_case(sink, unit + "/errors", [&] { return check_errors(layer, device); });
    run_case(sink, unit + "/gradients", [&] { return check_gradients(layer, device); });
    run_case(sink, unit + "/threads", [&] { return check_threads(layer, device); });
    run_case(sink, unit + "/memory", [&] { return check_memory(layer, device); });
  }
}

}  // namespace tenon::conformance
