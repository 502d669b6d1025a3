// clone and contiguous: copies elements between layouts.
#include "shaders/copy.hpp"
#include "elementwise.hpp"
#include "fold.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

// The dimension that is contiguous in the input, if the output's last one is another and both come in blocks of 4 x 4; otherwise the last.
uint32_t transposed_rows(const tn_call& call) {
  const tn_loop& loop = *call.loop;
  const uint32_t last = loop.ndim - 1;
  if (loop.ndim < 2 || loop.shape[last] % 4 != 0 || loop.strides[0][last] != 1) return last;
  uint32_t rows = last;
  for (uint32_t d = 0; d < last; ++d)
    if (loop.strides[1][d] == 1 && loop.shape[d] % 4 == 0) rows = d;
  const tn_view* views[] = {call.outs[0], call.args[arg::clone::x].as.view};
  for (uint32_t k = 0; k < 2; ++k) {
    if (!starts_even(views[k])) return last;
    for (uint32_t d = 0; d < loop.ndim; ++d)
      if (d != (k == 0 ? last : rows) && loop.strides[k][d] % 4 != 0) return last;
  }
  return rows;
}

bool run_transposed(const tn_call& call) {
  const tn_loop& loop = *call.loop;
  const uint32_t last = loop.ndim - 1;
  if (loop.ndim < 2) return false;
  const uint32_t rows = transposed_rows(call);
  if (rows == last) return false;
  const tn_view& out = output(call);
  Launch launch(call, shaders::copy, Compute::kI32);
  launch.constant(size_of(out.dtype)).constant(loop.ndim);
  for (uint32_t k = 0; k < 4; ++k) launch.constant(0);
  launch.constant((rows + 1) << 8).out(out).in(input(call, arg::clone::x));
  int64_t tiles = ((loop.shape[rows] / 4 + 7) / 8) * ((loop.shape[last] / 4 + 31) / 32);
  for (uint32_t d = 0; d < last; ++d)
    if (d != rows) tiles *= loop.shape[d];
  launch.word(tiles * 256).layout(loop).elements(tiles * 256);
  return true;
}

void run_copy(const tn_call& call, uint32_t) {
  if (run_transposed(call)) return;
  run_elementwise(call, shaders::copy, Compute::kI32, size_of(output(call).dtype));
}

}  // namespace

void add_copy_kernels(KernelList& list) {
  for (const auto schema : {TN_SCHEMA_CLONE, TN_SCHEMA_CONTIGUOUS})
    list.add_elementwise(schema, kAll, run_copy);
}

}  // namespace tenon::vulkan
