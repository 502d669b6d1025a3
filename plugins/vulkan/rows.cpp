#include "rows.hpp"

#include <algorithm>
#include <bit>

namespace tenon::vulkan {

RowPlan plan_rows(int64_t rows, int64_t n, uint32_t group_size, uint32_t arrays) {
  RowPlan plan{rows, n};
  const uint32_t most = 16 / arrays;  // kept in registers
  // More for each invocation once the device is full of them.
  const int64_t each = rows * n >= int64_t{1} << 20 ? most / 2 : most / 4;
  const uint32_t lanes = std::bit_ceil(
      static_cast<uint32_t>(std::clamp<int64_t>((n + each - 1) / each, 1, group_size)));
  plan.log_rows = static_cast<uint32_t>(std::countr_zero(group_size / lanes));
  const int64_t items = (n + lanes - 1) / lanes;
  plan.keep = items > most ? 0 : std::bit_ceil(static_cast<uint32_t>(std::max<int64_t>(items, 2)));
  return plan;
}

Launch& row_constants(Launch& launch, uint32_t code, tn_dtype dtype, const RowPlan& plan) {
  return launch.constant(code).constant(dtype).constant(plan.keep);
}

Launch& row_words(Launch& launch, const RowPlan& plan) {
  return launch.word(plan.rows).word(plan.n).word(plan.log_rows);
}

void row_groups(Launch& launch, const RowPlan& plan) {
  const int64_t at_once = int64_t{1} << plan.log_rows;
  launch.groups((plan.rows + at_once - 1) / at_once);
}

}  // namespace tenon::vulkan
