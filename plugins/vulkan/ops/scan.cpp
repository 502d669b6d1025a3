// cumsum and cumprod along the last dimension.
#include <algorithm>
#include <bit>

#include "fold.hpp"
#include "shaders/scan.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Op : uint32_t { kCumsum, kCumprod };  // as shaders/scan.comp

struct Rows {
  int64_t count, n, chunk, chunks = 1;
  uint32_t log_rows;
  explicit Rows(const tn_call& call) {
    const tn_view& x = input(call, arg::cumsum::x);
    n = x.ndim == 0 ? 1 : x.shape[x.ndim - 1];
    count = n == 0 ? 0 : numel(x) / n;
    chunk = n;
    const int64_t size = device_of(call).group_size(),
                  turn = 4 * size;  // elements that a workgroup takes at a time
    log_rows = static_cast<uint32_t>(std::countr_zero(
        static_cast<uint32_t>(size) /
        std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>((n + 3) / 4, 1, size)))));
    if (count == 0 || count >= 64 || n < 8 * turn) return;
    const int64_t wanted = std::min(1024 / count, n / (4 * turn));
    chunk = ((n + wanted - 1) / wanted + turn - 1) / turn * turn;
    chunks = (n + chunk - 1) / chunk;
  }
  uint64_t totals() const { return chunks == 1 ? 0 : static_cast<uint64_t>(count * chunks) * 8; }
};

void run_scan(const tn_call& call, uint32_t op) {
  const Rows rows(call);
  if (rows.count == 0) return;
  const tn_view &x = input(call, arg::cumsum::x), &y = output(call);
  const Compute compute =
      compute_of(x.dtype) == Compute::kI32 ? compute_of(y.dtype) : compute_of(x.dtype);
  const auto stage = [&](uint32_t which) {
    Launch launch(call, shaders::scan, compute);
    launch.constant(op).constant(y.dtype).constant(x.dtype).constant(which);
    launch.out(y).in(x);
    rows.chunks > 1 ? launch.scratch(0, rows.totals()) : launch.none();
    launch.word(rows.count).word(rows.n).word(rows.log_rows).word(rows.chunk).word(rows.chunks);
    const int64_t at_once = int64_t{1} << rows.log_rows;
    launch.groups((rows.count + at_once - 1) / at_once * rows.chunks);
  };
  if (rows.chunks == 1) return stage(0);
  stage(1);
  stage(2);
}

uint64_t scratch(const tn_call& call, uint32_t) { return Rows(call).totals(); }

}  // namespace

void add_scan_kernels(KernelList& list) {
  for (const Op op : {kCumsum, kCumprod})
    list.add({.schema = op == kCumsum ? TN_SCHEMA_CUMSUM : TN_SCHEMA_CUMPROD,
              .dtypes = kSummed,
              .run = run_scan,
              .code = op,
              .scratch = scratch});
}

}  // namespace tenon::vulkan
