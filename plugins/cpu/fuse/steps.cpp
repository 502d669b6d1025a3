#include "steps.hpp"

#include "dispatch.hpp"

namespace tenon::cpu {

uint16_t Steps::new_place() {
  if (next_ >= kMostPlaces) fail(TN_UNIMPLEMENTED, "more than ", kMostPlaces, " places");
  return static_cast<uint16_t>(next_++);
}

// Of an operand's place, or a number's.
bool Steps::same_in_all_tiles(uint16_t place) const {
  const size_t operands = fused_.operands.size();
  if (place >= operands) return place < operands + fused_.numbers.size();
  const Operand& operand = fused_.operands[place];
  const Tiling& tiling = fused_.tiling;
  if (tiling.column_tiles != 1 || (operand.row != 0 && tiling.row_tiles != 1)) return false;
  for (size_t d = 0; d + 1 < fused_.shape.size(); ++d)
    if (d != tiling.across && operand.step[d] != 0) return false;
  return true;
}

Side Steps::packed(const Side& from, Spread spread, int64_t size) {
  Step step{};
  step.kind = Step::Kind::kMove;
  step.spread = spread;
  step.size = size;
  step.from = from;
  step.to.place = new_place();
  (same_in_all_tiles(from.place) ? fused_.once : fused_.steps).push_back(step);
  return step.to;
}

uint16_t Steps::whole(Value& value) {
  if (value.spread == Spread::kAll) return value.side.place;
  if (value.whole < 0) {
    const int64_t size = size_of(value.dtype);
    const Side from = {value.side.place, false, value.spread == Spread::kRow ? size : 0, 0};
    value.whole = packed(from, Spread::kAll, size).place;
  }
  return static_cast<uint16_t>(value.whole);
}

bool Steps::reads_operands_after(size_t step) const {
  for (size_t s = step + 1; s < fused_.steps.size(); ++s) {
    const Step& later = fused_.steps[s];
    if (later.kind != Step::Kind::kCompute) {
      if (is_operand(later.from.place)) return true;
      continue;
    }
    for (uint32_t k = 0; k < later.inputs; ++k)
      if (is_operand(later.in[k])) return true;
  }
  return false;
}

// Not while a later step reads an operand, whose memory the output may share.
bool Steps::writes_to_memory(const Value& value, const Operand& out) const {
  return value.computed >= 0 && out.packed && out.spread == value.spread &&
         !is_operand(value.side.place) &&
         !reads_operands_after(static_cast<size_t>(value.computed));
}

void Steps::rename(uint16_t place, uint16_t to) {
  for (Step& step : fused_.steps) {
    if (step.to.place == place) step.to.place = to;
    if (step.from.place == place) step.from.place = to;
    for (uint16_t& in : step.in)
      if (in == place) in = to;
  }
}

void Steps::store_all(const std::vector<Stored>& stored) {
  // What is only loaded and stored leaves its operand before other outputs are written.
  for (const Stored& one : stored) {
    Value& value = *one.value;
    if (stored.size() > 1 && is_operand(value.side.place))
      value.side = packed(value.side, value.spread, size_of(value.dtype));
  }
  std::vector<const Stored*> copied;  // once all values have their places
  for (const Stored& one : stored) {
    Value& value = *one.value;
    const Operand& out = fused_.operands[one.operand];
    if (out.spread < value.spread)
      fail(TN_INVALID_ARGUMENT, "[tn.graph] output ", one.operand,
           " has one place for each row, its value one for each element");
    if (!writes_to_memory(value, out)) {
      copied.push_back(&one);
      continue;
    }
    rename(value.side.place, one.operand);
    value.side.place = one.operand;
  }
  for (const Stored* one : copied) {
    const Value& value = *one->value;
    const Operand& out = fused_.operands[one->operand];
    Step step{};
    step.kind = Step::Kind::kMove;
    step.spread = out.spread;
    step.size = out.size;
    step.from = value.side;
    if (value.spread != out.spread)
      step.from = {value.side.place, false, value.spread == Spread::kRow ? out.size : 0, 0};
    step.to = {one->operand, false, out.row, out.column};
    fused_.steps.push_back(step);
  }
}

}  // namespace tenon::cpu
