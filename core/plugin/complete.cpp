#include "plugin/complete.hpp"

#include <algorithm>
#include <cstring>

#include "status.hpp"

namespace tenon::core {
namespace {

// A slot's name as a template argument.
struct Slot {
  char text[32]{};
  template <size_t N>
  constexpr Slot(const char (&name)[N]) {
    std::copy_n(name, N, text);
  }
};

template <Slot slot, class Result, class... Args>
Result missing(Args...) noexcept {
  if constexpr (std::is_same_v<Result, tn_status*>) {
    return make_status(TN_UNIMPLEMENTED, fmt::format("the plugin offers no {}", slot.text));
  } else if constexpr (!std::is_void_v<Result>) {
    return Result();
  }
}

template <Slot slot, class Result, class... Args>
void fill(Result (*&pointer)(Args...)) {
  if (pointer == nullptr) pointer = &missing<slot, Result, Args...>;
}

// As much of the plugin's struct as both sides know, zeros beyond it.
template <class Table>
Table copy_known(const Table* from, uint32_t size) {
  Table table{};
  if (from != nullptr)
    std::memcpy(static_cast<void*>(&table), from, std::min<size_t>(size, sizeof table));
  table.struct_size = sizeof table;
  return table;
}
template <class Table>
Table copy_known(const Table* from) {
  return copy_known(from, from == nullptr ? 0 : from->struct_size);
}

}  // namespace

tn_device_table complete(const tn_device_table* from) {
  tn_device_table table = copy_known(from);
  fill<"device.count">(table.count);
  fill<"device.info">(table.info);
  fill<"device.synchronize">(table.synchronize);
  return table;
}

tn_memory_table complete(const tn_memory_table* from) {
  tn_memory_table table = copy_known(from);
  fill<"memory.allocate">(table.allocate);
  fill<"memory.free">(table.free);
  fill<"memory.host_allocate">(table.host_allocate);
  fill<"memory.host_free">(table.host_free);
  fill<"memory.copy_in">(table.copy_in);
  fill<"memory.copy_out">(table.copy_out);
  fill<"memory.copy_within">(table.copy_within);
  fill<"memory.copy_peer">(table.copy_peer);
  fill<"memory.fill">(table.fill);
  return table;
}

tn_stream_table complete(const tn_stream_table* from) {
  tn_stream_table table = copy_known(from);
  fill<"stream.create">(table.create);
  fill<"stream.destroy">(table.destroy);
  fill<"stream.synchronize">(table.synchronize);
  fill<"stream.event_create">(table.event_create);
  fill<"stream.event_destroy">(table.event_destroy);
  fill<"stream.event_record">(table.event_record);
  fill<"stream.event_wait">(table.event_wait);
  fill<"stream.event_query">(table.event_query);
  fill<"stream.event_synchronize">(table.event_synchronize);
  fill<"stream.event_elapsed">(table.event_elapsed);
  return table;
}

tn_plugin complete(const tn_plugin* from) {
  tn_plugin table = copy_known(from);
  fill<"plugin.start">(table.start);
  // Nothing to wait for, nothing to stop: leaving these out is in order.
  if (table.quiesce == nullptr) table.quiesce = [](void*) -> tn_status* { return nullptr; };
  if (table.stop == nullptr) table.stop = [](void*) {};
  fill<"plugin.get_interface">(table.get_interface);
  return table;
}

tn_kernel complete(const tn_kernel* kernels, uint32_t index, uint32_t stride) {
  const auto* kernel = reinterpret_cast<const tn_kernel*>(reinterpret_cast<const char*>(kernels) +
                                                          size_t{index} * stride);
  const uint32_t size = std::min(kernel->struct_size, stride);
  tn_kernel table = copy_known(kernel, size);
  table.struct_size =
      size < offsetof(tn_kernel, self) ? size : sizeof table;  // registration refuses short ones
  return table;
}

tn_device_type complete(const tn_device_type* from) { return copy_known(from); }
tn_op_def complete(const tn_op_def* from) { return copy_known(from); }

}  // namespace tenon::core
