// Launches kernels on a call's stream and makes their arguments.
#pragma once

#include <algorithm>

#include "backend.hpp"
#include "tenon/plugin.hpp"
#include "types.hpp"

namespace tenon::gpu {

using sdk::numel;

struct Grid {
  Dim blocks, threads = {kBlockThreads, 1, 1};
  uint32_t shared_bytes = 0;
};

// Enqueues kernel(args…) over a grid. An empty grid launches nothing. Throws sdk::Error.
template <class... P, class... A>
void launch(Stream& stream, const Grid& grid, void (*kernel)(P...), const A&... args) {
  if (grid.blocks.x == 0 || grid.blocks.y == 0 || grid.blocks.z == 0) return;
  run_grid(stream, grid.blocks, grid.threads, grid.shared_bytes, kernel, args...);
}
template <class... P, class... A>
void launch(const tn_call& call, const Grid& grid, void (*kernel)(P...), const A&... args) {
  launch(stream_of(call), grid, kernel, args...);
}

// Blocks for a number of elements, with `each` for a thread; kernels loop if there are more.
inline Grid grid_of(int64_t elements, uint32_t each = 1, uint32_t threads = kBlockThreads) {
  const int64_t blocks = (elements + int64_t{each} * threads - 1) / (int64_t{each} * threads);
  return {{static_cast<uint32_t>(std::min<int64_t>(blocks, 1 << 20)), 1, 1}, {threads, 1, 1}, 0};
}

// The elements of a view from its first on, as a kernel argument. A host scalar has no device memory: see Operand.
template <class T>
Ptr<T> pointer(const tn_view& view, int64_t offset = 0) {
  int64_t low = 0, high = 0;  // of the elements that the view reaches, from the first on
  for (uint32_t d = 0; d < view.ndim; ++d) {
    const int64_t reach = (view.shape[d] - 1) * view.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t end = numel(view) == 0 ? low : high + 1;
  return pointer_to(static_cast<T*>(view.data), offset, low, end);
}
template <class T>
Ptr<const T> in(const tn_view& view) {
  return pointer<const T>(view);
}
template <class T>
Ptr<T> out(const tn_view& view) {
  return pointer<T>(view);
}
template <class T>
Ptr<const T> in_or_null(const tn_view* view) {
  return view != nullptr ? pointer<const T>(*view) : Ptr<const T>(nullptr);
}
// `count` elements in the call's scratch memory.
template <class T>
Ptr<T> scratch(const tn_call& call, uint64_t offset_bytes, int64_t count) {
  T* const first = reinterpret_cast<T*>(static_cast<char*>(call.scratch) + offset_bytes);
  return pointer_to(first, 0, 0, count);
}

}  // namespace tenon::gpu
