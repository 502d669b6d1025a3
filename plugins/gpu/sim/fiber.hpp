// Separate stacks to run on: Boost.Context, with notices to AddressSanitizer when stacks change.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TENON_FIBERS_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_FIBERS_ASAN
#endif
#endif
#if defined(TENON_FIBERS_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tenon::gpu::sim {

struct Stack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

#if defined(TENON_FIBERS_ASAN)
// Lives while another stack runs, and ends when this one resumes or is unwound.
class Away {
 public:
  explicit Away(const Stack& to) { __sanitizer_start_switch_fiber(&own_, to.bottom, to.bytes); }
  ~Away() { __sanitizer_finish_switch_fiber(own_, nullptr, nullptr); }
  Away(const Away&) = delete;

  // First call on a new stack: returns the stack that started it.
  static Stack arrive() {
    Stack from;
    __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.bytes);
    return from;
  }
  // Last call on a stack.
  static void leave(const Stack& to) {
    __sanitizer_start_switch_fiber(nullptr, to.bottom, to.bytes);
  }

 private:
  void* own_ = nullptr;
};

// Lives while a stack is created: its first frame is outside the creator's stack, whose frames an exception looks through.
class Making {
 public:
  explicit Making(const Stack& made) {
    __sanitizer_start_switch_fiber(&own_, made.bottom, made.bytes);
  }
  ~Making() {
    Stack own;
    __sanitizer_finish_switch_fiber(nullptr, &own.bottom, &own.bytes);
    __sanitizer_start_switch_fiber(nullptr, own.bottom, own.bytes);
    __sanitizer_finish_switch_fiber(own_, nullptr, nullptr);
  }
  Making(const Making&) = delete;

 private:
  void* own_ = nullptr;
};
#else
class Away {
 public:
  explicit Away(const Stack&) {}
  ~Away() {}  // not trivial, so that its users cause no unused warning
  static Stack arrive() { return {}; }
  static void leave(const Stack&) {}
};
using Making = Away;
#endif

class Fiber {
 public:
  using Stacks = boost::context::pooled_fixedsize_stack;

  // body() never returns. It is unwound where it waits when the fiber is destroyed.
  template <class Body>
  Fiber(Stacks& stacks, Body body) {
    const boost::context::stack_context stack = stacks.allocate();
    stack_ = {static_cast<char*>(stack.sp) - stack.size, stack.size};
    const Making making(stack_);
    self_ = boost::context::fiber(std::allocator_arg,
                                  boost::context::preallocated(stack.sp, stack.size, stack), stacks,
                                  [this, body](boost::context::fiber&& caller) {
                                    const Visit visit;
                                    caller_stack_ = visit.from;
                                    caller_ = std::move(caller);
                                    while (true) body();
                                    return std::move(caller_);
                                  });
  }
  ~Fiber() {
    const Away away(stack_);
    self_ = boost::context::fiber();
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs it until it waits. Called from outside.
  void run() {
    const Away away(stack_);
    self_ = std::move(self_).resume();
  }
  // Waits until it is run again. Called from inside.
  void wait() {
    const Away away(caller_stack_);
    caller_ = std::move(caller_).resume();
  }

 private:
  struct Visit {
    Stack from = Away::arrive();
    ~Visit() { Away::leave(from); }
  };

  Stack stack_, caller_stack_;
  boost::context::fiber self_;    // while another runs
  boost::context::fiber caller_;  // while this one runs
};

}  // namespace tenon::gpu::sim
