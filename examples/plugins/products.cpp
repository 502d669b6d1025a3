// A backend with three kernels: the products, which are most of the work of a perceptron, and relu. All other ops run on the host.
#include <cstdlib>
#include <cstring>

#include "tenon/device_type.hpp"
#include "tenon/plugin.hpp"

using namespace tenon::sdk;

namespace {

struct Device {
  void info(uint32_t, tn_device_info* out) const { out->dtypes = TN_MASK_ALL; }
  void allocate(uint32_t, uint64_t bytes, void** buffer, void** address) const {
    *buffer = *address =
        bytes <= PTRDIFF_MAX ? std::aligned_alloc(64, (bytes + 63) / 64 * 64) : nullptr;
    if (*buffer == nullptr) fail(TN_OUT_OF_MEMORY, "no ", bytes, " bytes left");
  }
  void free(uint32_t, void* buffer) const { std::free(buffer); }
  void copy_in(uint32_t, void*, const void* from, void* to, uint64_t offset, uint64_t bytes) const {
    std::memcpy(static_cast<char*>(to) + offset, from, bytes);
  }
  void copy_out(uint32_t, void*, void* from, uint64_t offset, void* to, uint64_t bytes) const {
    std::memcpy(to, static_cast<char*>(from) + offset, bytes);
  }
  void copy_within(uint32_t, void*, void* from, uint64_t start, void* to, uint64_t offset,
                   uint64_t bytes) const {
    std::memmove(static_cast<char*>(to) + offset, static_cast<char*>(from) + start, bytes);
  }
};

// z = x·y, row by row. The core has made the inputs contiguous; products of higher rank go to others.
bool matrices(Array<const float> x, Array<const float> y, Array<float>) {
  return x.ndim() == 2 && y.ndim() == 2;
}
void matmul(Array<const float> x, Array<const float> y, Array<float> z) {
  const int64_t rows = z.shape(0), columns = z.shape(1), inner = x.shape(1);
  for (int64_t i = 0; i < rows; ++i) {
    float* out = z.data() + i * columns;
    std::memset(out, 0, static_cast<size_t>(columns) * sizeof(float));
    for (int64_t k = 0; k < inner; ++k) {
      const float factor = x(i, k);
      const float* row = y.data() + k * columns;
      for (int64_t j = 0; j < columns; ++j) out[j] += factor * row[j];
    }
  }
}

void relu(std::span<const float> x, std::span<float> y) {
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}
void relu_backward(std::span<const float> g, std::span<const float> y, std::span<float> dx) {
  for (size_t i = 0; i < dx.size(); ++i) dx[i] = y[i] > 0 ? g[i] : 0;
}

void start(Registry& registry) {
  static Device device;
  register_devices(registry, "products", device);
  registry.kernels("products",
                   {
                       kernel<matmul, matrices>("matmul(Tensor x, Tensor y) -> Tensor @1"),
                       kernel<relu>("relu(Tensor x) -> Tensor @1"),
                       kernel<relu_backward>("relu_backward(Tensor g, Tensor y) -> Tensor @1"),
                   });
}

}  // namespace

TENON_PLUGIN("org.example.products", "1.0.0", start)
