// A backend's devices as a C++ class: register_devices(registry, "acme", devices) with an object of
//
//   struct Acme {
//     void info(uint32_t index, tn_device_info* out);
//     void allocate(uint32_t index, uint64_t bytes, void** buffer, void** address);
//     void free(uint32_t index, void* buffer);
//     …
//   };
//
// Members have the names and parameters of the slots of tn_device_table, tn_memory_table and tn_stream_table without `self`, and
// return void. An exception becomes a status; a member that the class lacks stays a missing slot. Streams: stream_create,
// stream_destroy, stream_synchronize, event_create, …, in place of create, destroy and synchronize. Include tenon/plugin.hpp.
#ifndef TENON_SDK_DEVICE_TYPE_HPP
#define TENON_SDK_DEVICE_TYPE_HPP

#include <pthread.h>

#include <atomic>
#include <string>
#include <string_view>

#include "tenon/plugin.hpp"

namespace tenon {
namespace sdk __attribute__((visibility("hidden"))) {
  // Whether devices that a process opened work in a child that fork() makes. Most drivers' do not: their threads stay with the parent.
  enum class InChild { Works, Fails };

  namespace device_type {
  inline std::string g_driver;  // of devices that fail in a child
  inline std::atomic<bool> g_forked{false};
  }  // namespace device_type

  // Whether this process is such a child, where such devices fail: leave the driver alone.
  inline bool lost_by_fork() { return device_type::g_forked.load(std::memory_order_relaxed); }

  namespace device_type {

  inline void check_process() {
    if (lost_by_fork())
      fail(TN_FAILED_PRECONDITION, "[", g_driver,
           "] the driver was opened before this process forked, and works in its parent only: "
           "start processes by 'spawn', or compute on the host here");
  }
  inline void fail_in_children(std::string_view driver) {
    g_driver = driver;
    [[maybe_unused]] static const int once =
        pthread_atfork(nullptr, nullptr, [] { g_forked.store(true); });
  }

  // A member function as the C function of a slot, wrapped in the barrier.
  template <class T, auto member, class Pointer = decltype(member)>
  struct Slot;
  template <class T, auto member, class Owner, class... Args>
  struct Slot<T, member, void (Owner::*)(Args...)> {
    static void call(Status (*&slot)(void*, Args...)) {
      slot = [](void* self, Args... args) -> Status {
        return guard([&] {
          check_process();
          (static_cast<T*>(self)->*member)(args...);
        });
      };
    }
    // A slot that returns nothing cannot report an error, so it is logged. In a child it has nothing to free.
    static void call(void (*&slot)(void*, Args...)) {
      slot = [](void* self, Args... args) {
        if (lost_by_fork()) return;
        if (Status status = guard([&] { (static_cast<T*>(self)->*member)(args...); })) {
          host()->log(3, host()->status_message(status));
          host()->status_release(status);
        }
      };
    }
  };
  template <class T, auto member, class Owner, class... Args>
  struct Slot<T, member, void (Owner::*)(Args...) noexcept>
      : Slot<T, member, void (Owner::*)(Args...)> {};
  template <class T, auto member, class Owner, class... Args>
  struct Slot<T, member, void (Owner::*)(Args...) const>
      : Slot<T, member, void (Owner::*)(Args...)> {};

  template <class T, auto member, class Owner, class... Args>
  struct Slot<T, member, void (Owner::*)(Args...) const noexcept>
      : Slot<T, member, void (Owner::*)(Args...)> {};

#define TENON_SLOT(table, slot, name) \
  if constexpr (requires { &T::name; }) Slot<T, &T::name>::call((table).slot)

  template <class T>
  tn_device_table devices() {
    tn_device_table table{};
    table.struct_size = sizeof table;
    // Defaults: one device, whose work is done when a call returns.
    table.count = [](void*, uint32_t* count, tn_str* reason) -> Status {
      *count = 1;
      *reason = str_of("");
      return nullptr;
    };
    table.synchronize = [](void*, uint32_t) -> Status { return nullptr; };
    TENON_SLOT(table, count, count);
    TENON_SLOT(table, info, info);
    TENON_SLOT(table, synchronize, synchronize);
    return table;
  }

  template <class T>
  tn_memory_table memory() {
    tn_memory_table table{};
    table.struct_size = sizeof table;
    if constexpr (requires { T::memory_flags; }) table.flags = T::memory_flags;
    TENON_SLOT(table, allocate, allocate);
    TENON_SLOT(table, free, free);
    TENON_SLOT(table, host_allocate, host_allocate);
    TENON_SLOT(table, host_free, host_free);
    TENON_SLOT(table, copy_in, copy_in);
    TENON_SLOT(table, copy_out, copy_out);
    TENON_SLOT(table, copy_within, copy_within);
    TENON_SLOT(table, copy_peer, copy_peer);
    TENON_SLOT(table, fill, fill);
    return table;
  }

  template <class T>
  tn_stream_table streams() {
    tn_stream_table table{};
    table.struct_size = sizeof table;
    TENON_SLOT(table, create, stream_create);
    TENON_SLOT(table, destroy, stream_destroy);
    TENON_SLOT(table, synchronize, stream_synchronize);
    TENON_SLOT(table, event_create, event_create);
    TENON_SLOT(table, event_destroy, event_destroy);
    TENON_SLOT(table, event_record, event_record);
    TENON_SLOT(table, event_wait, event_wait);
    TENON_SLOT(table, event_query, event_query);
    TENON_SLOT(table, event_synchronize, event_synchronize);
    TENON_SLOT(table, event_elapsed, event_elapsed);
    return table;
  }
#undef TENON_SLOT

  }  // namespace device_type

  // Registers `self`, which must live as long as the process, as the devices `name`:0, `name`:1, ….
  template <class T>
  void register_devices(Registry & registry, std::string_view name, T & self,
                        InChild in_child = InChild::Works) {
    static_assert(
        requires { &T::info; }, "a device type needs void info(uint32_t, tn_device_info*)");
    static_assert(
        requires {
          &T::allocate;
          &T::free;
          &T::copy_in;
          &T::copy_out;
          &T::copy_within;
        },
        "a device type needs allocate, free, copy_in, copy_out and copy_within");
    const tn_device_table devices = device_type::devices<T>();
    const tn_memory_table memory = device_type::memory<T>();
    const tn_stream_table streams = device_type::streams<T>();
    tn_device_type type{};
    type.struct_size = sizeof type;
    if constexpr (requires { T::type_flags; }) type.flags = T::type_flags;
    type.name = str_of(name);
    type.self = &self;
    type.device = &devices;
    type.memory = &memory;
    if constexpr (requires { &T::stream_create; }) type.stream = &streams;
    if (in_child == InChild::Fails) device_type::fail_in_children(name);
    registry.device_type(type);
  }

}  // namespace sdk
}  // namespace tenon
#endif
