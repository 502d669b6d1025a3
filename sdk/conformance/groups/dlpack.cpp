#include "groups/dlpack.hpp"

#include "tenon/ext/draft/dlpack.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kBytes = 1 << 14;

const tn_dlpack* offer_of(const Stage& stage, const RawDevice& device) {
  if (stage.table().get_interface == nullptr) return nullptr;
  const auto* offer = static_cast<const tn_dlpack*>(
      stage.table().get_interface(nullptr, detail::to_str(TN_DLPACK_NAME), TN_DLPACK_REVISION));
  return offer != nullptr && detail::to_view(offer->device_type) == device.type().name ? offer
                                                                                       : nullptr;
}

int64_t queue_of(const tn_dlpack& table, const RawStream& stream) {
  int64_t queue = 0;
  call(table.queue_of, "dlpack.queue_of", table.self, stream.get(), &queue);
  return queue;
}

std::string check_names(const tn_dlpack& table, const RawDevice& device, uint64_t) {
  if (table.kind <= 1) return "the kind is " + std::to_string(table.kind) + ", the host's or none";
  const int32_t id = table.device_id(table.self, device.index());
  if (id < 0) return "dlpack.device_id says " + std::to_string(id);
  const StagedType& type = device.type();
  uint32_t count = 0;
  tn_str reason{};
  call(type.device.count, "device.count", type.self, &count, &reason);
  for (uint32_t other = 0; other < count; ++other)
    if (other != device.index() && table.device_id(table.self, other) == id)
      return "device " + std::to_string(other) + " has the same id";
  return {};
}

// What was adopted is the memory at the address.
std::string check_memory(const tn_dlpack& table, const RawDevice& device, uint64_t seed) {
  const StagedType& type = device.type();
  const RawStream stream(device);
  const RawBlock block(device, kBytes);
  if (block.address() == nullptr) return "memory.allocate gives no addresses to share";
  const Bytes written = pattern(kBytes, seed);
  block.write(stream, 0, written);
  for (const uint64_t from : {0, 256}) {
    void* buffer = nullptr;
    call(table.adopt, "dlpack.adopt", table.self, device.index(),
         static_cast<char*>(block.address()) + from, &buffer);
    Bytes got(kBytes - from);
    call(type.memory.copy_out, "memory.copy_out", type.self, device.index(), stream.get(), buffer,
         0, got.data(), got.size());
    stream.wait();
    const Bytes wanted(written.begin() + static_cast<std::ptrdiff_t>(from), written.end());
    if (auto problem = difference(got, wanted); !problem.empty())
      return "at the address of byte " + std::to_string(from) + ": " + problem;
  }
  return {};
}

std::string check_queues(const tn_dlpack& table, const RawDevice& device, uint64_t seed) {
  const RawStream first(device), second(device);
  const int64_t queue = queue_of(table, second);
  if (queue == queue_of(table, first)) return "two streams are one queue";
  if (queue != queue_of(table, second)) return "a stream's queue changes";
  const RawBlock a(device, kBytes), b(device, kBytes), c(device, kBytes);
  for (uint64_t i = 0; i < 16; ++i) {
    const Bytes wanted = pattern(kBytes, seed + i);
    a.write(first, 0, wanted);
    a.copy_to(first, 0, b, 0, kBytes);
    call(table.precede, "dlpack.precede", table.self, device.index(), first.get(), &queue);
    b.copy_to(second, 0, c, 0, kBytes);
    if (auto problem = difference(c.contents(second, 0, kBytes), wanted); !problem.empty())
      return "the queue did not wait: " + problem;
  }
  call(table.precede, "dlpack.precede", table.self, device.index(), first.get(), nullptr);
  return {};
}

std::string check_no_queue(const tn_dlpack& table, const RawDevice& device, uint64_t) {
  const RawStream stream(device);
  const int64_t none = -5;
  const std::string text = text_of(table.precede(table.self, device.index(), stream.get(), &none));
  if (!text.starts_with("INVALID_ARGUMENT"))
    return "dlpack.precede for the queue -5 answered " + (text.empty() ? "success" : text);
  stream.wait();
  return {};
}

}  // namespace

void check_dlpack(const Stage& stage, const RawDevice& device, uint64_t seed, Sink& sink) {
  const tn_dlpack* table = offer_of(stage, device);
  if (table == nullptr)
    return sink.skip(device.id() + "/dlpack", "the plugin offers no tn.dlpack for it");
  if (table->struct_size < sizeof(tn_dlpack) || table->device_id == nullptr ||
      table->adopt == nullptr || table->queue_of == nullptr || table->precede == nullptr)
    return run_case(sink, device.id() + "/the table is whole",
                    [] { return std::string("tn.dlpack lacks slots"); });
  using Check = std::string (*)(const tn_dlpack&, const RawDevice&, uint64_t);
  const std::pair<const char*, Check> checks[] = {
      {"other libraries can name it", check_names},
      {"memory is found by its address", check_memory},
      {"another queue waits for a stream", check_queues},
      {"a queue that is none is refused", check_no_queue}};
  for (const auto& one : checks)
    run_case(sink, device.id() + "/" + one.first, [&] { return one.second(*table, device, seed); });
}

}  // namespace tenon::conformance
