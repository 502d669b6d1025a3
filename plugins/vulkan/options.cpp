#include "options.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "../common/cache_file.hpp"
#include "tenon/barrier.hpp"

namespace tenon::vulkan {
namespace {

// Ignored in a setuid process: its caller must not choose which files it reads and writes.
std::string variable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool flag(const char* name, bool otherwise = false) {
  const std::string value = variable(name);
  if (value.empty()) return otherwise;
  if (value == "0" || value == "1") return value == "1";
  sdk::fail(TN_INVALID_ARGUMENT, "[vulkan] ", name, " is '", value, "'; set it to 0 or 1");
}

uint64_t number(std::string_view text, const char* name) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0)
    sdk::fail(TN_INVALID_ARGUMENT, "[vulkan] ", name, ": '", std::string(text),
              "' is no positive whole number");
  return value;
}

Options::Cooperative cooperative() {
  const std::string value = variable("TENON_VULKAN_COOPERATIVE");
  if (value.empty()) return Options::Cooperative::kWhereOffered;
  if (value == "never") return Options::Cooperative::kNever;
  if (value == "emulated") return Options::Cooperative::kEmulated;
  if (value == "wrong") return Options::Cooperative::kWrong;
  sdk::fail(TN_INVALID_ARGUMENT, "[vulkan] TENON_VULKAN_COOPERATIVE is '", value,
            "'; set it to never, emulated or wrong");
}

Fault fault() {
  const char* name = "TENON_VULKAN_FAULT";
  const std::string value = variable(name);
  if (value.empty()) return {};
  const size_t colon = value.find(':');
  const std::string kind = value.substr(0, colon);
  Fault made;
  if (kind == "lost") made.kind = Fault::kLost;
  if (kind == "hang") made.kind = Fault::kHang;
  if (kind == "memory") made.kind = Fault::kMemory;
  if (made.kind == Fault::kNone || colon == std::string::npos)
    sdk::fail(TN_INVALID_ARGUMENT, "[vulkan] ", name, " is '", value,
              "'; set it to lost:N, hang:N or memory:N");
  made.at = number(std::string_view(value).substr(colon + 1), name);
  return made;
}

}  // namespace

Options read_options() {
  Options options;
  options.descriptors = flag("TENON_VULKAN_DESCRIPTORS");
  options.robust = flag("TENON_VULKAN_ROBUST");
  options.cooperative = cooperative();
  if (const std::string n = variable("TENON_VULKAN_STREAMS"); n == "2")
    options.two_streams = true;
  else if (!n.empty() && n != "1")
    sdk::fail(TN_INVALID_ARGUMENT, "[vulkan] TENON_VULKAN_STREAMS is '", n, "'; set it to 1 or 2");
  options.subgroups = flag("TENON_VULKAN_SUBGROUPS", true);
  options.spread = flag("TENON_VULKAN_SPREAD");
  options.validation = variable("TENON_VULKAN_VALIDATION");
  if (const std::string& v = options.validation;
      !v.empty() && v != "core" && v != "sync" && v != "gpu")
    sdk::fail(TN_INVALID_ARGUMENT, "[vulkan] TENON_VULKAN_VALIDATION is '", v,
              "'; set it to core, sync or gpu");
  options.cache = secure_getenv("TENON_VULKAN_CACHE") != nullptr ? variable("TENON_VULKAN_CACHE")
                                                                 : cache_directory("vulkan");
  const std::string seconds = variable("TENON_VULKAN_TIMEOUT");
  options.timeout_ns =
      (seconds.empty() ? 120 : number(seconds, "TENON_VULKAN_TIMEOUT")) * 1'000'000'000;
  options.fault = fault();
  return options;
}

}  // namespace tenon::vulkan
