#include "tiling.hpp"

#include <algorithm>
#include <cstdlib>

namespace tenon::cpu {
namespace {

// Pieces of rows; several rows where they are short.
Tiling by_rows(const Fused& fused) {
  Tiling tiling;
  const auto ndim = static_cast<uint32_t>(fused.shape.size());
  tiling.across = ndim - 1;
  tiling.columns = fused.reduced != 0 ? fused.shape.back() : std::min(kTile, fused.shape.back());
  if (ndim > 1 && tiling.columns <= kTile / 2 && tiling.columns == fused.shape.back()) {
    tiling.across = ndim - 2;
    tiling.rows = std::min(kTile / tiling.columns, fused.shape[ndim - 2]);
  }
  return tiling;
}

// The dimension along which some operand lies side by side that does not along the last one; -1 where there is none.
int dimension_across(const Fused& fused) {
  constexpr int64_t kWorthwhile = 8;
  const size_t last = fused.shape.size() - 1;
  if (fused.shape[last] < kWorthwhile) return -1;
  for (const Operand& operand : fused.operands) {
    if (operand.step[last] == operand.size || operand.step[last] == 0) continue;
    for (size_t d = 0; d < last; ++d)
      if (operand.step[d] == operand.size && fused.shape[d] >= kWorthwhile)
        return static_cast<int>(d);
  }
  return -1;
}

// Squares: whole cache lines are used on both sides.
Tiling by_squares(const Fused& fused, uint32_t across) {
  constexpr int64_t kRows = 16;
  Tiling tiling;
  tiling.across = across;
  tiling.rows = std::min(kRows, fused.shape[across]);
  tiling.columns = std::min(kTile / kRows, fused.shape.back());
  return tiling;
}

void place(Operand& operand, const Fused& fused) {
  const Tiling& tiling = fused.tiling;
  const size_t last = fused.shape.size() - 1;
  operand.column = operand.step[last];
  operand.row = tiling.across == last ? 0 : operand.step[tiling.across];
  operand.spread = operand.column != 0                    ? Spread::kAll
                   : operand.row != 0 && tiling.rows != 1 ? Spread::kRow
                                                          : Spread::kOne;
  const bool whole_rows = tiling.columns == fused.shape[last];
  switch (operand.spread) {
    case Spread::kAll:
      operand.packed =
          operand.column == operand.size &&
          (tiling.rows == 1 || (whole_rows && operand.row == tiling.columns * operand.size));
      break;
    case Spread::kRow:
      operand.packed = operand.row == operand.size;
      break;
    case Spread::kOne:
      operand.packed = true;
  }
}

}  // namespace

void cut(Fused& fused) {
  Tiling& tiling = fused.tiling;
  if (fused.shape.empty()) {
    for (Operand& operand : fused.operands) operand.packed = true;
    return;
  }
  const int across = fused.reduced == 0 && fused.shape.size() > 1 ? dimension_across(fused) : -1;
  tiling = across < 0 ? by_rows(fused) : by_squares(fused, static_cast<uint32_t>(across));
  const auto tiles = [](int64_t size, int64_t step) { return (size + step - 1) / step; };
  const size_t last = fused.shape.size() - 1;
  tiling.column_tiles = tiles(fused.shape[last], tiling.columns);
  if (tiling.across != last) tiling.row_tiles = tiles(fused.shape[tiling.across], tiling.rows);
  for (size_t d = 0; d < last; ++d)
    if (d != tiling.across) tiling.planes *= fused.shape[d];
  for (Operand& operand : fused.operands) place(operand, fused);
}

}  // namespace tenon::cpu
