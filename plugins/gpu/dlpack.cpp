#include "dlpack.hpp"

#include <memory>

#include "backend.hpp"
#include "capture.hpp"
#include "tenon/ext/draft/dlpack.h"

namespace tenon::gpu {
namespace {

void precede(uint32_t index, const Stream& stream, const int64_t* number) {
  refuse_captured(stream.handle(), "a wait of another library's queue");
  rt::use(index);
  const rt::Stream queue = rt::queue_of(number);
  // The runtime keeps an event until those who wait for it have gone on.
  const std::unique_ptr<void, decltype(&rt::event_destroy)> event(rt::event_create(),
                                                                  &rt::event_destroy);
  rt::record(event.get(), stream.handle());
  rt::wait(queue, event.get());
}

}  // namespace

const void* dlpack_interface(tn_str name, uint32_t revision) {
  static const tn_dlpack table = {
      sizeof(tn_dlpack),
      0,
      sdk::str_of(rt::kName),
      nullptr,
      rt::kDlpackKind,
      0,
      [](void*, uint32_t index) { return static_cast<int32_t>(index); },
      [](void*, uint32_t index, void* address, void** buffer) {
        return sdk::guard([&] {
          rt::use(index);
          rt::check_address(index, address);
          *buffer = address;
        });
      },
      [](void*, void* stream, int64_t* queue) {
        return sdk::guard(
            [&] { *queue = reinterpret_cast<intptr_t>(static_cast<Stream*>(stream)->handle()); });
      },
      [](void*, uint32_t index, void* stream, const int64_t* queue) {
        return sdk::guard([&] { precede(index, *static_cast<Stream*>(stream), queue); });
      }};
  if (sdk::view_of(name) != TN_DLPACK_NAME || revision != TN_DLPACK_REVISION) return nullptr;
  return &table;
}

}  // namespace tenon::gpu
