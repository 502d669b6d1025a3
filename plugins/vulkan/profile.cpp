#include "profile.hpp"

#include <chrono>
#include <utility>

#include "backend.hpp"

namespace tenon::vulkan {

Profile& profile() {
  static Profile& one = *new Profile;  // streams may outlive what is destroyed at the end
  return one;
}

Label& Profile::label() {
  thread_local Label here;
  return here;
}

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Profile::start() {
  Label& here = label();
  if (here.session != 0)
    sdk::fail(TN_FAILED_PRECONDITION, "[vulkan] this thread is profiled already");
  backend().flush_all();  // a batch is timed whole or not at all
  const std::lock_guard lock(mutex_);
  here = {++last_session_, 0, {}};
  heard_[here.session];
  ++listeners_;
}

void Profile::stop(void (*tell)(void* ctx, const tn_profiler_span* span), void* ctx) {
  const uint32_t session = std::exchange(label(), Label()).session;
  if (session == 0) sdk::fail(TN_FAILED_PRECONDITION, "[vulkan] this thread is not profiled");
  tn_status* status = sdk::guard([] { backend().synchronize_all(); });
  std::vector<tn_profiler_span> spans;
  {
    const std::lock_guard lock(mutex_);
    spans = std::move(heard_[session]);
    heard_.erase(session);
    --listeners_;
  }
  for (const tn_profiler_span& span : spans)
    if (tell != nullptr) tell(ctx, &span);
  sdk::check(sdk::host(), status);
}

void Profile::add(const Label& label, uint32_t kind, uint32_t device, std::string_view what,
                  double start, double end) {
  const std::lock_guard lock(mutex_);
  const auto found = heard_.find(label.session);
  if (found == heard_.end()) return;  // it has ended meanwhile
  found->second.push_back({sizeof(tn_profiler_span), kind, device, 0, label.tag,
                           sdk::str_of(label.op), sdk::str_of(what), start, end});
}

const tn_profiler& profiler_table() {
  static const tn_profiler table = {
      sizeof(tn_profiler),
      0,
      sdk::str_of("vulkan"),
      [] { return sdk::guard([] { profile().start(); }); },
      [](uint64_t tag) { return std::exchange(Profile::label().tag, tag); },
      [](void (*tell)(void* ctx, const tn_profiler_span* span), void* ctx) {
        return sdk::guard([&] { profile().stop(tell, ctx); });
      }};
  return table;
}

}  // namespace tenon::vulkan
