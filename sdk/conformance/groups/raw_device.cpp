#include "groups/raw_device.hpp"

#include <algorithm>

namespace tenon::conformance {

Bytes pattern(uint64_t n, uint64_t seed) {
  Bytes bytes(n);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (uint64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<unsigned char>(state >> 56);
  }
  return bytes;
}

std::string difference(const Bytes& got, const Bytes& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (got[i] != wanted[i])
      return "byte " + std::to_string(i) + " of " + std::to_string(wanted.size()) + " is " +
             std::to_string(got[i]) + ", wanted " + std::to_string(wanted[i]);
  return {};
}

tn_device_info RawDevice::info() const {
  tn_device_info info{};
  info.struct_size = sizeof info;
  call(type_->device.info, "device.info", type_->self, index_, &info);
  return info;
}

void RawDevice::wait(void* stream) const {
  if (type_->has_streams)
    call(type_->stream.synchronize, "stream.synchronize", type_->self, stream);
  else
    call(type_->device.synchronize, "device.synchronize", type_->self, index_);
}

std::vector<RawDevice> devices_of(const Stage& stage) {
  std::vector<RawDevice> devices;
  for (const StagedType& type : stage.types) {
    uint32_t count = 0;
    tn_str reason{nullptr, 0};
    call(type.device.count, "device.count", type.self, &count, &reason);
    for (uint32_t i = 0; i < std::min(count, 2u); ++i) devices.emplace_back(type, i);
  }
  return devices;
}

std::vector<RawDevice> devices_for(Stage& stage, const std::string& unit,
                                   const std::string& no_type, Sink& sink) {
  if (const std::string text = text_of(stage.start()); !text.empty())
    throw Error(TN_INTERNAL, "start answered " + text);
  std::vector<RawDevice> devices = devices_of(stage);
  if (devices.empty())
    sink.skip(unit, stage.types.empty() ? no_type : "the plugin found no device");
  return devices;
}

RawStream::RawStream(const RawDevice& device) : device_(device) {
  const StagedType& type = device.type();
  if (type.has_streams)
    call(type.stream.create, "stream.create", type.self, device.index(), &handle_);
}
RawStream::~RawStream() {
  const StagedType& type = device_.type();
  if (handle_ != nullptr && type.stream.destroy != nullptr) type.stream.destroy(type.self, handle_);
}

RawEvent::RawEvent(const RawDevice& device) : device_(device) {
  call(device.type().stream.event_create, "stream.event_create", device.type().self, device.index(),
       &handle_);
}
RawEvent::~RawEvent() {
  const StagedType& type = device_.type();
  if (type.stream.event_destroy != nullptr) type.stream.event_destroy(type.self, handle_);
}
void RawEvent::record(const RawStream& stream) const {
  const StagedType& type = device_.type();
  call(type.stream.event_record, "stream.event_record", type.self, handle_, stream.get());
}
void RawEvent::wait_on(const RawStream& stream) const {
  const StagedType& type = device_.type();
  call(type.stream.event_wait, "stream.event_wait", type.self, handle_, stream.get());
}
bool RawEvent::done() const {
  const StagedType& type = device_.type();
  uint32_t done = 77;
  call(type.stream.event_query, "stream.event_query", type.self, handle_, &done);
  if (done > 1) throw Error(TN_INTERNAL, "stream.event_query wrote " + std::to_string(done));
  return done == 1;
}
void RawEvent::synchronize() const {
  const StagedType& type = device_.type();
  call(type.stream.event_synchronize, "stream.event_synchronize", type.self, handle_);
}

RawBlock::RawBlock(const RawDevice& device, uint64_t bytes) : device_(device) {
  const StagedType& type = device.type();
  call(type.memory.allocate, "memory.allocate", type.self, device.index(), bytes, &buffer_,
       &address_);
  if (buffer_ == nullptr && bytes > 0)
    throw Error(TN_INTERNAL, "memory.allocate succeeded and gave no buffer");
}
RawBlock::~RawBlock() {
  const StagedType& type = device_.type();
  if (type.memory.free != nullptr && buffer_ != nullptr)
    type.memory.free(type.self, device_.index(), buffer_);
}

// A copy of no bytes still names both places.
template <class Byte>
Byte* place(Byte* data) {
  static std::remove_const_t<Byte> nothing;
  return data != nullptr ? data : &nothing;
}

void RawBlock::write(const RawStream& stream, uint64_t offset, const Bytes& from) const {
  const StagedType& type = device_.type();
  call(type.memory.copy_in, "memory.copy_in", type.self, device_.index(), stream.get(),
       place(from.data()), buffer_, offset, from.size());
}
void RawBlock::read(const RawStream& stream, uint64_t offset, Bytes& to) const {
  const StagedType& type = device_.type();
  call(type.memory.copy_out, "memory.copy_out", type.self, device_.index(), stream.get(), buffer_,
       offset, place(to.data()), to.size());
}
void RawBlock::copy_to(const RawStream& stream, uint64_t offset, const RawBlock& to,
                       uint64_t to_offset, uint64_t bytes) const {
  const StagedType& type = device_.type();
  call(type.memory.copy_within, "memory.copy_within", type.self, device_.index(), stream.get(),
       buffer_, offset, to.buffer_, to_offset, bytes);
}
Bytes RawBlock::contents(const RawStream& stream, uint64_t offset, uint64_t bytes) const {
  Bytes to(bytes);
  read(stream, offset, to);
  stream.wait();
  return to;
}

}  // namespace tenon::conformance
