// Kernels by a vendor's library: what the library turns out, when a plan is made, to have no way for goes to the next kernel of the
// op: another library's, or the plugin's own. To add one: a LibraryKernel per op, its tn_kernel in vendor_kernels().
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kernels.hpp"

namespace tenon::gpu {

// What is made once per shapes and kept by the core. Several threads may use it.
class LibraryPlan {
 public:
  virtual ~LibraryPlan() = default;
  // Enqueues the call. May throw sdk::Error. [stream-ordered]
  virtual void run(const tn_call& call) const = 0;

  uint64_t workspace = 0;  // bytes of call.scratch
};

class LibraryKernel {
 public:
  // The strings live as long as the kernel: static storage.
  struct About {
    std::string_view schema;  // TN_SCHEMA_… of tenon/schemas.h
    const char* library;      // as people call it
    uint64_t dtypes;          // mask over the first tensor input
    uint32_t flags = 0;       // TN_KERNEL_…
    // Above 0, which the plugin's own kernels have; the library to be asked first has the highest.
    int32_t priority = 10;
  };
  explicit LibraryKernel(const About& about);
  virtual ~LibraryKernel() = default;

  const About& about() const { return about_; }
  const char* op() const { return op_.c_str(); }

  // Whether the library is there and may take the call. Look at the call first: to ask whether it
  // is there may open it. [thread-safe]
  virtual bool takes(const tn_call& call) const = 0;
  // The device is chosen. What is thrown leaves the call to the next kernel, which the log tells: TN_UNIMPLEMENTED where the library
  // has no way for it (info), TN_FAILED_PRECONDITION where it should have one and failed (a warning, with what to do). [thread-safe]
  virtual std::unique_ptr<LibraryPlan> prepare(const tn_call& call) const = 0;

 private:
  About about_;
  std::string op_;
};

// A plan of the kernel that comes after it for the call; NULL where none does. [thread-safe]
std::unique_ptr<LibraryPlan> plan_of_next(const LibraryKernel& kernel, const tn_call& call);

// As the core takes it. `kernel` is kept.
tn_kernel library_kernel(const LibraryKernel& kernel);

// As vectors of a library's kernels ask for it.
inline bool is_aligned(const void* address, uintptr_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

// The number that a variable of the environment says, as work below which a library is not worth its fixed cost.
double number_from(const char* variable, double otherwise);

// The plugin's own kernel of the op; its prepare is NULL: it runs without a plan. [thread-safe]
const tn_kernel& own_kernel(std::string_view schema);
// Whether the kernel takes the call; an error counts as no.
bool is_taken_by(const tn_kernel& kernel, const tn_call& call);

}  // namespace tenon::gpu
