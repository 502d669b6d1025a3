// The activation of a product that a library computed without it, in place.
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

}  // namespace

void activate(const tn_call& call, const tn_view& result, Activation activation) {
  with_type(Floats{}, result.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(call, grid_of(numel(result), 16 / sizeof(T)), activate_elements<T>, out<T>(result),
           numel(result), static_cast<uint32_t>(activation));
  });
}

}  // namespace tenon::gpu
