#include "library.hpp"

#include <cstdlib>
#include <string_view>

#include "runtime.hpp"
#include "tenon/plugin.hpp"

namespace tenon::gpu {

void* open_library(std::initializer_list<const char*> names, const char* variable,
                   std::string& reason) {
  const char* const wanted = std::getenv(variable);
  if (wanted != nullptr && std::string_view(wanted) == "0") {
    reason = std::string(variable) + " is 0";
    return nullptr;
  }
  for (const char* const name : names)
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr)
      return library;
  reason = std::string(*names.begin()) + " is not found";
  return nullptr;
}

void log_without(const char* what, const std::string& reason, const char* by) {
  const std::string message =
      std::string("[") + rt::kName + "] " + what + " by " + by + ", as " + reason;
  sdk::host()->log(1, sdk::str_of(message));
}

}  // namespace tenon::gpu
