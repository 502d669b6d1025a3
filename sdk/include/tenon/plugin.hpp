// A C++ layer over tenon/plugin.h for plugin authors: an exception barrier, typed access to a call's arguments, registration.
// Everything is hidden and inline: two plugins in one process share nothing, and no type of the C++ library crosses the ABI.
#ifndef TENON_SDK_PLUGIN_HPP
#define TENON_SDK_PLUGIN_HPP

#include <initializer_list>
#include <span>
#include <string_view>

#include "tenon/barrier.hpp"
#include "tenon/kernel_call.hpp"
#include "tenon/plugin.h"
#include "tenon/typed_kernel.hpp"

namespace tenon {
namespace sdk __attribute__((visibility("hidden"))) {

  // For an output whose shape depends on data: allocated by the host, valid for the duration of the call.
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

  // A kernel from a function over typed spans, for the dtypes of its signature: see tenon/typed_kernel.hpp.
  //   kernel<relu>("relu(Tensor x) -> Tensor @1")
  //   kernel<matmul, both_matrices>("matmul(Tensor x, Tensor y) -> Tensor @1", 10)
  // `supports` has the same parameters, looks at shapes and attributes but at no element, and returns bool.
  template <auto fn, auto supports = nullptr>
  tn_kernel kernel(std::string_view schema, int32_t priority = 0) {
    using Signature = decltype(typed::signature_of(fn));
    static_assert(Signature::kResults > 0,
                  "a kernel writes a result: a span or Array of elements that are not const");
    static_assert(Signature::ordered(), "results come last, as in the schema");
    tn_kernel made = make_kernel(
        schema, Signature::mask(),
        [](void*, void*, const tn_call* call) -> Status {
          return guard([&] { Signature::template call<fn>(*call); });
        },
        priority);
    made.supports = [](void*, const tn_call* call, uint32_t* yes) -> Status {
      return guard([&] {
        *yes = Signature::fit(*call) ? 1 : 0;
        if constexpr (!std::is_null_pointer_v<decltype(supports)>)
          if (*yes != 0) *yes = Signature::template call<supports>(*call) ? 1 : 0;
      });
    };
    return made;
  }

  // A plugin's start function registers through this. Throws Error.
  class Registry {
   public:
    Registry(const tn_host* host, void* plugin, std::string_view directory)
        : host_(host), plugin_(plugin), directory_(directory) {}
    std::string_view directory() const { return directory_; }  // the library's directory
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
