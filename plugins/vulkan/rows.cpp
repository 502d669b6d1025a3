#include "rows.hpp"

#include <algorithm>
#include <bit>

namespace tenon::vulkan {

RowPlan plan_rows(int64_t rows, int64_t n, const Device& device,
                  std::initializer_list<const tn_view*> operands, uint32_t arrays) {
  RowPlan plan{rows, n};
  plan.quads = n % 4 == 0 && std::all_of(operands.begin(), operands.end(), starts_even);
  // Kept in registers. A CPU's cache holds more elements than joining the lanes of a row is worth.
  const uint32_t most = (device.is_cpu() ? 64 : 16 / arrays), group_size = device.group_size();
  // More for each invocation once the device is full.
  const bool full = rows * n >= device.invocations() * 8;
  const int64_t each = device.is_cpu() ? most : full ? most / 2 : most / 4;
  const uint32_t lanes = std::bit_ceil(
      static_cast<uint32_t>(std::clamp<int64_t>((n + each - 1) / each, 1, group_size)));
  plan.log_rows = static_cast<uint32_t>(std::countr_zero(group_size / lanes));
  const int64_t items = plan.quads ? (n / 4 + lanes - 1) / lanes * 4 : (n + lanes - 1) / lanes;
  plan.keep =
      std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>(items, plan.quads ? 4 : 2, 16)));
  if (items > 16) plan.keep = static_cast<uint32_t>((items + 7) / 8 * 8);
  if (items > most) plan.keep = 0;
  return plan;
}

Launch& row_constants(Launch& launch, uint32_t code, tn_dtype dtype, const RowPlan& plan) {
  const bool full = (int64_t{plan.keep} * launch.group_size() >> plan.log_rows) == plan.n;
  return launch.constant(code).constant(dtype).constant(plan.keep | (plan.quads ? 256u : 0u) |
                                                        (full ? 512u : 0u));
}

Launch& row_words(Launch& launch, const RowPlan& plan) {
  return launch.word(plan.rows).word(plan.n).word(plan.log_rows);
}

void row_groups(Launch& launch, const RowPlan& plan, int64_t most) {
  const int64_t at_once = int64_t{1} << plan.log_rows;
  launch.groups(std::min(most, (plan.rows + at_once - 1) / at_once));
}

}  // namespace tenon::vulkan
