// The steps of a Fused as they are written: where values lie, and how they come to and from memory.
#pragma once

#include "fused.hpp"

namespace tenon::cpu {

// Of a node: where its elements lie in a tile, and how many there are.
struct Value {
  Spread spread = Spread::kOne;
  tn_dtype dtype = 0;
  Side side;          // packed once a step wanted it so
  int whole = -1;     // place of the same values, one for each element
  int computed = -1;  // the step that computes it
};

// What goes to an output.
struct Stored {
  Value* value;
  uint16_t operand;
};

class Steps {
 public:
  explicit Steps(Fused& fused) : fused_(fused) {}

  // Once operands and numbers are known.
  void begin() { next_ = fused_.operands.size() + fused_.numbers.size(); }
  size_t end() const { return next_; }
  uint16_t new_place();
  // A packed copy, made once where all tiles have the same.
  Side packed(const Side& from, Spread spread, int64_t size);
  // The place of one value for each element, whatever there is of it.
  uint16_t whole(Value& value);
  // Behind all others. A store is a step of its own, but where the step that computes a value may write to memory itself.
  void store_all(const std::vector<Stored>& stored);

 private:
  bool same_in_all_tiles(uint16_t place) const;
  bool is_operand(uint16_t place) const { return place < fused_.operands.size(); }
  bool reads_operands_after(size_t step) const;
  bool writes_to_memory(const Value& value, const Operand& out) const;
  void rename(uint16_t place, uint16_t to);

  Fused& fused_;
  size_t next_ = 0;
};

// Sets what a run costs, and from how many tiles on another thread is worth it.
void estimate(Fused& fused);

}  // namespace tenon::cpu
