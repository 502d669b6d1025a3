// The exception barrier, and the host's table as this plugin knows it. Include tenon/plugin.hpp.
#ifndef TENON_SDK_BARRIER_HPP
#define TENON_SDK_BARRIER_HPP

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/plugin.h"

#ifndef __cpp_exceptions
#error "tenon/plugin.hpp needs exceptions; with -fno-exceptions include tenon/kernel.h"
#endif

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

  // A slot that an older host lacks: fails with a message instead of crashing.
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

  // Copies the host's table, which may be of another minor version, and fills missing slots.
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
    complete_slot(g_host.op_call_into);
    complete_slot(g_host.call_layer_push);
    complete_slot(g_host.call_layer_pop);
    complete_slot(g_host.backward_on_end);
    complete_slot(g_host.plugin_interface);
    complete_slot(g_host.op_result_count);
    complete_slot(g_host.grad_result_count);
    complete_slot(g_host.grad_entry_count);
    complete_slot(g_host.grad_saved_entry);
    complete_slot(g_host.grad_entry_needed);
    complete_slot(g_host.grad_set_entry);
    complete_slot(g_host.storage_track);
    complete_slot(g_host.storage_release);
    complete_slot(g_host.storage_restore);
    g_host.struct_size = sizeof g_host;
    return &g_host;
  }
  inline const tn_host* host() { return &g_host; }

  template <class Body>
  Status guard(Body && body) noexcept {
    return guard(host(), std::forward<Body>(body));
  }
  inline void check(Status status) { check(host(), status); }

}  // namespace sdk
}  // namespace tenon
#endif
