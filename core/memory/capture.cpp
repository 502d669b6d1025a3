// Graphs of a device's work: a stream that records, and what it recorded (tenon/capture.h).
#include "tenon/capture.h"

#include <memory>
#include <vector>

#include "boundary.hpp"
#include "loader.hpp"
#include "memory/device.hpp"
#include "memory/generator.hpp"
#include "tenon/ext/draft/capture.h"

using namespace tenon::core;

struct tn_graph {
  tn_device* device;
  void* stream = nullptr;  // that it was recorded on; NULL where there is nothing
  void* handle = nullptr;  // of the plugin; NULL while it records
  tn_capture_info info{};
  Draws first{};       // where the default generator was when it began
  uint64_t draws = 0;  // of that generator, by each replay

  explicit tn_graph(tn_device& of) : device(&of) {}
  ~tn_graph();
  tn_graph(const tn_graph&) = delete;

  const tn_stream_table& streams() const { return device->type->stream; }
  bool records() const { return stream != nullptr && handle == nullptr; }
  // The plugin's end; what could not be kept goes.
  tn_status* finish(const tn_capture& table, bool keep);
};

namespace {

// The capture interface of the device's plugin; NULL if it has none or is no longer loaded.
const tn_capture* find_capture(const tn_device& device) {
  const auto* table = static_cast<const tn_capture*>(
      plugin_interface(device.type->plugin, to_str(TN_CAPTURE_NAME), TN_CAPTURE_REVISION));
  const bool offered = table != nullptr && to_view(table->device_type) == device.type->name;
  return offered && !device.type->retired ? table : nullptr;
}

const tn_capture& capture_of(const tn_device& device) {
  if (const tn_capture* table = find_capture(device)) return *table;
  fail(TN_FAILED_PRECONDITION, "[graph] the plugin of {} has gone", device.id);
}

[[noreturn]] void refuse(const tn_device& device) {
  std::string able;
  for (uint32_t i = 0; i < tn_device_count(); ++i) {
    const tn_device& other = *tn_device_at(i);
    if (find_capture(other) == nullptr || able.find(other.type->name) != able.npos) continue;
    able.append(able.empty() ? "" : ", ").append(other.type->name);
  }
  fail(TN_UNIMPLEMENTED, "[capture] {} cannot capture graphs; device types that can: {}", device.id,
       able.empty() ? "none of those there are" : able);
}

Draws default_state() {
  Draws now{};
  tn_generator_get_state(nullptr, &now.seed, &now.offset);
  return now;
}

}  // namespace

tn_status* tn_graph::finish(const tn_capture& table, bool keep) {
  if (t_redirect.device == device && t_redirect.stream == stream) t_redirect = {};
  info.struct_size = sizeof info;
  const InOrder order(*device);
  tn_status* status = table.end(table.self, device->index, stream, keep ? &handle : nullptr, &info);
  if (status == nullptr && keep) return nullptr;
  streams().destroy(device->type->self, stream);
  stream = handle = nullptr;
  info = {};
  return status;
}

tn_graph::~tn_graph() {
  const tn_capture* table = stream == nullptr ? nullptr : find_capture(*device);
  if (table == nullptr) return;  // freed with its plugin
  if (records()) {
    tn_status_release(finish(*table, false));
    return;
  }
  const InOrder order(*device);
  table->destroy(table->self, handle);
  streams().destroy(device->type->self, stream);
}

uint32_t tn_graph_supported(tn_device* device) {
  return device != nullptr && find_capture(*device) != nullptr;
}

tn_status* tn_graph_begin(tn_device* device, tn_graph** out) {
  TN_REQUIRE(device, out);
  return guarded([&] {
    if (t_redirect.device != nullptr)
      fail(TN_FAILED_PRECONDITION, "[capture] this thread captures a graph of {} already",
           t_redirect.device->id);
    const tn_capture* table = find_capture(*device);
    if (table == nullptr) refuse(*device);
    auto graph = std::make_unique<tn_graph>(*device);
    const InOrder order(*device);
    void* stream = nullptr;
    check(graph->streams().create(device->type->self, device->index, &stream));
    graph->first = default_state();
    if (tn_status* failed = table->begin(table->self, device->index, stream, graph->first.seed,
                                         graph->first.offset)) {
      graph->streams().destroy(device->type->self, stream);
      check(failed);
    }
    graph->stream = stream;
    t_redirect = {device, stream};
    *out = graph.release();
  });
}

tn_status* tn_graph_end(tn_graph* graph) {
  TN_REQUIRE(graph);
  return guarded([&] {
    if (!graph->records()) fail(TN_FAILED_PRECONDITION, "[capture] it has ended already");
    if (t_redirect.stream != graph->stream)
      fail(TN_FAILED_PRECONDITION, "[capture] another thread than this one captures it");
    check(graph->finish(capture_of(*graph->device), true));
    // Nothing was drawn: each replay draws.
    const Draws now = default_state();
    if (now.seed != graph->first.seed || now.offset <= graph->first.offset) return;
    graph->draws = now.offset - graph->first.offset;
    tn_generator_set_state(nullptr, graph->first.seed, graph->first.offset);
  });
}

tn_status* tn_graph_replay(tn_graph* graph) {
  TN_REQUIRE(graph);
  return guarded([&] {
    if (graph->handle == nullptr)
      fail(TN_FAILED_PRECONDITION, "[graph] nothing was captured, or it has not ended");
    if (t_redirect.device != nullptr)
      fail(TN_FAILED_PRECONDITION, "[graph] a replay while this thread captures a graph");
    const tn_capture& table = capture_of(*graph->device);
    const Draws now = default_state();
    const InOrder order(*graph->device);
    check(table.launch(table.self, graph->handle, graph->device->stream, now.seed, now.offset));
    if (graph->draws != 0) tn_generator_set_state(nullptr, now.seed, now.offset + graph->draws);
  });
}

tn_status* tn_graph_get_stats(const tn_graph* graph, tn_graph_stats* out) {
  TN_REQUIRE(graph, out);
  return guarded([&] {
    const tn_graph_stats stats{sizeof stats, 0, graph->info.nodes, graph->info.bytes};
    give(stats, out);
  });
}

void tn_graph_release(tn_graph* graph) { delete graph; }
