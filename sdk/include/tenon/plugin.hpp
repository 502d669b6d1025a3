// C++ sugar over tenon/plugin.h for authors of plugins: an exception barrier, typed access to a call's arguments, registration.
// Everything is hidden and inline, so two plugins in one process share nothing and nothing of the C++ library crosses the ABI.
#ifndef TENON_SDK_PLUGIN_HPP
#define TENON_SDK_PLUGIN_HPP

#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/kernel_call.hpp"
#include "tenon/plugin.h"

namespace tenon {
namespace sdk __attribute__((visibility("hidden"))) {

  using Status = tn_status*;  // NULL is success

  // What a kernel throws; the barrier turns it into a status.
  class Error : public std::exception {
   public:
    Error(uint32_t code, std::string message) : code_(code), message_(std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }
    uint32_t code() const noexcept { return code_; }

   private:
    uint32_t code_;
    std::string message_;
  };

  inline std::string_view view_of(tn_str text) {
    return {text.data, static_cast<size_t>(text.size)};
  }
  inline tn_str str_of(std::string_view text) { return {text.data(), text.size()}; }

  // fail(TN_INVALID_ARGUMENT, "[pad] mode ", mode, " with ", n, " sizes")
  template <class... Parts>
  [[noreturn]] void fail(uint32_t code, const Parts&... parts) {
    std::string text;
    const auto add = [&text](const auto& part) {
      if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
        text += std::to_string(part);
      } else {
        text += part;
      }
    };
    (add(parts), ...);
    throw Error(code, std::move(text));
  }

  // ---- Statuses and the barrier -------------------------------------------------------------------------------------------

  // The status of the exception being handled; only inside a catch block.
  inline Status status_of_current_exception(const tn_host* host) noexcept {
    try {
      throw;
    } catch (const Error& error) {
      return host->make_status(error.code(), str_of(error.what()));
    } catch (const std::bad_alloc&) {
      return host->make_status(TN_OUT_OF_MEMORY, str_of("out of host memory"));
    } catch (const std::exception& error) {
      return host->make_status(TN_INTERNAL, str_of(error.what()));
    } catch (...) {
      return host->make_status(TN_INTERNAL, str_of("unknown exception"));
    }
  }

  // Runs `body` (returning void or Status) and turns whatever it throws into a status.
  template <class Body>
  Status guard(const tn_host* host, Body&& body) noexcept {
    try {
      if constexpr (std::is_same_v<decltype(body()), Status>) {
        return body();
      } else {
        body();
        return nullptr;
      }
    } catch (...) {
      return status_of_current_exception(host);
    }
  }

  // Throws what a status of the host reports and frees it.
  inline void check(const tn_host* host, Status status) {
    if (status == nullptr) return;
    Error error(host->status_code(status), std::string(view_of(host->status_message(status))));
    host->status_release(status);
    throw error;
  }

  // ---- The host's table ---------------------------------------------------------------------------------------------------

  // The host's table as this plugin's headers know it. Filled by adopt_host at start; the same for the life of the process.
  inline tn_host g_host{};

  // A slot that an older host does not have: says so instead of crashing.
  template <class Result, class... Args>
  Result missing_slot(Args...) noexcept {
    if constexpr (std::is_same_v<Result, Status>) {
      return g_host.make_status(TN_UNIMPLEMENTED,
                                str_of("the host is older and has no such function"));
    } else {
      return Result();
    }
  }

  template <class Result, class... Args>
  void complete_slot(Result(*&slot)(Args...)) {
    if (slot == nullptr) slot = &missing_slot<Result, Args...>;
  }

  // Copies the host's table, which may be of another minor version, and fills what it lacks.
  inline const tn_host* adopt_host(const tn_host* from) {
    std::memset(static_cast<void*>(&g_host), 0, sizeof g_host);
    std::memcpy(static_cast<void*>(&g_host), from,
                from->struct_size < sizeof g_host ? from->struct_size : sizeof g_host);
    complete_slot(g_host.log);
    complete_slot(g_host.register_op);
    complete_slot(g_host.make_output);
    complete_slot(g_host.op_find);
    complete_slot(g_host.op_call);
    complete_slot(g_host.tensor_retain);
    complete_slot(g_host.tensor_release);
    complete_slot(g_host.tensor_view);
    complete_slot(g_host.grad_output);
    complete_slot(g_host.grad_saved_input);
    complete_slot(g_host.grad_saved_output);
    complete_slot(g_host.grad_arg);
    complete_slot(g_host.grad_needed);
    complete_slot(g_host.grad_set);
    complete_slot(g_host.get_interface);
    g_host.struct_size = sizeof g_host;
    return &g_host;
  }
  inline const tn_host* host() { return &g_host; }

