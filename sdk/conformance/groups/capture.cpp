#include "groups/capture.hpp"

#include <functional>
#include <thread>

#include "tenon/ext/draft/capture.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kBytes = 1 << 14;

const tn_capture* offer_of(const Stage& stage, const RawDevice& device) {
  if (stage.table().get_interface == nullptr) return nullptr;
  const auto* offer = static_cast<const tn_capture*>(
      stage.table().get_interface(nullptr, detail::to_str(TN_CAPTURE_NAME), TN_CAPTURE_REVISION));
  return offer != nullptr && detail::to_view(offer->device_type) == device.type().name ? offer
                                                                                       : nullptr;
}

// A stream that records, and the graph of what it recorded.
class Recording {
 public:
  Recording(const tn_capture& table, const RawDevice& device)
      : table_(table), device_(device), stream_(device) {}
  ~Recording() {
    if (open_) text_of(table_.end(table_.self, device_.index(), stream_.get(), nullptr, nullptr));
    if (graph_ != nullptr) table_.destroy(table_.self, graph_);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  const RawStream& stream() const { return stream_; }
  const tn_capture_info& info() const { return info_; }

  void begin() {
    call(table_.begin, "capture.begin", table_.self, device_.index(), stream_.get(), 0, 0);
    open_ = true;
  }
  std::string begin_again() {
    return text_of(table_.begin(table_.self, device_.index(), stream_.get(), 0, 0));
  }
  void end(bool keep = true) {
    open_ = false;
    info_.struct_size = sizeof info_;
    call(table_.end, "capture.end", table_.self, device_.index(), stream_.get(),
         keep ? &graph_ : nullptr, &info_);
  }
  void launch(const RawStream& on) const {
    call(table_.launch, "capture.launch", table_.self, graph_, on.get(), 0, 0);
  }

 private:
  const tn_capture& table_;
  RawDevice device_;
  RawStream stream_;
  void* graph_ = nullptr;
  tn_capture_info info_{};
  bool open_ = false;
};

// "" if it refuses; otherwise what it answered.
std::string refused(const char* what, tn_status* status) {
  const uint32_t code = tn_status_code(status);
  const std::string text = text_of(status);
  if (code == TN_FAILED_PRECONDITION) return {};
  return std::string(what) + " while the stream records answered " +
         (text.empty() ? "success" : text) + ", not TN_FAILED_PRECONDITION";
}

std::string check_launches(const tn_capture& table, const RawDevice& device, uint64_t seed) {
  const RawStream stream(device);
  const RawBlock a(device, kBytes), b(device, kBytes);
  const Bytes before = pattern(kBytes, seed);
  a.write(stream, 0, pattern(kBytes, seed + 1));
  b.write(stream, 0, before);
  stream.wait();
  Recording recording(table, device);
  recording.begin();
  a.copy_to(recording.stream(), 0, b, 0, kBytes);
  recording.end();
  if (recording.info().nodes == 0) return "capture.end counts no work in it";
  if (auto problem = difference(b.contents(stream, 0, kBytes), before); !problem.empty())
    return "the work ran while it was recorded: " + problem;
  for (uint64_t i = 0; i < 4; ++i) {
    const Bytes wanted = pattern(kBytes, seed + 2 + i);
    a.write(stream, 0, wanted);
    recording.launch(stream);
    a.write(stream, 0, pattern(kBytes, seed + 20 + i));  // after it
    if (auto problem = difference(b.contents(stream, 0, kBytes), wanted); !problem.empty())
      return "launch " + std::to_string(i) + " is not in order with its stream: " + problem;
  }
  return {};
}

std::string check_refusals(const tn_capture& table, const RawDevice& device, uint64_t seed) {
  const StagedType& type = device.type();
  const RawStream stream(device);
  const RawBlock a(device, kBytes), b(device, kBytes), c(device, kBytes);
  const Bytes wanted = pattern(kBytes, seed);
  Bytes host(kBytes);
  a.write(stream, 0, wanted);
  stream.wait();
  Recording recording(table, device);
  void* const own = recording.stream().get();
  recording.begin();
  a.copy_to(recording.stream(), 0, b, 0, kBytes);
  std::string problem = refused("stream.synchronize", type.stream.synchronize(type.self, own));
  if (problem.empty())
    problem = refused("memory.copy_in", type.memory.copy_in(type.self, device.index(), own,
                                                            host.data(), c.buffer(), 0, kBytes));
  if (problem.empty())
    problem = refused("memory.copy_out", type.memory.copy_out(type.self, device.index(), own,
                                                              a.buffer(), 0, host.data(), kBytes));
  if (problem.empty() && recording.begin_again().empty())
    problem = "capture.begin on a stream that records answered success";
  b.copy_to(recording.stream(), 0, c, 0, kBytes);
  recording.end();
  if (!problem.empty()) return problem;
  recording.launch(stream);
  problem = difference(c.contents(stream, 0, kBytes), wanted);
  return problem.empty() ? "" : "a refusal broke the recording: " + problem;
}

std::string check_memory(const tn_capture& table, const RawDevice& device, uint64_t seed) {
  const RawStream stream(device);
  const RawBlock a(device, kBytes), b(device, kBytes);
  const Bytes wanted = pattern(kBytes, seed), others = pattern(kBytes, seed + 1);
  a.write(stream, 0, wanted);
  stream.wait();
  Recording recording(table, device);
  recording.begin();
  {
    const RawBlock between(device,
                           kBytes);  // given back to the plugin, but the graph still owns it
    a.copy_to(recording.stream(), 0, between, 0, kBytes);
    between.copy_to(recording.stream(), 0, b, 0, kBytes);
  }
  recording.end();
  if (recording.info().bytes < kBytes)
    return "it keeps " + std::to_string(kBytes) + " bytes, and capture.end says " +
           std::to_string(recording.info().bytes);
  std::vector<std::unique_ptr<RawBlock>> blocks;
  for (int i = 0; i < 16; ++i) {
    blocks.push_back(std::make_unique<RawBlock>(device, kBytes));
    blocks.back()->write(stream, 0, others);
  }
  recording.launch(stream);
  if (auto problem = difference(b.contents(stream, 0, kBytes), wanted); !problem.empty())
    return "memory in between: " + problem;
  for (const auto& block : blocks)
    if (auto problem = difference(block->contents(stream, 0, kBytes), others); !problem.empty())
      return "a graph wrote to memory that was handed out since: " + problem;
  return {};
}

std::string check_drop(const tn_capture& table, const RawDevice& device, uint64_t seed) {
  const RawStream stream(device);
  const RawBlock a(device, kBytes), b(device, kBytes);
  const Bytes before = pattern(kBytes, seed), wanted = pattern(kBytes, seed + 1);
  a.write(stream, 0, wanted);
  b.write(stream, 0, before);
  stream.wait();
  Recording recording(table, device);
  recording.begin();
  a.copy_to(recording.stream(), 0, b, 0, kBytes);
  recording.end(false);
  recording.stream().wait();
  if (auto problem = difference(b.contents(stream, 0, kBytes), before); !problem.empty())
    return "what was dropped ran: " + problem;
  a.copy_to(recording.stream(), 0, b, 0, kBytes);
  return difference(b.contents(recording.stream(), 0, kBytes), wanted);
}

std::string check_threads(const tn_capture& table, const RawDevice& device, uint64_t seed) {
  const RawStream stream(device);
  const RawBlock a(device, kBytes), b(device, kBytes);
  const Bytes wanted = pattern(kBytes, seed);
  a.write(stream, 0, wanted);
  stream.wait();
  Recording recording(table, device);
  recording.begin();
  std::string problem;
  std::thread([&] {
    try {
      const RawStream other(device);
      const RawBlock block(device, kBytes);
      block.write(other, 0, pattern(kBytes, seed + 1));
      problem = difference(block.contents(other, 0, kBytes), pattern(kBytes, seed + 1));
      call(device.type().device.synchronize, "device.synchronize", device.type().self,
           device.index());
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }).join();
  a.copy_to(recording.stream(), 0, b, 0, kBytes);
  recording.end();
  if (!problem.empty()) return "another thread, while this one captures: " + problem;
  recording.launch(stream);
  return difference(b.contents(stream, 0, kBytes), wanted);
}

}  // namespace

void check_capture(const Stage& stage, const RawDevice& device, uint64_t seed, Sink& sink) {
  const tn_capture* table = offer_of(stage, device);
  if (table == nullptr)
    return sink.skip(device.id() + "/capture", "the plugin offers no tn.capture for it");
  if (table->struct_size < sizeof(tn_capture) || table->begin == nullptr || table->end == nullptr ||
      table->launch == nullptr || table->destroy == nullptr)
    return run_case(sink, device.id() + "/the table is whole",
                    [] { return std::string("tn.capture lacks slots"); });
  using Check = std::string (*)(const tn_capture&, const RawDevice&, uint64_t);
  const std::pair<const char*, Check> checks[] = {
      {"launches run what was recorded, in order", check_launches},
      {"what cannot be recorded is refused", check_refusals},
      {"memory of the recording stays its own", check_memory},
      {"dropped", check_drop},
      {"other threads", check_threads}};
  for (const auto& one : checks)
    run_case(sink, device.id() + "/" + one.first, [&] { return one.second(*table, device, seed); });
}

}  // namespace tenon::conformance
