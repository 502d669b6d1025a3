#include "profile.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "dtype.hpp"
#include "tenon/plugin.hpp"

namespace tenon {

Profile& profile() {
  static Profile& one = *new Profile;  // never destroyed: streams may outlive static objects
  return one;
}

Label& Profile::label() {
  thread_local Label here;
  return here;
}

Label Profile::label_of_span() {
  const Label told = label();
  label().bytes = 0;
  return told;
}

namespace {
uint64_t bytes_of(const tn_view& view) {
  uint64_t bytes = size_of(view.dtype);
  for (uint32_t d = 0; d < view.ndim; ++d)
    if (view.strides[d] != 0 || view.shape[d] == 0) bytes *= static_cast<uint64_t>(view.shape[d]);
  return bytes;
}
}  // namespace

uint64_t bytes_of(const tn_call& call) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < call.nargs; ++i) {
    const tn_value& arg = call.args[i];
    if (arg.tag == TN_VALUE_VIEW) bytes += bytes_of(*arg.as.view);
    if (arg.tag == TN_VALUE_VIEWS)
      for (uint32_t k = 0; k < arg.count; ++k)
        if (arg.as.views[k] != nullptr) bytes += bytes_of(*arg.as.views[k]);
  }
  for (uint32_t k = 0; k < call.nouts; ++k)
    if (call.outs[k] != nullptr) bytes += bytes_of(*call.outs[k]);
  return bytes;
}

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Profile::start() {
  Label& here = label();
  if (here.session != 0)
    sdk::fail(TN_FAILED_PRECONDITION, "[", kProfiled.device_type,
              "] this thread is profiled already");
  kProfiled.begin();
  const std::lock_guard lock(mutex_);
  here = {++last_session_, 0, {}, 0};
  heard_[here.session];
  ++listeners_;
}

void Profile::stop(void (*tell)(void* ctx, const tn_profiler_span* span), void* ctx) {
  const uint32_t session = std::exchange(label(), Label()).session;
  if (session == 0)
    sdk::fail(TN_FAILED_PRECONDITION, "[", kProfiled.device_type, "] this thread is not profiled");
  tn_status* status = sdk::guard([] { kProfiled.settle(); });
  std::vector<tn_profiler_span> spans;
  {
    const std::lock_guard lock(mutex_);
    spans = std::move(heard_[session]);
    heard_.erase(session);
    --listeners_;
  }
  // Streams are read one after the other, although a device may have interleaved their work.
  std::stable_sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
    return std::tie(a.kind, a.device_index, a.start) < std::tie(b.kind, b.device_index, b.start);
  });
  for (const tn_profiler_span& span : spans)
    if (tell != nullptr) tell(ctx, &span);
  sdk::check(sdk::host(), status);
}

void Profile::add(const Label& label, uint32_t kind, uint32_t device, std::string_view what,
                  double start, double end) {
  const std::lock_guard lock(mutex_);
  const auto found = heard_.find(label.session);
  if (found == heard_.end()) return;  // its session has ended meanwhile
  found->second.push_back({sizeof(tn_profiler_span), kind, device, 0, label.tag,
                           sdk::str_of(label.op), sdk::str_of(what), start, end, label.bytes});
}

const tn_profiler& profiler_table() {
  static const tn_profiler table = {
      sizeof(tn_profiler),
      0,
      sdk::str_of(kProfiled.device_type),
      [] { return sdk::guard([] { profile().start(); }); },
      [](uint64_t tag) { return std::exchange(Profile::label().tag, tag); },
      [](void (*tell)(void* ctx, const tn_profiler_span* span), void* ctx) {
        return sdk::guard([&] { profile().stop(tell, ctx); });
      }};
  return table;
}

const void* profiler_interface(tn_str name, uint32_t revision) {
  const bool profiler = sdk::view_of(name) == TN_PROFILER_NAME && revision == TN_PROFILER_REVISION;
  return profiler ? &profiler_table() : nullptr;
}

}  // namespace tenon
