// Ranges for AMD's profilers. ROCTX is a separate library: either a profiler has loaded it, or TENON_ROCM_ROCTX=1 asks for it. Otherwise a
// range only checks a pointer.
#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "range.hpp"

namespace tenon::gpu::rt {
namespace {

// Newest first: rocprofiler-sdk's, then roctracer's.
constexpr const char* kLibraries[] = {"librocprofiler-sdk-roctx.so.1",
                                      "librocprofiler-sdk-roctx.so.0", "libroctx64.so.4"};

struct Roctx {
  int (*push)(const char* name) = nullptr;
  int (*pop)() = nullptr;
};

Roctx open_roctx() noexcept {
  const char* const asked = std::getenv("TENON_ROCM_ROCTX");
  const bool may_load = asked != nullptr && std::string_view(asked) == "1";
  for (const int how : {RTLD_NOLOAD, 0}) {  // prefers what a profiler has loaded
    if (how == 0 && !may_load) break;
    for (const char* const name : kLibraries) {
      void* const library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | how);  // never closed
      if (library == nullptr) continue;
      Roctx found;
      found.push = reinterpret_cast<int (*)(const char*)>(dlsym(library, "roctxRangePushA"));
      found.pop = reinterpret_cast<int (*)()>(dlsym(library, "roctxRangePop"));
      if (found.push != nullptr && found.pop != nullptr) return found;
    }
  }
  return {};
}

const Roctx& roctx() noexcept {
  static const Roctx one = open_roctx();
  return one;
}

}  // namespace

void range_push(const char* name) noexcept {
  if (roctx().push != nullptr) roctx().push(name);
}
void range_pop() noexcept {
  if (roctx().push != nullptr) roctx().pop();
}

}  // namespace tenon::gpu::rt
