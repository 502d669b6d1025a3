// A device of a staged plugin. Objects own its memory.
#pragma once

#include <cstddef>

#include "stage.hpp"
#include "suite.hpp"

namespace tenon::conformance {

using Bytes = std::vector<unsigned char>;

// Bytes that depend on position and seed, so that a shifted or stale copy shows.
Bytes pattern(uint64_t n, uint64_t seed);
// "byte 17 of 64 is 3, wanted 5", or nothing.
std::string difference(const Bytes& got, const Bytes& wanted);

class RawDevice {
 public:
  RawDevice(const StagedType& type, uint32_t index) : type_(&type), index_(index) {}
  const StagedType& type() const { return *type_; }
  uint32_t index() const { return index_; }
  std::string id() const { return type_->name + ":" + std::to_string(index_); }
  tn_device_info info() const;
  // Without streams the device is synchronous, and waiting for it is enough.
  void wait(void* stream) const;

 private:
  const StagedType* type_;
  uint32_t index_;
};

// The plugin's devices, at most two of each type.
std::vector<RawDevice> devices_of(const Stage& stage);
// The same for a plugin that is started first. Skips the unit with the reason `no_type` if the plugin has no device type. Throws Error if
// it does not start.
std::vector<RawDevice> devices_for(Stage& stage, const std::string& unit,
                                   const std::string& no_type, Sink& sink);

class RawStream {
 public:
  explicit RawStream(const RawDevice& device);  // none if the type has no streams
  ~RawStream();
  RawStream(const RawStream&) = delete;
  RawStream& operator=(const RawStream&) = delete;
  void* get() const { return handle_; }
  void wait() const { device_.wait(handle_); }

 private:
  RawDevice device_;
  void* handle_ = nullptr;
};

class RawEvent {
 public:
  explicit RawEvent(const RawDevice& device);
  ~RawEvent();
  RawEvent(const RawEvent&) = delete;
  RawEvent& operator=(const RawEvent&) = delete;
  void record(const RawStream& stream) const;
  void wait_on(const RawStream& stream) const;  // makes this stream wait for the event
  bool done() const;
  void synchronize() const;
  void* get() const { return handle_; }

 private:
  RawDevice device_;
  void* handle_ = nullptr;
};

class RawBlock {
 public:
  RawBlock(const RawDevice& device, uint64_t bytes);
  ~RawBlock();
  RawBlock(const RawBlock&) = delete;
  RawBlock& operator=(const RawBlock&) = delete;
  void* buffer() const { return buffer_; }
  void* address() const { return address_; }

  // Enqueue a copy. The target of read is complete once the stream was waited for.
  void write(const RawStream& stream, uint64_t offset, const Bytes& from) const;
  void read(const RawStream& stream, uint64_t offset, Bytes& to) const;
  void copy_to(const RawStream& stream, uint64_t offset, const RawBlock& to, uint64_t to_offset,
               uint64_t bytes) const;
  // Waits first.
  Bytes contents(const RawStream& stream, uint64_t offset, uint64_t bytes) const;

 private:
  RawDevice device_;
  void* buffer_ = nullptr;
  void* address_ = nullptr;
};

}  // namespace tenon::conformance
