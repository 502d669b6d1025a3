#include "library_kernel.hpp"

#include <cstdlib>

#include "../common/dtype.hpp"
#include "range.hpp"

namespace tenon::gpu {
namespace {

const LibraryKernel& kernel_of(void* self) { return *static_cast<const LibraryKernel*>(self); }

// The next kernel for the op after a library's, with a plan of its own.
class LeftPlan final : public LibraryPlan {
 public:
  LeftPlan(const tn_kernel& next, const tn_call& call) : next_(next) {
    if (next.prepare != nullptr) sdk::check(next.prepare(next.self, &call, &plan_));
    if (next.scratch_size != nullptr) workspace = next.scratch_size(next.self, &call, plan_);
  }
  LeftPlan(const LeftPlan&) = delete;
  LeftPlan& operator=(const LeftPlan&) = delete;
  ~LeftPlan() override {
    if (plan_ != nullptr) next_.release(next_.self, plan_);
  }
  void run(const tn_call& call) const override { sdk::check(next_.run(next_.self, plan_, &call)); }

 private:
  const tn_kernel& next_;
  void* plan_ = nullptr;
};

// Named after the library, for profilers.
struct Made {
  std::unique_ptr<LibraryPlan> plan;
  bool by_library;
};

// Whether the core could have chosen it for exactly the arguments that the library's kernel got.
bool can_follow(const tn_kernel& kernel, const LibraryKernel::About& about, const tn_call& call) {
  return sdk::view_of(kernel.op) == about.schema && kernel.priority < about.priority &&
         (kernel.dtypes & TN_MASK(dtype_of(call))) != 0 &&
         (kernel.flags & about.flags) == about.flags;
}

// The kernel with the highest priority that takes the call.
const tn_kernel* next_kernel(const LibraryKernel& kernel, const tn_call& call) {
  const tn_kernel* best = nullptr;
  for (const auto* list : {&vendor_kernels(), &all_kernels()})
    for (const tn_kernel& other : *list) {
      if (!can_follow(other, kernel.about(), call)) continue;
      if (best != nullptr && best->priority >= other.priority) continue;
      if (is_taken_by(other, call)) best = &other;
    }
  return best;
}

// "conv of f16 (8, 3, 224, 224), (64, 3, 7, 7)"
std::string words_of(const LibraryKernel& kernel, const tn_call& call) {
  std::string text = kernel.op();
  for (uint32_t i = 0, seen = 0; i < call.nargs; ++i) {
    const tn_view* const view = input_or_null(call, i);
    if (view == nullptr) continue;
    text += seen++ == 0 ? std::string(" of ") + name_of(view->dtype) + " (" : ", (";
    for (uint32_t d = 0; d < view->ndim; ++d)
      text += (d == 0 ? "" : ", ") + std::to_string(view->shape[d]);
    text += ")";
  }
  return text;
}

// A plan is made once for a set of shapes, so this is logged once for them.
void tell_left(const LibraryKernel& kernel, const tn_call& call, const sdk::Error& error) {
  const bool failed = error.code() != TN_UNIMPLEMENTED;
  const std::string message = words_of(kernel, call) +
                              " goes to the next kernel: " + kernel.about().library +
                              (failed ? " failed: " : " has no way for it: ") + error.what();
  sdk::host()->log(failed ? 2 : 1, sdk::str_of(message));
}

Made make_plan(const LibraryKernel& kernel, const tn_call& call) {
  rt::use(call.device_index);
  try {
    return {kernel.prepare(call), true};
  } catch (const sdk::Error& error) {
    if (error.code() != TN_UNIMPLEMENTED && error.code() != TN_FAILED_PRECONDITION) throw;
    std::unique_ptr<LibraryPlan> left = plan_of_next(kernel, call);
    if (left == nullptr) throw;
    tell_left(kernel, call, error);
    return {std::move(left), false};
  }
}

void run(const LibraryKernel& kernel, const Made& made, const tn_call& call) {
  if (!made.by_library) return made.plan->run(call);
  const Running here(call, kernel.op(), kernel.about().library);
  made.plan->run(call);
}

}  // namespace

LibraryKernel::LibraryKernel(const About& about)
    : about_(about), op_(about.schema.substr(0, about.schema.find('('))) {}

std::unique_ptr<LibraryPlan> plan_of_next(const LibraryKernel& kernel, const tn_call& call) {
  const tn_kernel* const next = next_kernel(kernel, call);
  return next != nullptr ? std::make_unique<LeftPlan>(*next, call) : nullptr;
}

tn_kernel library_kernel(const LibraryKernel& kernel) {
  const LibraryKernel::About& about = kernel.about();
  tn_kernel made = sdk::make_kernel(
      about.schema, about.dtypes,
      [](void* self, void* plan, const tn_call* call) -> tn_status* {
        return sdk::guard([&] { run(kernel_of(self), *static_cast<const Made*>(plan), *call); });
      },
      about.priority, about.flags);
  made.supports = [](void* self, const tn_call* call, uint32_t* yes) -> tn_status* {
    return sdk::guard([&] { *yes = kernel_of(self).takes(*call) ? 1 : 0; });
  };
  made.prepare = [](void* self, const tn_call* call, void** plan) -> tn_status* {
    return sdk::guard([&] { *plan = new Made(make_plan(kernel_of(self), *call)); });
  };
  made.scratch_size = [](void*, const tn_call*, void* plan) {
    return static_cast<const Made*>(plan)->plan->workspace;
  };
  made.release = [](void*, void* plan) { delete static_cast<Made*>(plan); };
  made.self = const_cast<LibraryKernel*>(&kernel);
  return made;
}

double number_from(const char* variable, double otherwise) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? std::strtod(value, nullptr) : otherwise;
}

const tn_kernel& own_kernel(std::string_view schema) {
  for (const tn_kernel& kernel : all_kernels())
    if (sdk::view_of(kernel.op) == schema) return kernel;
  sdk::fail(TN_INTERNAL, "[", rt::kName, "] no kernel of its own for ", schema);
}

bool is_taken_by(const tn_kernel& kernel, const tn_call& call) {
  if (kernel.supports == nullptr) return true;
  uint32_t yes = 0;
  tn_status* const status = kernel.supports(kernel.self, &call, &yes);
  if (status != nullptr) {
    sdk::host()->status_release(status);
    return false;
  }
  return yes != 0;
}

}  // namespace tenon::gpu
