#include "fill.hpp"

#include <cstring>

#include "launch.hpp"

namespace tenon::gpu {
namespace {

template <class T>
GPU_KERNEL fill_elements(Ptr<T> to, int64_t count, T value) {
  for (int64_t i = first_thread(); i < count; i += thread_count()) to[i] = value;
}

template <class T>
void fill_with(Stream& stream, void* to, uint64_t bytes, const void* pattern) {
  T value;
  std::memcpy(&value, pattern, sizeof value);
  const auto count = static_cast<int64_t>(bytes / sizeof(T));
  const int64_t shape[1] = {count}, strides[1] = {1};
  tn_view view{};
  view.ndim = 1;
  view.data = to;
  view.shape = shape;
  view.strides = strides;
  launch(stream, grid_of(count, 4), fill_elements<T>, out<T>(view), count, value);
}

}  // namespace

void fill(Stream& stream, void* to, uint64_t bytes, const void* pattern, uint32_t pattern_size) {
  if (pattern_size == 0 || 8 % pattern_size != 0)
    sdk::fail(TN_INVALID_ARGUMENT, "[", rt::kName, "] a pattern of ", pattern_size,
              " bytes; 1, 2, 4 and 8 can be filled in");
  const auto* const first = static_cast<const unsigned char*>(pattern);
  bool same = true;
  for (uint32_t i = 1; i < pattern_size; ++i) same = same && first[i] == first[0];
  if (same) return rt::fill(to, first[0], bytes, stream.handle());
  switch (pattern_size) {
    case 2:
      return fill_with<uint16_t>(stream, to, bytes, pattern);
    case 4:
      return fill_with<uint32_t>(stream, to, bytes, pattern);
    default:
      return fill_with<uint64_t>(stream, to, bytes, pattern);
  }
}

}  // namespace tenon::gpu
