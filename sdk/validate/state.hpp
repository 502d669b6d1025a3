// State that the parts of the layer share: where each thread is, what was found, the host's statuses, faults.
#pragma once

#include <fmt/core.h>

#include <exception>
#include <mutex>
#include <string>
#include <string_view>

#include "tenon/validate.h"

namespace tenon::validate {

inline std::string_view text_of(tn_str text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}
inline tn_str to_str(std::string_view text) { return {text.data(), text.size()}; }

// One lock for everything the layer knows; never held while outside code runs.
std::mutex& state_mutex();

// The core's own table; set before anything else is called.
extern const tn_host* g_host;

// A call in progress between the core and a plugin, on this thread.
struct Crossing {
  std::string_view plugin;
  std::string_view slot;  // "kernel.run"
  std::string_view op;
  const void* subject = nullptr;  // the tn_call or tn_grad_call that host functions may be given
  Crossing* outer;

  Crossing(std::string_view plugin, std::string_view slot, std::string_view op = {},
           const void* subject = nullptr);
  ~Crossing();
  Crossing(const Crossing&) = delete;
  Crossing& operator=(const Crossing&) = delete;
};
Crossing* current_crossing();
// The op that runs on this thread, however deeply nested; may be empty.
std::string_view current_op();
// Whether a crossing on any thread is about `subject`.
bool is_running(const void* subject);

// Records and logs a violation by the plugin at the innermost crossing.
void found(uint32_t kind, const std::string& text);
// The same as an error, which a slot returns instead of continuing.
tn_status* refused(uint32_t kind, const std::string& text);

void begin_phase();
void end_phase();
// Whether this thread runs a plugin's start or quiesce, or the core is setting up its own device.
bool in_init_phase();

// Statuses that plugins hold.
tn_status* handed_out(tn_status* status);  // the host made it; NULL is success
bool take_back(tn_status* status);         // false if it is none of them
// A status that a slot of a plugin returned: itself, or TN_INTERNAL if it is not one of the host's.
tn_status* returned(tn_status* status);

// The status to return instead of calling, if a fault asks for it.
tn_status* injected(std::string_view device_type, std::string_view slot);

bool is_utf8(std::string_view text);

// Calls a slot that returns a status; anything it throws becomes one.
template <class Call>
tn_status* cross(Call&& call) noexcept {
  try {
    return returned(call());
  } catch (const std::exception& error) {
    return refused(
        TN_VIOLATION_EXCEPTION,
        fmt::format("an exception left it: {}; the SDK's barrier makes it a status", error.what()));
  } catch (...) {
    return refused(TN_VIOLATION_EXCEPTION,
                   "an exception left it; the SDK's barrier makes it a status");
  }
}
// The same for slots that return no status.
template <class Call>
void cross_void(Call&& call) noexcept {
  tn_status* status = cross([&]() -> tn_status* {
    call();
    return nullptr;
  });
  if (status != nullptr) g_host->status_release(status);
}

}  // namespace tenon::validate
