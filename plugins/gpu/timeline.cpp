#include "timeline.hpp"

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "capture.hpp"
#include "tenon/plugin.hpp"

namespace tenon::gpu {
namespace {

// Spans that a stream collects before it checks which have finished.
constexpr size_t kLookEvery = 256;

class Events {
 public:
  Mark take(uint32_t device) {
    rt::Event event = nullptr;
    {
      const std::lock_guard lock(mutex_);
      std::vector<rt::Event>& free = free_[device];
      if (!free.empty()) {
        event = free.back();
        free.pop_back();
      }
    }
    if (event == nullptr) event = rt::event_create();
    return Mark(event, [this, device](rt::Event used) {
      const std::lock_guard lock(mutex_);
      free_[device].push_back(used);
    });
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    for (const auto& [device, events] : free_)
      for (const rt::Event event : events) rt::event_destroy(event);
    free_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<uint32_t, std::vector<rt::Event>> free_;
};

Events& events() {
  static Events& one = *new Events;
  return one;
}

struct Span {
  Label label;
  const char* what;
  Mark begin, end;
};

// A clock counts milliseconds in 32 bits, so times are sums of short distances between marks.
struct Instant {
  Mark at;
  double seconds = 0;
};

struct Lane {
  std::deque<Span> spans;  // in the order of their ends
  Instant last;            // the end of the span before the first of them
  size_t look_at = kLookEvery;
  bool is_waited_for = false;
};

class Timelines {
 public:
  Mark mark(uint32_t device, rt::Stream stream) {
    const std::lock_guard lock(mutex_);
    return record(device, stream);
  }
  // A span from `begin` to a new mark at the current end, which is returned.
  Mark add(uint32_t device, rt::Stream stream, const char* what, const Mark& begin) {
    const std::lock_guard lock(mutex_);
    Lane& lane = lanes_[device][stream];
    Mark end = record(device, stream);  // under the lock, so that the list has the stream's order
    lane.spans.push_back({Profile::label_of_span(), what, begin, end});
    lane.is_waited_for = false;
    if (lane.spans.size() >= lane.look_at) {
      read(device, lane);
      lane.look_at = lane.spans.size() + kLookEvery;
    }
    return end;
  }
  void read_all() {
    const std::lock_guard lock(mutex_);
    try {
      for (auto& [device, lanes] : lanes_) {
        for (auto& [stream, lane] : lanes) read(device, lane);
        std::erase_if(lanes, [](const auto& each) { return each.second.spans.empty(); });
      }
    } catch (...) {
      lanes_.clear();  // a failed device reports no more
      throw;
    }
  }
  bool is_busy(uint32_t device) {
    const std::lock_guard lock(mutex_);
    bool busy = false;
    for (auto& [stream, lane] : lanes_[device]) {
      read(device, lane);
      busy = busy || !lane.spans.empty();
    }
    return busy;
  }
  bool is_waited_for(uint32_t device, rt::Stream stream) {
    const std::lock_guard lock(mutex_);
    const auto& lanes = lanes_[device];
    const auto found = lanes.find(stream);
    return found != lanes.end() && found->second.is_waited_for;
  }
  void waited_for(uint32_t device, rt::Stream stream) {
    const std::lock_guard lock(mutex_);
    lanes_[device][stream].is_waited_for = true;
  }
  void waited_for(uint32_t device) {
    const std::lock_guard lock(mutex_);
    for (auto& [stream, lane] : lanes_[device]) lane.is_waited_for = true;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    lanes_.clear();
    origins_.clear();
  }

 private:
  static Mark record(uint32_t device, rt::Stream stream) {
    rt::use(device);
    Mark made = events().take(device);
    rt::record(made.get(), stream);
    return made;
  }

  // Reports the finished spans.
  void read(uint32_t device, Lane& lane) {
    while (!lane.spans.empty()) {
      const Span& span = lane.spans.front();
      Instant& origin = origins_[device];
      if (origin.at == nullptr) origin.at = span.begin;
      if (lane.last.at == nullptr) lane.last = origin;
      if (!rt::reached(span.end.get()) || !rt::reached(lane.last.at.get())) return;
      const double begin =
          lane.last.seconds + rt::seconds_between(lane.last.at.get(), span.begin.get());
      const double end = begin + rt::seconds_between(span.begin.get(), span.end.get());
      profile().add(span.label, TN_PROFILER_RAN, device, span.what, begin, end);
      lane.last = {span.end, end};
      if (origin.seconds < end) origin = lane.last;
      lane.spans.pop_front();
    }
  }

  std::mutex mutex_;
  std::map<uint32_t, std::map<rt::Stream, Lane>> lanes_;
  std::map<uint32_t, Instant> origins_;  // where the clock of a new lane begins
};

Timelines& timelines() {
  static Timelines& one = *new Timelines;
  return one;
}

}  // namespace

thread_local constinit Timed* Timed::innermost_ = nullptr;

void Timed::begin() noexcept {
  try {
    if (is_captured(stream_)) return;  // launches of its graph are reported instead
    Timed* const outer = innermost_;
    const bool inside = outer != nullptr && outer->device_ == device_ && outer->stream_ == stream_;
    last_ = inside ? outer->last_ : timelines().mark(device_, stream_);
    outer_ = std::exchange(innermost_, this);
  } catch (const std::exception&) {
  }
}

void Timed::stamp() noexcept {
  try {
    last_ = timelines().add(device_, stream_, what_, last_);
    is_told_ = true;
  } catch (const std::exception&) {
  }
}

void Timed::end() noexcept {
  if (!is_told_) stamp();
  innermost_ = outer_;
  if (outer_ == nullptr || outer_->device_ != device_ || outer_->stream_ != stream_) return;
  outer_->last_ = last_;
  outer_->is_told_ = true;
}

StreamWait::StreamWait(uint32_t device, rt::Stream stream)
    : device_(device), stream_(stream), on_(profile().on()) {
  if (on_ && !timelines().is_waited_for(device, stream)) told_.emplace(device);
}
StreamWait::~StreamWait() {
  if (on_) timelines().waited_for(device_, stream_);
}

void wait_for(uint32_t device, rt::Stream stream) {
  refuse_captured(stream, "a wait for the stream");
  const StreamWait here(device, stream);
  rt::synchronize(stream);
}

void wait_for_device(uint32_t device) {
  {
    const Waited here(device);
    rt::use(device);
    rt::synchronize_device();
  }
  if (profile().on()) timelines().waited_for(device);
}

void wait_for_event(uint32_t device, rt::Event event) {
  if (profile().on() && rt::reached(event)) return;
  const Waited here(device);
  rt::synchronize_event(event);
}

void MaybeWait::look() noexcept {
  try {
    if (timelines().is_busy(device_)) begin_ = host_seconds();
  } catch (const std::exception&) {
  }
}
void MaybeWait::tell() noexcept {
  try {
    const double end = host_seconds();
    if (!timelines().is_busy(device_))
      profile().add(Profile::label(), TN_PROFILER_WAITED, device_, "wait", begin_, end);
  } catch (const std::exception&) {
  }
}

void read_timelines() { timelines().read_all(); }

void clear_timelines() {
  timelines().clear();
  events().clear();
}

}  // namespace tenon::gpu
