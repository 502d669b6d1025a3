// Allocates and frees tensor headers: blocks of three sizes on thread-local free lists.
#include <algorithm>
#include <cstdlib>

#include "boundary.hpp"
#include "modes.hpp"
#include "status.hpp"
#include "tenon/autograd.h"
#include "tensor/blocks.hpp"
#include "tensor/free_list.hpp"

namespace tenon::core {

constinit uint64_t g_inline_bytes = kInlineBytes;

namespace {

template <class Block>
FreeList<sizeof(Block)>& blocks() {
  static thread_local constinit FreeList<sizeof(Block)> list TN_TLS;
  return list;
}

tn_tensor* take_block(uint8_t block_class) {
  void* memory = block_class == kViewBlock  ? blocks<tn_tensor>().take()
                 : block_class == kOwnBlock ? blocks<OwnBlock>().take()
                                            : blocks<SmallBlock>().take();
  auto* tensor = static_cast<tn_tensor*>(memory);
  tensor->view.struct_size = sizeof(tn_view);
  new (&tensor->refs) std::atomic<uint32_t>(1);
  tensor->flags = (t_modes & TN_MODE_INFERENCE) != 0 ? kInference : 0;
  tensor->block_class = block_class;
  tensor->output_nr = 0;
  tensor->grad_fn = nullptr;
  tensor->meta = nullptr;
  return tensor;
}

void give_block(tn_tensor* tensor) noexcept {
  if (tensor->block_class == kSmallBlock) return blocks<SmallBlock>().give(tensor);
  if (tensor->block_class == kOwnBlock) return blocks<OwnBlock>().give(tensor);
  blocks<tn_tensor>().give(tensor);
}

// Points view.shape and view.strides at room for n dimensions; gives the block back where there is none.
void place_dims(tn_tensor* tensor, uint32_t n) {
  int64_t* dims = tensor->dims;
  if (n > kInlineDims) {
    dims = static_cast<int64_t*>(std::malloc(2 * n * sizeof(int64_t)));
    if (dims == nullptr) {
      give_block(tensor);
      throw std::bad_alloc();
    }
  }
  // Code that looks at a first dimension finds one element there, even at rank 0.
  if (n == 0) [[unlikely]]
    dims[0] = dims[kInlineDims] = 1;
  tensor->view.ndim = n;
  tensor->view.shape = dims;
  tensor->view.strides = dims + (n > kInlineDims ? n : kInlineDims);
}

void free_dims(tn_tensor* tensor) noexcept {
  if (tensor->view.shape != tensor->dims) std::free(const_cast<int64_t*>(tensor->view.shape));
}

int64_t* shape_of(tn_tensor* tensor) { return const_cast<int64_t*>(tensor->view.shape); }
int64_t* strides_of(tn_tensor* tensor) { return const_cast<int64_t*>(tensor->view.strides); }

Storage* storage_in(tn_tensor* header) { return &reinterpret_cast<OwnBlock*>(header)->storage; }

Storage* init_storage(tn_tensor* header, tn_device& device) {
  Storage* storage = storage_in(header);
  new (&storage->refs) std::atomic<uint32_t>(1);
  new (&storage->version) std::atomic<uint32_t>(0);
  storage->device = &device;
  storage->block = Block{};
  storage->release = nullptr;
  storage->release_ctx = nullptr;
  storage->unowned = header->block_class == kSmallBlock;
  storage->read_only = 0;
  header->storage = storage;
  header->device = &device;
  return storage;
}

[[gnu::always_inline]] inline void free_bytes(Storage& storage) noexcept {
  tn_device& device = *storage.device;
  if (storage.release != nullptr) {
    if (storage.unowned) defer(device, synchronize(device));  // others may use the bytes at once
    storage.release(storage.release_ctx);
  } else if (!storage.unowned) {
    deallocate(device, storage.block);
  } else {
    return;
  }
  if (!device.is_host()) device.live_storages.fetch_sub(1, std::memory_order_relaxed);
}

[[gnu::always_inline]] inline void release_storage(Storage* storage) noexcept {
  // The only owner needs no atomic write.
  if (storage->refs.load(std::memory_order_acquire) != 1 &&
      storage->refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  free_bytes(*storage);
  give_block(header_of(storage));
}

// A header stops using its block's storage. The bytes are freed now if no other header uses them, otherwise with the header.
void leave_block(tn_tensor& tensor, Storage& own) noexcept {
  tensor.block_class |= kMoved;
  if (own.refs.load(std::memory_order_acquire) != 1) return;
  free_bytes(own);
  own.release = nullptr;
  own.unowned = 1;
}

// Header, dims undefined, with memory for `numel` elements.
tn_tensor* make_raw(tn_dtype dtype, uint32_t ndim, int64_t numel, tn_device& device) {
  uint64_t bytes = static_cast<uint64_t>(numel) * dtype_size(dtype);
  bool small = bytes <= g_inline_bytes && device.is_host();
  tn_tensor* tensor = take_block(small ? kSmallBlock : kOwnBlock);
  Storage* storage = init_storage(tensor, device);
  tensor->view.dtype = dtype;
  tensor->view.offset = 0;
  tensor->numel = numel;
  place_dims(tensor, ndim);
  if (small) {
    tensor->view.data = tensor->view.buffer = reinterpret_cast<SmallBlock*>(tensor)->bytes;
    return tensor;
  }
  try {
    storage->block = allocate(device, bytes);
  } catch (...) {
    free_dims(tensor);
    give_block(tensor);
    throw;
  }
  tensor->view.data = storage->block.data;
  tensor->view.buffer = storage->block.buffer;
  if (!device.is_host()) device.live_storages.fetch_add(1, std::memory_order_relaxed);
  return tensor;
}

// The flag of a row-major layout, or none.
uint32_t layout_flags(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return TN_VIEW_CONTIGUOUS;
    if (shape[d] != 1 && strides[d] != step) return 0;
    step *= shape[d];
  }
  return TN_VIEW_CONTIGUOUS;
}

// Gives a header its shape, strides and number of elements.
[[gnu::always_inline]] inline void lay(tn_tensor* tensor, std::span<const int64_t> shape,
                                       std::span<const int64_t> strides) {
  place_dims(tensor, static_cast<uint32_t>(shape.size()));
  int64_t numel = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    shape_of(tensor)[d] = shape[d];
    strides_of(tensor)[d] = strides[d];
    numel *= shape[d];
  }
  tensor->numel = numel;
  tensor->view.flags = layout_flags(shape, strides);
}

// Strides of a fresh tensor whose dimensions lie in the order of `like`; equal ones as they are.
void lay_like(tn_tensor* tensor, const int64_t* like) {
  uint32_t order[TN_MAX_DIMS];  // outermost first
  for (uint32_t d = 0; d < tensor->ndim(); ++d) {
    uint32_t at = d;
    for (; at > 0 && std::abs(like[order[at - 1]]) < std::abs(like[d]); --at)
      order[at] = order[at - 1];
    order[at] = d;
  }
  int64_t step = 1;
  for (uint32_t i = tensor->ndim(); i-- > 0;
       step *= std::max<int64_t>(tensor->shape()[order[i]], 1))
    strides_of(tensor)[order[i]] = step;
  tensor->view.flags = layout_flags(tensor->sizes(), {tensor->strides(), tensor->ndim()});
}

}  // namespace

