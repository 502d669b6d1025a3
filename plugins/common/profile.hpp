// What a profiler hears (tenon/ext/draft/profiler.h) of a plugin with devices: when they ran what a thread enqueued, and waits of the
// host. While nobody listens it costs a look at one number for each call.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "tenon/ext/draft/profiler.h"
#include "tenon/plugin.h"

namespace tenon {

// What a plugin defines of itself.
struct Profiled {
  const char* device_type;
  void (*begin)();   // a thread will be listened to; may throw sdk::Error
  void (*settle)();  // waits for the devices, with every span added when it returns or throws
};
extern const Profiled kProfiled;

// Whose work a thread enqueues.
struct Label {
  uint32_t session = 0;  // 0: nobody listens to this thread
  uint64_t tag = 0;
  std::string_view op;  // static storage
  uint64_t bytes = 0;   // of operands and results that no span has told yet
};

class Profile {
 public:
  // Whether anybody listens, to whatever thread.
  bool on() const { return listeners_.load(std::memory_order_relaxed) != 0; }
  static Label& label();         // of this thread
  static Label label_of_span();  // the same, for a span: the bytes are told once

  void start();  // throws sdk::Error
  void stop(void (*tell)(void* ctx, const tn_profiler_span* span), void* ctx);
  // `what` has static storage. [thread-safe]
  void add(const Label& label, uint32_t kind, uint32_t device, std::string_view what, double start,
           double end);

 private:
  std::atomic<uint32_t> listeners_{0};
  std::mutex mutex_;
  uint32_t last_session_ = 0;
  std::map<uint32_t, std::vector<tn_profiler_span>> heard_;
};

Profile& profile();
const tn_profiler& profiler_table();
// The table, where a plugin is asked for the profiler's interface; NULL for another.
const void* profiler_interface(tn_str name, uint32_t revision);

// What a kernel reads and writes at least: each of its operands and results once, an element that is repeated once.
uint64_t bytes_of(const tn_call& call);

// Within it, what the thread enqueues belongs to a call of an op: a name or a schema of static storage.
class Labelled {
 public:
  Labelled(std::string_view op, const tn_call& call) {
    if (!profile().on()) return;
    Label& here = Profile::label();
    before_ = here.op;
    here.op = op.substr(0, op.find('('));
    here.bytes = bytes_of(call);
    set_ = true;
  }
  ~Labelled() {
    if (!set_) return;
    Profile::label().op = before_;
    Profile::label().bytes = 0;
  }
  Labelled(const Labelled&) = delete;
  Labelled& operator=(const Labelled&) = delete;

 private:
  std::string_view before_;
  bool set_ = false;
};

// Now, in seconds of the clock that waits are told in.
double host_seconds();

// While it lives the thread waits for a device.
class Waited {
 public:
  explicit Waited(uint32_t device) : device_(device), begin_(profile().on() ? host_seconds() : 0) {}
  ~Waited() {
    if (begin_ != 0)
      profile().add(Profile::label(), TN_PROFILER_WAITED, device_, "wait", begin_, host_seconds());
  }
  Waited(const Waited&) = delete;
  Waited& operator=(const Waited&) = delete;

 private:
  uint32_t device_;
  double begin_;
};

}  // namespace tenon
