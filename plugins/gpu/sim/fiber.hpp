// A stack of its own to run on: Boost.Context, and what AddressSanitizer is told when stacks change.
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
// Lives while another stack runs; ends when this one runs on, or is unwound.
class Away {
 public:
  explicit Away(const Stack& to) { __sanitizer_start_switch_fiber(&own_, to.bottom, to.bytes); }
  ~Away() { __sanitizer_finish_switch_fiber(own_, nullptr, nullptr); }
  Away(const Away&) = delete;

  // The first thing on a new stack: gives the one that it was started from.
  static Stack arrive() {
    Stack from;
    __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.bytes);
    return from;
  }
  // The last thing on a stack.
  static void leave(const Stack& to) {
    __sanitizer_start_switch_fiber(nullptr, to.bottom, to.bytes);
  }

 private:
  void* own_ = nullptr;
};

// Lives while a stack is made: its first frame is not one of the stack that makes it, whose frames an exception looks through.
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
  ~Away() {}  // not trivial, so that its users need not name it
  static Stack arrive() { return {}; }
  static void leave(const Stack&) {}
};
using Making = Away;
#endif

class Fiber {
 public:
  using Stacks = boost::context::pooled_fixedsize_stack;

  // body() never returns; it is unwound where it waits when the fiber goes.
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

  // Until it waits. From outside.
  void run() {
    const Away away(stack_);
    self_ = std::move(self_).resume();
  }
  // Until it is run again. From inside.
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
  boost::context::fiber self_;    // while others run
  boost::context::fiber caller_;  // while it runs
};

}  // namespace tenon::gpu::sim
