// What these tests share: statuses as values, the backend's controls, tensors on its device.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "faulty.hpp"
#include "tenon/plugin.h"
#include "tenon/tenon.h"
#include "tenon/tenon.hpp"

namespace tenon::test {

inline tn_str str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text(tn_str value) { return {value.data, static_cast<size_t>(value.size)}; }

struct Outcome {
  uint32_t code = TN_OK;
  std::string message;
};
inline Outcome take(tn_status* status) {
  Outcome outcome{tn_status_code(status), text(tn_status_message(status))};
  tn_status_release(status);
  return outcome;
}
inline std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << "code " << outcome.code << ": " << outcome.message;
}
// What a body of C++ calls comes to.
template <class Body>
Outcome outcome_of(Body&& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
}

// The controls of a loaded backend: the library is open already, so this finds the same one.
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

inline tn_memory_stats stats_of(const Device& device) {
  tn_memory_stats stats{};
  stats.struct_size = sizeof stats;
  take(tn_memory_get_stats(device.get(), &stats));
  return stats;
}

}  // namespace tenon::test
