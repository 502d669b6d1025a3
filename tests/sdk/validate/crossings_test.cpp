// Mistakes that a core could make: the layer's tables, called as a careless host would call them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tenon/tenon.h"
#include "tenon/validate.h"
#include "tensors.hpp"

namespace tenon::test {
namespace {

struct Violation {
  uint32_t kind = ~0u;
  std::string slot, text;
};
Violation only() {
  Violation found;
  EXPECT_EQ(tn_validate_count(), 1u);
  tn_validate_each(
      [](void* ctx, const tn_violation* v) {
        *static_cast<Violation*>(ctx) = {v->kind, test::text(v->slot), test::text(v->text)};
      },
      &found);
  tn_validate_clear();
  return found;
}

// A correct device with one stream, whose tables went through the layer.
class Crossings : public testing::Test {
 protected:
  void SetUp() override {
    tn_device_count();  // starts the core, and the layer with it
    tn_validate_clear();
    static uint32_t serial = 0;
    name_ = "crossing" + std::to_string(++serial);
    device_.struct_size = sizeof device_;
    device_.count = [](void*, uint32_t* n, tn_str*) -> tn_status* { return *n = 1, nullptr; };
    memory_.struct_size = sizeof memory_;
    memory_.flags = TN_MEMORY_ADDRESSABLE;
    memory_.allocate = [](void*, uint32_t, uint64_t bytes, void** buffer, void** address) {
      *buffer = *address = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
      return static_cast<tn_status*>(nullptr);
    };
    memory_.free = [](void*, uint32_t, void* buffer) { std::free(buffer); };
    memory_.copy_in = [](void*, uint32_t, void*, const void* src, void* buffer, uint64_t offset,
                         uint64_t bytes) {
      std::memcpy(static_cast<char*>(buffer) + offset, src, bytes);
      return static_cast<tn_status*>(nullptr);
    };
    stream_.struct_size = sizeof stream_;
    stream_.create = [](void*, uint32_t, void** stream) -> tn_status* {
      return *stream = new int, nullptr;
    };
    stream_.destroy = [](void*, void* stream) { delete static_cast<int*>(stream); };
    stream_.event_create = [](void*, uint32_t, void** event) -> tn_status* {
      return *event = new int, nullptr;
    };
    stream_.event_destroy = [](void*, void* event) { delete static_cast<int*>(event); };
    stream_.event_query = [](void*, void*, uint32_t* done) -> tn_status* {
      return *done = 7, nullptr;
    };
    type_.struct_size = sizeof type_;
    type_.name = str(name_);
    type_.device = &device_;
    type_.memory = &memory_;
    type_.stream = &stream_;
    const tn_layer* layer = tn_validate_layer();
    layer->phase(str("test.crossing"), TN_LAYER_STARTING);
    layer->device_type(str("test.crossing"), &type_);
    uint32_t count = 0;
    tn_str reason{};
    ok(type_.device->count(type_.self, &count, &reason));
    layer->phase(str("test.crossing"), TN_LAYER_STARTED);
    ok(type_.stream->create(type_.self, 0, &on_));
    ok(type_.memory->allocate(type_.self, 0, 100, &buffer_, &address_));
  }
  void TearDown() override {
    if (buffer_ != nullptr) type_.memory->free(type_.self, 0, buffer_);
    type_.stream->destroy(type_.self, on_);
    tn_validate_flush();
    EXPECT_EQ(tn_validate_count(), 0u);
  }
  static void ok(tn_status* status) {
    const Outcome outcome = take(status);
    EXPECT_EQ(outcome.code, TN_OK) << outcome;
  }
  Outcome copy(uint64_t offset, uint64_t bytes, void* buffer = nullptr, void* stream = nullptr,
               uint32_t index = 0) {
    const std::vector<char> from(bytes);
    return take(type_.memory->copy_in(type_.self, index, stream != nullptr ? stream : on_,
                                      from.data(), buffer != nullptr ? buffer : buffer_, offset,
                                      bytes));
  }

