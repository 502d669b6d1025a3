// Kernels that use a vendor's library. If the library turns out, while planning, to have no way to compute a call, the op's next kernel
// gets it: that of another library, or the plugin's own. To add one, write a LibraryKernel for each op and put its tn_kernel into
// vendor_kernels().
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kernels.hpp"

namespace tenon::gpu {

// Made once for a set of shapes and kept by the core. Several threads may use it.
class LibraryPlan {
 public:
  virtual ~LibraryPlan() = default;
  // Enqueues the call. May throw sdk::Error. [stream-ordered]
  virtual void run(const tn_call& call) const = 0;

  uint64_t workspace = 0;  // bytes in call.scratch
};

class LibraryKernel {
 public:
  // The strings have static storage.
  struct About {
    std::string_view schema;  // TN_SCHEMA_… of tenon/schemas.h
    const char* library;      // its name in messages
    uint64_t dtypes;          // mask over the first tensor input
    uint32_t flags = 0;       // TN_KERNEL_…
    // Above 0, the priority of the plugin's own kernels. The library to try first has the highest.
    int32_t priority = 10;
  };
  explicit LibraryKernel(const About& about);
  virtual ~LibraryKernel() = default;

  const About& about() const { return about_; }
  const char* op() const { return op_.c_str(); }

  // Whether the library is present and may take the call. Look at the call first, because asking whether the library is present may open
  // it. [thread-safe]
  virtual bool takes(const tn_call& call) const = 0;
  // The device is already chosen. Anything thrown leaves the call to the next kernel and is logged: TN_UNIMPLEMENTED if the library has no
  // way to compute it (info), TN_FAILED_PRECONDITION if it should have one but failed (a warning, with what to do). [thread-safe]
  virtual std::unique_ptr<LibraryPlan> prepare(const tn_call& call) const = 0;

 private:
  About about_;
  std::string op_;
};

// A plan of the op's next kernel for the call; NULL if none takes it. [thread-safe]
std::unique_ptr<LibraryPlan> plan_of_next(const LibraryKernel& kernel, const tn_call& call);

// In the core's form. Keeps `kernel`.
tn_kernel library_kernel(const LibraryKernel& kernel);

// The alignment that library kernels require for vectors.
inline bool is_aligned(const void* address, uintptr_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

// A number from an environment variable: below this much work, a library does not repay its fixed cost.
double number_from(const char* variable, double otherwise);

// The plugin's own kernel for the op. Its prepare is NULL: it needs no plan. [thread-safe]
const tn_kernel& own_kernel(std::string_view schema);
// Whether the kernel takes the call; an error means no.
bool is_taken_by(const tn_kernel& kernel, const tn_call& call);

}  // namespace tenon::gpu
