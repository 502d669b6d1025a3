#include "complete.hpp"

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
void fill_one(Result (*&pointer)(Args...)) {
  if (pointer == nullptr) pointer = &missing<slot, Result, Args...>;
}

// fill<"a.x", "a.y">(a.x, a.y)
template <Slot... names, class... Pointers>
void fill(Pointers&... pointers) {
  (fill_one<names>(pointers), ...);
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
  fill<"device.count", "device.info", "device.synchronize">(table.count, table.info,
                                                            table.synchronize);
  return table;
}

tn_memory_table complete(const tn_memory_table* from) {
  tn_memory_table table = copy_known(from);
  fill<"memory.allocate", "memory.free", "memory.host_allocate", "memory.host_free">(
      table.allocate, table.free, table.host_allocate, table.host_free);
  fill<"memory.copy_in", "memory.copy_out", "memory.copy_within", "memory.copy_peer",
       "memory.fill">(table.copy_in, table.copy_out, table.copy_within, table.copy_peer,
                      table.fill);
  return table;
}

tn_stream_table complete(const tn_stream_table* from) {
  tn_stream_table table = copy_known(from);
  fill<"stream.create", "stream.destroy", "stream.synchronize">(table.create, table.destroy,
                                                                table.synchronize);
  fill<"stream.event_create", "stream.event_destroy", "stream.event_record">(
      table.event_create, table.event_destroy, table.event_record);
  fill<"stream.event_wait", "stream.event_query", "stream.event_synchronize",
       "stream.event_elapsed">(table.event_wait, table.event_query, table.event_synchronize,
                               table.event_elapsed);
  return table;
}

tn_plugin complete(const tn_plugin* from) {
  tn_plugin table = copy_known(from);
  fill<"plugin.start">(table.start);
  // A plugin with nothing to wait for and nothing to stop may leave these out.
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
  // Registration refuses short ones.
  table.struct_size = size < offsetof(tn_kernel, self) ? size : sizeof table;
  return table;
}

tn_device_type complete(const tn_device_type* from) { return copy_known(from); }
tn_op_def complete(const tn_op_def* from) { return copy_known(from); }

}  // namespace tenon::core