  std::string name_;
  tn_device_table device_{};
  tn_memory_table memory_{};
  tn_stream_table stream_{};
  tn_device_type type_{};
  void* on_ = nullptr;
  void* buffer_ = nullptr;
  void* address_ = nullptr;
};

TEST_F(Crossings, MissingSlotsStayMissing) {
  EXPECT_EQ(type_.memory->fill, nullptr);
  EXPECT_EQ(type_.device->info, nullptr);
}

TEST_F(Crossings, FreshMemoryIsPoisonedToTheByte) {
  const auto* bytes = static_cast<const unsigned char*>(address_);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(bytes[i], 0xff) << i;
}

TEST_F(Crossings, RangesAreChecked) {
  EXPECT_EQ(copy(0, 100).code, TN_OK);
  EXPECT_EQ(copy(40, 60).code, TN_OK);
  const Outcome beyond = copy(40, 61);
  EXPECT_EQ(beyond.code, TN_INTERNAL);
  EXPECT_NE(beyond.message.find("bytes 40 to 101 of a block of 100"), std::string::npos) << beyond;
  EXPECT_EQ(only().kind, TN_VIOLATION_ARGUMENT);
  EXPECT_EQ(copy(~uint64_t{0}, 2).code, TN_INTERNAL);  // no overflow
  EXPECT_EQ(only().slot, "memory.copy_in");
}

TEST_F(Crossings, HandlesAreChecked) {
  int stranger = 0;
  EXPECT_EQ(copy(0, 4, &stranger).code, TN_INTERNAL);
  EXPECT_EQ(only().kind, TN_VIOLATION_OWNERSHIP);
  copy(0, 4, nullptr, &stranger);
  EXPECT_EQ(only().kind, TN_VIOLATION_OWNERSHIP);
  EXPECT_EQ(copy(0, 4, nullptr, nullptr, 1).code, TN_INTERNAL);
  EXPECT_NE(only().text.find("device 1 of 1"), std::string::npos);
  void* event = nullptr;
  ok(type_.stream->event_create(type_.self, 0, &event));
  uint32_t done = 0;
  ok(type_.stream->event_query(type_.self, event, &done));
  EXPECT_NE(only().text.find("done is 7"), std::string::npos);
  type_.stream->event_destroy(type_.self, event);
  EXPECT_EQ(tn_validate_count(), 0u);
  type_.stream->event_destroy(type_.self, event);
  EXPECT_EQ(only().slot, "stream.event_destroy");
}

TEST_F(Crossings, FreesAreChecked) {
  void* buffer = std::exchange(buffer_, nullptr);
  type_.memory->free(type_.self, 0, buffer);
  EXPECT_EQ(tn_validate_count(), 0u);
  type_.memory->free(type_.self, 0, buffer);
  EXPECT_NE(only().text.find("given back twice"), std::string::npos);
  EXPECT_EQ(copy(0, 4, buffer).code, TN_INTERNAL);
  EXPECT_NE(only().text.find("was given back"), std::string::npos);
  int stranger = 0;
  type_.memory->free(type_.self, 0, &stranger);
  EXPECT_NE(only().text.find("none that was handed out"), std::string::npos);
}

TEST_F(Crossings, GuardsAreCheckedAtTheFree) {
  static_cast<char*>(address_)[100] = 1;
  type_.memory->free(type_.self, 0, std::exchange(buffer_, nullptr));
  const Violation found = only();
  EXPECT_EQ(found.kind, TN_VIOLATION_MEMORY);
  EXPECT_NE(found.text.find("byte 0 behind the end"), std::string::npos) << found.text;
}

TEST_F(Crossings, InitSlotsAreForTheStart) {
  uint32_t count = 0;
  tn_str reason{};
  ok(type_.device->count(type_.self, &count, &reason));
  EXPECT_EQ(only().kind, TN_VIOLATION_THREAD);
}

TEST_F(Crossings, LeaksAreReportedAtTheQuiesce) {
  const tn_layer* layer = tn_validate_layer();
  layer->phase(str("test.crossing"), TN_LAYER_QUIESCING);
  layer->phase(str("test.crossing"), TN_LAYER_GONE);
  const Violation found = only();
  EXPECT_EQ(found.kind, TN_VIOLATION_LEAK);
  EXPECT_NE(found.text.find("1 blocks on " + name_), std::string::npos) << found.text;
}

// Two threads on one stream at once: the first waits inside its copy until the second has called.
TEST(StreamOrder, TwoThreadsAtOnceAreSeen) {
  tn_device_count();
  struct Gate {
    std::atomic<bool> inside{false};
    std::atomic<bool> called{false};
  };
  static Gate gate;
  tn_device_table device{};
  device.struct_size = sizeof device;
  device.count = [](void*, uint32_t* n, tn_str*) -> tn_status* { return *n = 1, nullptr; };
  tn_memory_table memory{};
  memory.struct_size = sizeof memory;
  memory.copy_in = [](void*, uint32_t, void*, const void*, void*, uint64_t, uint64_t) {
    if (!gate.inside.exchange(true))
      while (!gate.called) std::this_thread::yield();
    return static_cast<tn_status*>(nullptr);
  };
  tn_stream_table stream{};
  stream.struct_size = sizeof stream;
  stream.create = [](void*, uint32_t, void** out) -> tn_status* { return *out = &gate, nullptr; };
  tn_device_type type{};
  type.struct_size = sizeof type;
  type.name = str("ordered");
  type.device = &device;
  type.memory = &memory;
  type.stream = &stream;
  tn_validate_layer()->device_type(str("test.ordered"), &type);
  tn_validate_layer()->phase(str("test.ordered"), TN_LAYER_STARTING);
  uint32_t count = 0;
  tn_str reason{};
  tn_status_release(type.device->count(type.self, &count, &reason));
  tn_validate_layer()->phase(str("test.ordered"), TN_LAYER_STARTED);
  void* on = nullptr;
  tn_status_release(type.stream->create(type.self, 0, &on));
  tn_validate_clear();

  const auto copy = [&] {
    tn_status_release(type.memory->copy_in(type.self, 0, on, &count, nullptr, 0, 0));
  };
  std::thread first(copy);
  while (!gate.inside) std::this_thread::yield();
  std::thread second(copy);
  while (tn_validate_count() == 0)
    std::this_thread::yield();  // it is seen before it waits for its turn
  gate.called = true;
  first.join();
  second.join();
  const Violation found = only();
  EXPECT_EQ(found.kind, TN_VIOLATION_THREAD);
  EXPECT_NE(found.text.find("[stream-ordered]"), std::string::npos);
}

TEST(Layer, IsSetBeforeEverythingElse) {
  tn_device_count();
  EXPECT_EQ(take(tn_layer_set(tn_validate_layer())).code, TN_FAILED_PRECONDITION);
  EXPECT_EQ(take(tn_layer_set(nullptr)).code, TN_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tenon::test
