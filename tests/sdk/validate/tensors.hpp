// What these tests share: the backend's controls, tensors on its device, a training step.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "faulty.hpp"
#include "outcome.hpp"
#include "tenon/plugin.h"
#include "tenon/tenon.h"
#include "tenon/tenon.hpp"

namespace tenon::test {

// The outcome of running some C++ code.
template <class Body>
Outcome outcome_of(Body&& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
}

// The controls of a loaded backend: the library is already open, so this finds the same one.
inline FaultyControl& control_of(std::string_view type) {
  const std::string path = std::string(FAULTY_PLUGINS "/plugin_") + std::string(type) + ".so";
  const Outcome loaded = take(tn_plugin_load(str(path)));
  EXPECT_EQ(loaded.code, TN_OK) << loaded;
  void* library = dlopen(std::filesystem::canonical(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto query = reinterpret_cast<tn_plugin_query_fn>(dlsym(library, "tn_plugin_query"));
  const tn_plugin* plugin = nullptr;
  tn_status_release(query(TN_ABI_MAJOR, TN_ABI_MINOR, &plugin));
  return *const_cast<FaultyControl*>(
      static_cast<const FaultyControl*>(plugin->get_interface(nullptr, str(kControlInterface), 1)));
}

inline Device device_of(std::string_view type) {
  tn_device* device = nullptr;
  const Outcome found = take(tn_device_find(str(std::string(type) + ":0"), &device));
  EXPECT_EQ(found.code, TN_OK) << found;
  return Device(device);
}

inline Tensor on(const Device& device, const std::vector<float>& values) {
  const int64_t shape[] = {static_cast<int64_t>(values.size())};
  tn_tensor* made = nullptr;
  const Outcome outcome = take(tn_tensor_from_host(values.data(), values.size() * sizeof(float),
                                                   TN_DTYPE_F32, 1, shape, device.get(), &made));
  if (outcome.code != TN_OK) throw Error(outcome.code, outcome.message);
  return Tensor::adopt(made);
}

inline std::vector<float> read(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.numel()));
  const Outcome outcome =
      take(tn_tensor_to_host(tensor.get(), values.data(), values.size() * sizeof(float)));
  if (outcome.code != TN_OK) throw Error(outcome.code, outcome.message);
  return values;
}

// Forward, backward and an update, in kernels of the device.
inline std::vector<float> step(const Tensor& start) {
  Tensor x = start.clone().detach();
  x.requires_grad_();
  const Tensor y = mul(neg(x), add(x, x));
  y.backward(start);
  return read(add(x.detach(), x.grad()));
}

inline tn_memory_stats stats_of(const Device& device) {
  tn_memory_stats stats{};
  stats.struct_size = sizeof stats;
  take(tn_memory_get_stats(device.get(), &stats));
  return stats;
}

}  // namespace tenon::test
