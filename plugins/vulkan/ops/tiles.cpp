#include "ops/tiles.hpp"

#include <algorithm>

#include "kernels.hpp"
#include "shaders/product_sum.hpp"

namespace tenon::vulkan {
namespace {

// The number of workgroups that keeps a device busy: a few for each compute unit, whose number Vulkan does not say.
int64_t busy(const Device& device) { return device.invocations() / 512; }
constexpr int64_t kShortestPart = 256;

int64_t pieces(int64_t n, int64_t size) { return (n + size - 1) / size; }

}  // namespace

int64_t Tiles::count(const Extent& size) const {
  return pieces(size.m, rows) * pieces(size.n, columns);
}

uint32_t Tiles::code() const {
  return of_row | of_column << 5 | (columns / of_column) << 10 | depth << 18;
}

Tiles choose_tiles(const Extent& size, int64_t copies, Compute compute, const Device& device,
                   Operands operands) {
  const bool wide = compute == Compute::kF64 || compute == Compute::kI64;
  const uint32_t depth = wide ? 8 : 16;
  const bool many = device.is_cpu() && operands == kMatrices;  // a CPU keeps sums in its cache
  const Tiles large = many ? Tiles{128, 128, 16, 8, 12} : Tiles{128, 128, 8, 8, 8};
  const Tiles middle{64, 64, 8, 8, depth}, small{32, 32, 4, 4, depth};
  const int64_t enough = busy(device);
  if (!wide && many == device.is_cpu() && device.group_size() >= large.invocations() &&
      large.count(size) * copies >= enough)
    return large;
  const bool idle = middle.count(size) * copies < enough / 4 &&
                    !(operands != kGathered && size.k >= enough * kShortestPart / 8);
  return std::min(size.m, size.n) <= 32 || idle ? small : middle;
}

Parts split_sum(int64_t k, int64_t groups, const Device& device) {
  const int64_t wanted = busy(device) / std::max<int64_t>(groups, 1), most = k / kShortestPart;
  const int64_t count = std::clamp<int64_t>(std::min(wanted, most), 1, 64);
  const int64_t length = std::max<int64_t>(16, (pieces(k, count) + 15) / 16 * 16);
  return {std::max<int64_t>(1, pieces(k, length)), length};
}

uint32_t sum_dtype(Compute compute) {
  constexpr uint32_t kDtypes[] = {TN_DTYPE_F32, TN_DTYPE_F64, TN_DTYPE_I32, TN_DTYPE_I64};
  return kDtypes[static_cast<uint32_t>(compute)];
}

uint64_t sum_bytes(Compute compute) {
  return compute == Compute::kF64 || compute == Compute::kI64 ? 8 : 4;
}

void add_parts(const tn_call& call, Compute compute, int64_t results, const Parts& parts) {
  const tn_view& out = output(call);
  Launch launch(call, shaders::product_sum, compute);
  launch.constant(sum_dtype(compute)).constant(0).constant(out.dtype).constant(out.dtype);
  launch.out(out).scratch(0, static_cast<uint64_t>(parts.count * results) * sum_bytes(compute));
  // A single row with that many columns, as shaders/product.glsl reads words.
  launch.word(1u).word(results);
  for (int i = 2; i < 7; ++i) launch.word(0u);
  launch.word(1u).word(0u).word(0u).word(parts.count);
  launch.elements(results);
}

}  // namespace tenon::vulkan
