#include "layer.hpp"

#include "device.hpp"
#include "references.hpp"

namespace tenon::validate {
namespace {

void phase(tn_str plugin, uint32_t phase) {
  const std::string_view id = text_of(plugin);
  if (phase == TN_LAYER_STARTING || phase == TN_LAYER_QUIESCING) begin_phase();
  if (phase == TN_LAYER_STARTED || phase == TN_LAYER_GONE) end_phase();
  if (phase != TN_LAYER_GONE) return;
  const Crossing here(id, "plugin.quiesce");
  for (DeviceType* type : all_types())
    if (type->plugin == id) type->report_leaks();
  report_references(id);
}

// The device that only records graphs has neither memory nor streams to look at; what it records is checked as it runs elsewhere.
bool records(tn_str plugin) { return text_of(plugin) == "trace"; }

void device_type(tn_str plugin, tn_device_type* type) {
  if (records(plugin)) return;
  add_type(text_of(plugin), *type).publish(*type);
}
void kernel(tn_str plugin, tn_str device, tn_kernel* table) {
  if (!records(plugin)) wrap_kernel(text_of(plugin), text_of(device), *table);
}
void op(tn_str plugin, tn_op_def* def) { wrap_op(text_of(plugin), *def); }

}  // namespace
}  // namespace tenon::validate

using namespace tenon::validate;

const tn_layer* tn_validate_layer(void) {
  static const tn_layer layer = {sizeof(tn_layer), 0, wrap_host, phase, device_type, kernel, op};
  return &layer;
}

void tn_validate_each_block(uint64_t since, void (*visit)(void* ctx, const tn_live_block* block),
                            void* ctx) {
  for (const DeviceType* type : all_types()) type->blocks->each(since, visit, ctx);
}

uint64_t tn_validate_next_serial(void) { return next_serial(); }

void tn_validate_flush(void) {
  for (DeviceType* type : all_types()) {
    const Crossing here(type->plugin, "memory.free");
    type->blocks->flush();
  }
}
