// interpolate, pad and their gradients: one invocation for each result.
#include <algorithm>
#include <cmath>

#include "ops/index_deposit.hpp"
#include "shaders/interpolate.hpp"
#include "shaders/pad.hpp"
#include "tenon/schemas.h"

namespace tenon::vulkan {
namespace {

enum Direction : uint32_t { kForward, kBackward };

// The backward op has g, mode and align_corners in the positions of interpolate's x, mode and align_corners.
static_assert(arg::interpolate_backward::g == arg::interpolate::x &&
              arg::interpolate_backward::mode == arg::interpolate::mode &&
              arg::interpolate_backward::align_corners == arg::interpolate::align_corners);
void run_interpolate(const tn_call& call, uint32_t direction) {
  const tn_view &x = input(call, arg::interpolate::x), &out = output(call);
  if (numel(out) == 0) return;
  const std::string_view mode = text_arg(call, arg::interpolate::mode);
  const uint32_t taps = mode == "nearest" ? 1 : mode == "bicubic" ? 4 : 2;
  Launch launch(call, shaders::interpolate, compute_of(out.dtype));
  launch.constant(direction).constant(out.dtype).constant(taps).constant(
      call.args[arg::interpolate::align_corners].as.i != 0 ? 1 : 0);
  launch.out(out).in(x).word(numel(out));
  std::vector<uint32_t> table;
  for (const tn_view* view : {direction == kForward ? &x : &out, direction == kForward ? &out : &x})
    for (uint32_t d = 0; d < 3; ++d)
      table.push_back(d + view->ndim < 5 ? 1
                                         : static_cast<uint32_t>(view->shape[d + view->ndim - 3]));
  launch.table(table).elements(numel(out));
}

// Positions are fractions with products of sizes, in 32 bits.
bool interpolate_supported(const tn_call& call, uint32_t) {
  const tn_view &x = input(call, arg::interpolate::x), &out = output(call);
  for (uint32_t d = 2; d < x.ndim; ++d)
    if (2 * (x.shape[d] + 4) * (out.shape[d] + 4) > INT32_MAX / 2) return false;
  return true;
}

// The constant as shaders/pad.comp reads it. Clamps a number beyond the integer range to 64 bits and takes the low bits.
void give_constant(Launch& launch, double value, tn_dtype dtype) {
  const Compute compute = compute_of(dtype);
  if (compute == Compute::kF32) {
    launch.word(static_cast<float>(value)).word(0u);
  } else if (compute == Compute::kF64) {
    launch.real(value);
  } else {
    const int64_t whole = dtype == TN_DTYPE_BOOL ? (value != 0 ? 1 : 0)
                          : value >= 0x1p63      ? INT64_MAX
                          : value <= -0x1p63     ? INT64_MIN
                                                 : static_cast<int64_t>(value);
    launch.word(static_cast<uint32_t>(whole))
        .word(static_cast<uint32_t>(static_cast<uint64_t>(whole) >> 32));
  }
}

// The backward op has g, pads and mode in the positions of pad's x, pads and mode.
static_assert(arg::pad_backward::g == arg::pad::x && arg::pad_backward::pads == arg::pad::pads &&
              arg::pad_backward::mode == arg::pad::mode);
void run_pad(const tn_call& call, uint32_t direction) {
  using arg = tenon::arg::pad;
  const tn_view &x = input(call, arg::x), &out = output(call);
  if (numel(out) == 0) return;
  const tn_view &small = direction == kForward ? x : out, &large = direction == kForward ? out : x;
  constexpr std::string_view kModes[] = {"constant", "reflect", "replicate", "circular"};
  const auto mode = std::find(std::begin(kModes), std::end(kModes), text_arg(call, arg::mode)) -
                    std::begin(kModes);
  Launch launch(call, shaders::pad, compute_of(out.dtype));
  launch.constant(direction).constant(out.dtype).constant(static_cast<uint32_t>(mode)).out(out);
  in_or_none(launch, x);
  launch.word(numel(out)).word(x.ndim);
  give_constant(launch, direction == kForward ? real_arg(call, arg::value) : 0, out.dtype);
  std::vector<uint32_t> table(small.shape, small.shape + small.ndim);
  table.insert(table.end(), large.shape, large.shape + large.ndim);
  for (uint32_t d = 0; d < x.ndim; ++d) {
    const uint32_t from_right = x.ndim - 1 - d;
    table.push_back(from_right < call.args[arg::pads].count / 2
                        ? static_cast<uint32_t>(
                              static_cast<int32_t>(call.args[arg::pads].as.ints[2 * from_right]))
                        : 0);
  }
  if (!table.empty()) launch.table(table);
  launch.elements(numel(out));
}

}  // namespace

void add_resample_kernels(KernelList& list) {
  for (const Direction direction : {kForward, kBackward}) {
    list.add(
        {.schema = direction == kForward ? TN_SCHEMA_INTERPOLATE : TN_SCHEMA_INTERPOLATE_BACKWARD,
         .dtypes = kFloats | kDouble,
         .run = run_interpolate,
         .code = direction,
         .supports = interpolate_supported});
    list.add({.schema = direction == kForward ? TN_SCHEMA_PAD : TN_SCHEMA_PAD_BACKWARD,
              .dtypes = direction == kForward ? kAll : kReals,
              .run = run_pad,
              .code = direction});
  }
}

}  // namespace tenon::vulkan