tn_tensor* make_tensor(tn_dtype dtype, std::span<const int64_t> shape, tn_device& device,
                       const int64_t* like) {
  if (shape.size() > TN_MAX_DIMS) Dims{shape};  // throws
  if (dtype >= TN_DTYPE_COUNT) fail(TN_INVALID_ARGUMENT, "unknown dtype code {}", dtype);
  int64_t numel = count_elements(shape);
  tn_tensor* tensor = make_raw(dtype, static_cast<uint32_t>(shape.size()), numel, device);
  tensor->view.flags = TN_VIEW_CONTIGUOUS;
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    shape_of(tensor)[d] = shape[d];
    strides_of(tensor)[d] = step;
    step *= shape[d] > 1 ? shape[d] : 1;
  }
  if (like != nullptr) lay_like(tensor, like);
  return tensor;
}

tn_tensor* make_like(const tn_tensor& like) {
  tn_tensor* tensor = make_raw(like.dtype(), like.ndim(), like.numel, *like.device);
  tensor->view.flags = TN_VIEW_CONTIGUOUS;
  copy_dims(like.sizes(), shape_of(tensor));
  copy_dims({like.strides(), like.ndim()}, strides_of(tensor));
  return tensor;
}

tn_tensor* make_wrapped(std::string_view name, tn_device& device, const Block& at, tn_dtype dtype,
                        std::span<const int64_t> shape, std::span<const int64_t> strides,
                        void (*release)(void*), void* ctx, bool read_only) {
  if (dtype >= TN_DTYPE_COUNT) fail(TN_INVALID_ARGUMENT, "[{}] unknown dtype code {}", name, dtype);
  const bool host = device.is_host(), empty = count_elements(shape) == 0;
  if (at.data == nullptr && !empty)
    fail(TN_INVALID_ARGUMENT, "[{}] no data for shape {}", name, format_shape(shape));
  // The host takes complex numbers as pairs.
  const uint64_t alignment = dtype_size(dtype) / (is_complex(dtype) && host ? 2 : 1);
  if (!empty)
    check_place(name, dtype, shape, strides, alignment, reinterpret_cast<uintptr_t>(at.data), 0,
                INTPTR_MAX);
  tn_tensor* tensor = take_block(kOwnBlock);
  Storage* storage = init_storage(tensor, device);
  storage->unowned = 1;
  // Strides of no element may be anything.
  lay(tensor, shape, empty ? contiguous_strides(shape) : Dims(strides));
  tensor->view.dtype = dtype;
  tensor->view.data = at.data;
  tensor->view.buffer = at.buffer;
  tensor->view.offset = 0;
  Ref made(tensor);
  if (dtype == TN_DTYPE_BOOL) check_bools(name, *made);
  // From here on nothing fails.
  storage->release = release;
  storage->release_ctx = ctx;
  storage->read_only = read_only;
  if (!host) device.live_storages.fetch_add(1, std::memory_order_relaxed);
  return made.take();
}

