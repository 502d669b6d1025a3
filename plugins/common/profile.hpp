// What a plugin with devices tells a profiler (tenon/ext/draft/profiler.h): when its devices ran what a thread enqueued, and when the
// host waited. While nobody listens, each call only reads one number.
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

// The functions that a plugin defines.
struct Profiled {
  const char* device_type;
  void (*begin)();   // a session begins on some thread; may throw sdk::Error
  void (*settle)();  // waits for the devices; has added every span when it returns or throws
};
extern const Profiled kProfiled;

// The call whose work a thread is enqueuing.
struct Label {
  uint32_t session = 0;  // 0: nobody listens to this thread
  uint64_t tag = 0;
  std::string_view op;  // static storage
  uint64_t bytes = 0;   // of operands and results that no span has reported yet
};

class Profile {
 public:
  // Whether anybody listens, on any thread.
  bool on() const { return listeners_.load(std::memory_order_relaxed) != 0; }
  static Label& label();         // of this thread
  static Label label_of_span();  // the same for a span: bytes are reported once

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
// The table if a plugin is asked for the profiler's interface; NULL for any other.
const void* profiler_interface(tn_str name, uint32_t revision);

// The least that a kernel reads and writes: each operand and result once, and a repeated element once.
uint64_t bytes_of(const tn_call& call);

// While it lives, the thread's work belongs to a call of an op: a name or a schema of static storage.
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

// The current time in seconds, on the clock used for waits.
double host_seconds();

// While it lives, the thread is waiting for a device.
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
