// Passes after a library's product or convolution: bias and activation.
#include "blas_product.hpp"
#include "conv_geometry.hpp"
#include "matmul.hpp"

namespace tenon::gpu {
namespace {

template <class T>
GPU_KERNEL activate_elements(Ptr<T> x, int64_t count, uint32_t activation) {
  constexpr uint32_t kN = 16 / sizeof(T);
  const int64_t whole = count / kN;
  for (int64_t i = first_thread(); i < whole; i += thread_count()) {
    Vec<T, kN> values = load_vec<kN>(x + i * kN);
    GPU_UNROLL for (uint32_t e = 0; e < kN; ++e) values.at[e] =
        narrow<T>(activated(widen<T>(values.at[e]), activation));
    store_vec<kN>(x + i * kN, values);
  }
  const int64_t left = whole * kN + first_thread();
  if (left < count) x[left] = narrow<T>(activated(load<T>(x, left), activation));
}

template <class T>
GPU_KERNEL repeat_elements(Ptr<T> to, int64_t count, Ptr<const T> row, int64_t step,
                           int64_t columns) {
  constexpr uint32_t kN = 16 / sizeof(T);
  const int64_t whole = count / kN;
  for (int64_t i = first_thread(); i < whole; i += thread_count()) {
    int64_t column = i * kN % columns;
    Vec<T, kN> values;
    GPU_UNROLL for (uint32_t e = 0; e < kN; ++e) {
      const T value = row[column * step];
      values.at[e] = value;
      column = column + 1 == columns ? 0 : column + 1;
    }
    store_vec<kN>(to + i * kN, values);
  }
  const int64_t left = whole * kN + first_thread();
  if (left < count) {
    const T value = row[left % columns * step];
    to[left] = value;
  }
}

template <class T>
GPU_KERNEL add_channels(Ptr<T> x, int64_t count, Ptr<const T> bias, int64_t channels,
                        int64_t plane) {
  for (int64_t i = first_thread(); i < count; i += thread_count())
    store(x, i, load<T>(x, i) + load<T>(bias, i / plane % channels));
}

}  // namespace

void activate(const tn_call& call, const tn_view& result, Activation activation) {
  with_type(Floats{}, result.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(numel(result), 16 / sizeof(T)), activate_elements<T>, out<T>(result),
           numel(result), static_cast<uint32_t>(activation));
  });
}

void repeat_row(const tn_call& call, const tn_view& result, const tn_view& row, int64_t step,
                int64_t columns) {
  with_type(Types<uint16_t, uint32_t, uint64_t>{}, bits_of(result.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(numel(result), 16 / sizeof(T)), repeat_elements<T>, out<T>(result),
           numel(result), in<T>(row), step, columns);
  });
}

void add_to_planes(const tn_call& call, const tn_view& result, const tn_view& bias) {
  const int64_t channels = result.shape[1];
  with_type(Floats{}, result.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(numel(result)), add_channels<T>, out<T>(result), numel(result),
           in<T>(bias), channels, numel(result) / (result.shape[0] * channels));
  });
}

}  // namespace tenon::gpu
