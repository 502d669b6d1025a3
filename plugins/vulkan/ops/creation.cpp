// Tensors from numbers: full, arange, linspace, eye, and triangles of matrices.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "../../common/number_bits.hpp"
#include "fill.hpp"
#include "kernels.hpp"
#include "shaders/matrix.hpp"
#include "shaders/range.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

// What shaders/range.comp computes.
enum Range : uint32_t { kWhole, kReal, kFromBothEnds };

void run_full(const tn_call& call, uint32_t) {
  const tn_view& out = output(call);
  const tn_value& value = call.args[arg::full::value];  // full_like has it in the same position
  const uint64_t bits = value.tag == TN_VALUE_FLOAT     ? number_bits(out.dtype, value.as.f)
                        : value.tag == TN_VALUE_COMPLEX ? number_bits(out.dtype, value.as.floats[0])
                                                        : number_bits(out.dtype, value.as.i);
  const uint32_t size = size_of(out.dtype);
  if (numel(out) > 0)
    fill(stream_of(call.stream), *static_cast<const Buffer*>(out.buffer), out.offset,
         static_cast<uint64_t>(numel(out)) * size, &bits, size);
}

void range(const tn_call& call, Range code, uint64_t start, uint64_t step, uint64_t end) {
  const tn_view& out = output(call);
  const bool is_float = (TN_MASK(out.dtype) & (kFloats | kDouble)) != 0;
  Launch launch(call, shaders::range, code != kWhole || is_float ? Compute::kF64 : Compute::kI64);
  launch.constant(code).constant(0).constant(out.dtype).out(out).word(numel(out));
  for (const uint64_t bits : {start, step, end})
    launch.word(static_cast<uint32_t>(bits)).word(static_cast<uint32_t>(bits >> 32));
  launch.elements(numel(out));
}

bool is_whole(const tn_call& call) {
  return call.args[arg::arange::start].tag != TN_VALUE_FLOAT &&
         call.args[arg::arange::step].tag != TN_VALUE_FLOAT;
}

void run_arange(const tn_call& call, uint32_t) {
  using arg = tenon::arg::arange;
  if (is_whole(call))
    return range(call, kWhole, static_cast<uint64_t>(call.args[arg::start].as.i),
                 static_cast<uint64_t>(call.args[arg::step].as.i), 0);
  range(call, kReal, std::bit_cast<uint64_t>(real_arg(call, arg::start)),
        std::bit_cast<uint64_t>(real_arg(call, arg::step)), 0);
}

void run_linspace(const tn_call& call, uint32_t) {
  using arg = tenon::arg::linspace;
  const double start = real_arg(call, arg::start), end = real_arg(call, arg::end);
  const int64_t n = numel(output(call));
  const bool endpoint = call.args[arg::endpoint].as.i != 0;
  const int64_t intervals = endpoint ? n - 1 : n;
  const double step = intervals > 0 ? (end - start) / static_cast<double>(intervals) : 0;
  range(call, endpoint && n > 1 ? kFromBothEnds : kReal, std::bit_cast<uint64_t>(start),
        std::bit_cast<uint64_t>(step), std::bit_cast<uint64_t>(end));
}

bool has_f64(const tn_call& call) {
  return (backend().physical(call.device_index).dtypes & kDouble) != 0;
}
// In f64 for every dtype, as on the CPU; a device without f64 leaves them to the host.
bool supports_arange(const tn_call& call, uint32_t) {
  return (is_whole(call) && (TN_MASK(output(call).dtype) & kInts) != 0) || has_f64(call);
}
bool supports_linspace(const tn_call& call, uint32_t) { return has_f64(call); }

void run_matrix(const tn_call& call, uint32_t code) {
  const tn_view& out = output(call);
  const int64_t rows = out.shape[out.ndim - 2], columns = out.shape[out.ndim - 1];
  const int64_t k =
      std::clamp(call.args[code == 0 ? arg::eye::k : arg::tril::k].as.i, -rows - 1, columns + 1);
  const uint64_t one = number_bits(out.dtype, int64_t{1});
  Launch launch(call, shaders::matrix, Compute::kI32);
  launch.constant(code).constant(size_of(out.dtype)).out(out);
  if (code != 0) launch.in(input(call, arg::tril::x));
  launch.word(numel(out)).word(rows).word(columns).word(k);
  launch.word(static_cast<uint32_t>(one)).word(static_cast<uint32_t>(one >> 32));
  launch.elements(numel(out));
}

}  // namespace

void add_creation_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_FULL, .dtypes = kAll, .run = run_full});
  list.add(
      {.schema = TN_SCHEMA_FULL_LIKE, .dtypes = kAll, .run = run_full, .flags = TN_KERNEL_STRIDED});
  list.add({.schema = TN_SCHEMA_ARANGE,
            .dtypes = kReals,
            .run = run_arange,
            .supports = supports_arange});
  list.add({.schema = TN_SCHEMA_LINSPACE,
            .dtypes = kFloats | kDouble,
            .run = run_linspace,
            .supports = supports_linspace});
  list.add({.schema = TN_SCHEMA_EYE, .dtypes = kAll, .run = run_matrix, .code = 0});
  list.add({.schema = TN_SCHEMA_TRIL, .dtypes = kAll, .run = run_matrix, .code = 1});
  list.add({.schema = TN_SCHEMA_TRIU, .dtypes = kAll, .run = run_matrix, .code = 2});
}

}  // namespace tenon::vulkan
