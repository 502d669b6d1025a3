// Storage whose bytes can be released and restored. It knows all headers that use it, because each holds the address itself; only
// tracked storages pay for that.
#include <algorithm>
#include <memory>
#include <mutex>

#include "boundary.hpp"
#include "modes.hpp"
#include "tensor/blocks.hpp"

namespace tenon::core {

std::atomic<uint64_t> g_epoch{0};

namespace {

struct Tracked {
  Storage& storage;
  const uint64_t bytes;
  std::mutex mutex;
  std::vector<tn_tensor*> headers;
  bool released = false;
  uint32_t version = 0;  // when the bytes were released

  bool inside() const { return storage.unowned != 0; }  // the bytes of a small block stay
};

// What the last header leaves: Storage.release, by which a tracked storage is known, too.
void free_tracked(void* ctx) {
  const std::unique_ptr<Tracked> tracked(static_cast<Tracked*>(ctx));
  const Storage& storage = tracked->storage;
  if (!tracked->released && !tracked->inside()) deallocate(*storage.device, storage.block);
}

Tracked& tracked(const tn_tensor& tensor) {
  return *static_cast<Tracked*>(tensor.storage->release_ctx);
}

// Points all headers at the bytes' new address, or marks them as released.
void move_headers(Tracked& of, bool released) {
  const std::lock_guard lock(of.mutex);
  of.released = released;
  Block at = of.storage.block;
  if (of.inside())
    at.buffer = at.data = reinterpret_cast<SmallBlock*>(header_of(&of.storage))->bytes;
  for (tn_tensor* header : of.headers) {
    tn_view& view = header->view;
    view.buffer = released ? nullptr : at.buffer;
    view.data =
        released || at.data == nullptr ? nullptr : static_cast<char*>(at.data) + view.offset;
    view.flags = released ? view.flags | TN_VIEW_RELEASED : view.flags & ~TN_VIEW_RELEASED;
  }
  g_epoch.fetch_add(1);
}

void release_bytes(Tracked& of) {
  of.version = of.storage.version.load(std::memory_order_relaxed);
  move_headers(of, true);
  if (!of.inside()) deallocate(*of.storage.device, std::exchange(of.storage.block, Block{}));
}

void track(tn_tensor& tensor) {
  if ((tensor.block_class & kTracked) != 0) return;
  Storage& storage = *tensor.storage;
  const bool inside = (header_of(&storage)->block_class & ~kMoved) == kSmallBlock;
  if (storage.release != nullptr || (storage.unowned != 0 && !inside))
    fail(TN_FAILED_PRECONDITION, "[storage] the memory of {} was wrapped and is somebody else's",
         describe(tensor));
  if (storage.refs.load(std::memory_order_acquire) != 1)
    fail(TN_FAILED_PRECONDITION,
         "[storage] other tensors show the bytes of {} already; track its storage before views are "
         "made of it or a gradient keeps it",
         describe(tensor));
  storage.release_ctx = new Tracked{storage, storage.block.bytes, {}, {}};
  storage.release = free_tracked;
  show(tensor);
}

void release_storage(tn_tensor& tensor) {
  if (tensor.device->redirected())
    fail(TN_FAILED_PRECONDITION, "[storage] this thread captures a graph of {}, which keeps memory",
         tensor.device->id);
  track(tensor);
  if (has_elements(tensor)) release_bytes(tracked(tensor));
}

void restore_storage(tn_tensor& tensor, tn_status* (*fill)(void* ctx, tn_tensor* tensor),
                     void* ctx) {
  if (has_elements(tensor))
    fail(TN_FAILED_PRECONDITION, "[storage] the storage of {} was not released", describe(tensor));
  Tracked& of = tracked(tensor);
  if (!of.inside()) of.storage.block = allocate(*of.storage.device, of.bytes);
  move_headers(of, false);
  if (fill == nullptr) {
    of.storage.version.fetch_add(1, std::memory_order_release);
    return;
  }
  const Without quiet(TN_MODE_GRAD);
  const uint32_t version = of.version;
  const Ref held(make_alias(tensor));  // fill may give the tensor other elements
  tn_status* status = fill(ctx, &tensor);
  if (status != nullptr && !of.released) release_bytes(of);
  of.version = version;
  of.storage.version.store(version, std::memory_order_release);
  check(status);
}

}  // namespace

void show(tn_tensor& fresh) {
  Tracked& of = tracked(fresh);
  const std::lock_guard lock(of.mutex);
  of.headers.push_back(&fresh);
  fresh.block_class |= kTracked;
  if (of.released) fresh.view.flags |= TN_VIEW_RELEASED;
}

void forget(tn_tensor& dying) noexcept {
  Tracked& of = tracked(dying);
  const std::lock_guard lock(of.mutex);
  std::erase(of.headers, &dying);
  dying.block_class &= static_cast<uint8_t>(~kTracked);
}

void fail_released(const tn_tensor& tensor) {
  fail(TN_FAILED_PRECONDITION, "the storage of {} was released; restore it first",
       describe(tensor));
}

}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_storage_track(tn_tensor* tensor) {
  TN_REQUIRE(tensor);
  return guarded([&] { track(*tensor); });
}

tn_status* tn_storage_release(tn_tensor* tensor) {
  TN_REQUIRE(tensor);
  return guarded([&] { release_storage(*tensor); });
}

tn_status* tn_storage_restore(tn_tensor* tensor, tn_status* (*fill)(void* ctx, tn_tensor* tensor),
                              void* ctx) {
  TN_REQUIRE(tensor);
  return guarded([&] { restore_storage(*tensor, fill, ctx); });
}