  template <class Body>
  Status guard(Body && body) noexcept {
    return guard(host(), std::forward<Body>(body));
  }
  inline void check(Status status) { check(host(), status); }

  // For an output whose shape depends on data: allocated by the host, valid as long as the call.
  inline const tn_view& make_output(const Call& call, uint32_t k, std::span<const int64_t> sizes) {
    const tn_view* made = nullptr;
    check(host()->make_output(&call.raw(), k, static_cast<uint32_t>(sizes.size()), sizes.data(),
                              &made));
    return *made;
  }

  // ---- Registration -------------------------------------------------------------------------------------------------------

  // A kernel from a function over Call, or over the raw arguments for one that wants its plan.
  using KernelFn = void (*)(const Call& call);

  inline tn_kernel make_kernel(std::string_view schema, uint64_t dtypes,
                               Status(*run)(void*, void*, const tn_call*), int32_t priority = 0,
                               uint32_t flags = 0) {
    tn_kernel kernel{};
    kernel.struct_size = sizeof kernel;
    kernel.flags = flags;
    kernel.op = str_of(schema);
    kernel.dtypes = dtypes;
    kernel.priority = priority;
    kernel.run = run;
    return kernel;
  }
  inline tn_kernel make_kernel(std::string_view schema, uint64_t dtypes, KernelFn fn,
                               int32_t priority = 0, uint32_t flags = 0) {
    tn_kernel kernel = make_kernel(
        schema, dtypes,
        [](void* self, void*, const tn_call* call) -> Status {
          return guard([&] { reinterpret_cast<KernelFn>(self)(Call(*call)); });
        },
        priority, flags);
    kernel.self = reinterpret_cast<void*>(fn);
    return kernel;
  }
  // The same without the indirect call: make_kernel<softmax_f32>("softmax(…) -> Tensor @1", TN_MASK(TN_DTYPE_F32)).
  template <KernelFn fn>
  tn_kernel make_kernel(std::string_view schema, uint64_t dtypes, int32_t priority = 0,
                        uint32_t flags = 0) {
    return make_kernel(
        schema, dtypes,
        [](void*, void*, const tn_call* call) -> Status { return guard([&] { fn(Call(*call)); }); },
        priority, flags);
  }

  // What a start function registers through. Throws Error.
  class Registry {
   public:
    Registry(const tn_host* host, void* plugin, std::string_view directory)
        : host_(host), plugin_(plugin), directory_(directory) {}
    std::string_view directory() const { return directory_; }  // where the library lies
    void device_type(const tn_device_type& type) {
      check(host_, host_->register_device_type(plugin_, &type));
    }
    void kernels(std::string_view device, std::span<const tn_kernel> kernels) {
      if (kernels.empty()) return;
      check(host_,
            host_->register_kernels(plugin_, str_of(device), kernels.data(),
                                    static_cast<uint32_t>(kernels.size()), sizeof(tn_kernel)));
    }
    void kernels(std::string_view device, std::initializer_list<tn_kernel> list) {
      kernels(device, std::span<const tn_kernel>(list.begin(), list.size()));
    }
    void op(const tn_op_def& def) { check(host_, host_->register_op(plugin_, &def)); }

   private:
    const tn_host* host_;
    void* plugin_;
    std::string_view directory_;
  };

// The entry of a plugin. `start_fn` is void(tenon::sdk::Registry&); it may throw.
#define TENON_PLUGIN(plugin_id, plugin_version, start_fn)                                      \
  extern "C" TN_EXPORT tn_status* tn_plugin_query(uint32_t, uint32_t, const tn_plugin** out) { \
    static const tn_plugin plugin = {                                                          \
        sizeof(tn_plugin),                                                                     \
        TN_ABI_MAJOR,                                                                          \
        TN_ABI_MINOR,                                                                          \
        0,                                                                                     \
        {plugin_id, sizeof(plugin_id) - 1},                                                    \
        {plugin_version, sizeof(plugin_version) - 1},                                          \
        [](const tn_host* from, void* token, tn_str directory, void** state) -> tn_status* {   \
          *state = nullptr;                                                                    \
          const tn_host* host = ::tenon::sdk::adopt_host(from);                                \
          return ::tenon::sdk::guard(host, [&] {                                               \
            ::tenon::sdk::Registry registry(host, token, ::tenon::sdk::view_of(directory));    \
            start_fn(registry);                                                                \
          });                                                                                  \
        },                                                                                     \
        [](void*) -> tn_status* { return nullptr; },                                           \
        [](void*) {},                                                                          \
        [](void*, tn_str, uint32_t) -> const void* { return nullptr; }};                       \
    *out = &plugin;                                                                            \
    return nullptr;                                                                            \
  }

}  // namespace sdk
}  // namespace tenon
#endif