tn_tensor* make_view(const tn_tensor& base, std::span<const int64_t> shape,
                     std::span<const int64_t> strides, int64_t offset) {
  if (shape.size() > TN_MAX_DIMS) Dims{shape};  // throws
  tn_tensor* view = take_block(kViewBlock);
  lay(view, shape, strides);
  int64_t bytes = offset * static_cast<int64_t>(dtype_size(base.dtype()));
  view->view.dtype = base.dtype();
  view->view.data =
      base.view.data == nullptr ? nullptr : static_cast<char*>(base.view.data) + bytes;
  view->view.buffer = base.view.buffer;
  view->view.offset = base.view.offset + bytes;
  view->device = base.device;
  view->storage = base.storage;
  base.storage->refs.fetch_add(1, std::memory_order_relaxed);
  if ((base.block_class & kTracked) != 0) [[unlikely]]
    show(*view);
  return view;
}

tn_tensor* reinterpret(const tn_tensor& x, tn_dtype dtype, std::span<const int64_t> shape,
                       std::span<const int64_t> strides, int64_t offset) {
  if (dtype >= TN_DTYPE_COUNT)
    fail(TN_INVALID_ARGUMENT, "[reinterpret] unknown dtype code {}", dtype);
  const auto size = static_cast<int64_t>(dtype_size(x.dtype()));
  const Reach shown = x.numel == 0 ? Reach{0, -1} : reach_of(x);
  const __int128 start =
      x.view.data == nullptr ? x.view.offset : reinterpret_cast<intptr_t>(x.view.data);
  if (count_elements(shape) == 0)
    offset = 0;
  else  // A storage's bytes count from its start, and its size is known for some only.
    check_place("reinterpret", dtype, shape, strides, dtype_size(dtype), start + offset,
                start + std::min(shown.low * size, -x.view.offset),
                start + (shown.high + 1) * size);
  Ref made(make_view(x, shape, strides, 0));
  made->flags |= x.flags & kInference;
  tn_view& view = made->view;
  view.dtype = dtype;
  view.offset += offset;
  if (view.data != nullptr) view.data = static_cast<char*>(view.data) + offset;
  if (dtype == TN_DTYPE_BOOL && x.dtype() != TN_DTYPE_BOOL) check_bools("reinterpret", *made);
  return made.take();
}

tn_tensor* make_alias(const tn_tensor& tensor) {
  return make_view(tensor, tensor.sizes(), {tensor.strides(), tensor.ndim()}, 0);
}

[[gnu::noinline, gnu::cold]] static void destroy_moved(tn_tensor* tensor) noexcept {
  release_storage(tensor->storage);
  tensor->block_class &= static_cast<uint8_t>(~kMoved);
  release_storage(storage_in(tensor));
}

void destroy_tensor(tn_tensor* tensor) noexcept {
  if (tensor->grad_fn != nullptr || tensor->meta != nullptr) release_autograd(tensor);
  free_dims(tensor);
  Storage* storage = tensor->storage;
  if (tensor->block_class >
      kOwnBlock) {  // an own block goes when its storage does, which views may keep alive
    if ((tensor->block_class & kTracked) != 0) forget(*tensor);
    if ((tensor->block_class & kMoved) != 0) [[unlikely]]
      return destroy_moved(tensor);
    if (tensor->block_class == kViewBlock) give_block(tensor);
  }
  release_storage(storage);
}

void show_elements(tn_tensor& tensor, const tn_tensor& of) {
  if ((tensor.block_class & kTracked) != 0) forget(tensor);
  of.storage->refs.fetch_add(1, std::memory_order_relaxed);
  Storage* const before = std::exchange(tensor.storage, of.storage);
  copy_dims({of.strides(), of.ndim()}, strides_of(&tensor));
  tn_view& view = tensor.view;
  view.dtype = of.view.dtype;
  view.data = of.view.data;
  view.buffer = of.view.buffer;
  view.offset = of.view.offset;
  view.flags = of.view.flags;
  tensor.device = of.device;
  if (tensor.block_class <= kOwnBlock)
    leave_block(tensor, *before);
  else
    release_storage(before);
  if ((of.block_class & kTracked) != 0) show(tensor);
  g_epoch.fetch_add(1);
}

}  // namespace tenon::core
