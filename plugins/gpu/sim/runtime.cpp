// The simulator's runtime: device memory is host memory, and work is done when a call returns. Its two devices differ in the width of
// warps.
#include "../runtime.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "../backend.hpp"
#include "../capture.hpp"
#include "../code_for.hpp"
#include "../dlpack.hpp"
#include "../portable.hpp"
#include "../range.hpp"
#include "../timeline.hpp"

namespace tenon::gpu {
namespace rt {
namespace {

// TENON_GPUSIM_DRY=1: launches kernels without running them, so that networks of any size can be counted. Results are arbitrary.
const bool kDry = [] {
  const char* const value = std::getenv("TENON_GPUSIM_DRY");
  return value != nullptr && std::strcmp(value, "1") == 0;
}();
// A dry run touches none of it.
const uint64_t kMemory = uint64_t{kDry ? 80u : 4u} << 30;
constexpr uint64_t kAlignment = 256;  // as on real devices
using Clock = std::chrono::steady_clock;

// For library plans, which stand-ins execute.
uint32_t architecture() {
  const char* const value = std::getenv("TENON_GPUSIM_ARCHITECTURE");
  return value != nullptr ? static_cast<uint32_t>(std::strtoul(value, nullptr, 0)) : 90;
}

using Recording = std::vector<std::function<void()>>;
struct Queue {
  std::unique_ptr<Recording> recording;  // NULL: work is done immediately
};
template <class Work>
void enqueue(Stream stream, Work&& work) {
  auto* const queue = static_cast<Queue*>(stream);
  if (queue->recording != nullptr)
    queue->recording->emplace_back(std::forward<Work>(work));
  else
    work();
}

}  // namespace

const char* const kName = "gpusim";

std::vector<Device> devices(std::string&) {
  std::vector<Device> made;
  for (const uint32_t width : {32u, 64u}) {
    Device device;
    device.name = "simulated GPU, warps of " + std::to_string(width);
    device.kind = TN_DEVICE_KIND_SOFTWARE;
    device.memory = kMemory;
    device.warp_width = width;
    device.architecture = architecture();
    made.push_back(device);
  }
  return made;
}

uint32_t code_for(uint32_t architecture) { return architecture; }

void use(uint32_t) {}

void memory_info(uint64_t* free, uint64_t* total) { *free = *total = kMemory; }

void* allocate(uint64_t bytes) {
  if (bytes > kMemory) return nullptr;
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}
void free(void* address) noexcept { std::free(address); }
void* host_allocate(uint64_t bytes) {
  void* const made = allocate(bytes);
  if (made == nullptr) sdk::fail(TN_OUT_OF_MEMORY, "[gpusim] no ", bytes, " bytes of host memory");
  return made;
}
void host_free(void* address) noexcept { std::free(address); }
bool is_pinned(const void*) { return false; }

void copy_in(void* to, const void* from, uint64_t bytes, Stream stream) {
  copy_within(to, from, bytes, stream);
}
void copy_out(void* to, const void* from, uint64_t bytes, Stream stream) {
  copy_within(to, from, bytes, stream);
}
void copy_within(void* to, const void* from, uint64_t bytes, Stream stream) {
  if (!kDry) enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}
void copy_peer(void* to, uint32_t, const void* from, uint32_t, uint64_t bytes, Stream stream) {
  copy_within(to, from, bytes, stream);
}
void fill(void* to, unsigned char value, uint64_t bytes, Stream stream) {
  if (!kDry) enqueue(stream, [=] { std::memset(to, value, bytes); });
}

Stream stream_create() { return new Queue; }
void stream_destroy(Stream stream) noexcept { delete static_cast<Queue*>(stream); }
void synchronize(Stream) {}
void synchronize_device() {}
Event event_create() { return new Clock::time_point{}; }
void event_destroy(Event event) noexcept { delete static_cast<Clock::time_point*>(event); }
void record(Event event, Stream) { *static_cast<Clock::time_point*>(event) = Clock::now(); }
void wait(Stream, Event) {}
bool reached(Event) { return true; }
void synchronize_event(Event) {}
double seconds_between(Event start, Event end) {
  return std::chrono::duration<double>(*static_cast<Clock::time_point*>(end) -
                                       *static_cast<Clock::time_point*>(start))
      .count();
}

void capture_begin(Stream stream) {
  static_cast<Queue*>(stream)->recording = std::make_unique<Recording>();
}
Graph capture_end(Stream stream, bool keep, uint64_t& nodes) {
  std::unique_ptr<Recording> recording = std::move(static_cast<Queue*>(stream)->recording);
  nodes = recording->size();
  return keep ? recording.release() : nullptr;
}
void graph_launch(Graph graph, Stream) {
  for (const auto& work : *static_cast<Recording*>(graph)) work();
}
void graph_destroy(Graph graph) noexcept { delete static_cast<Recording*>(graph); }

// DLPack's type for devices that it has no name for. Its rules for numbers are those of CUDA.
const int32_t kDlpackKind = 12;
void check_address(uint32_t, const void*) {}
Stream queue_of(const int64_t* number) {
  if (number == nullptr) return nullptr;
  if (*number <= 0) sdk::fail(TN_INVALID_ARGUMENT, "[gpusim] DLPack knows no stream ", *number);
  return reinterpret_cast<Stream>(*number);  // NOLINT(performance-no-int-to-ptr)
}

void range_push(const char*) noexcept {}
void range_pop() noexcept {}

}  // namespace rt

namespace sim {

void run_on(Stream& stream, const Launch& launch, const std::function<void()>& body) {
  Launch with_lanes = launch;
  with_lanes.lanes = backend().device(stream.device()).warp_width;
  rt::enqueue(stream.handle(), [with_lanes, body] {
    if (rt::kDry) return;
    try {
      run(with_lanes, body);
    } catch (const Fault& fault) {
      sdk::fail(TN_INTERNAL, "[gpusim] ", fault.message);
    }
  });
  Timed::launched();
}

}  // namespace sim

}  // namespace tenon::gpu
