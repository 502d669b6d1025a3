// A hash map from nodes to small values: open addressing, kept between runs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::core {

struct Node;

template <class Value>
class NodeMap {
 public:
  Value* find(const Node* node) {
    if (used_ == 0) return nullptr;
    for (size_t i = home(node);; i = next(i)) {
      if (cells_[i].node == node) return &cells_[i].value;
      if (cells_[i].node == nullptr) return nullptr;
    }
  }
  const Value* find(const Node* node) const { return const_cast<NodeMap*>(this)->find(node); }

  // Finds or adds. Invalidates pointers to other values.
  Value& insert(const Node* node) {
    if ((used_ + 1) * 4 > cells_.size() * 3) grow();
    size_t i = home(node);
    while (cells_[i].node != nullptr && cells_[i].node != node) i = next(i);
    if (cells_[i].node == nullptr) {
      cells_[i] = {node, Value{}};
      ++used_;
    }
    return cells_[i].value;
  }

  // Takes out a node that is there.
  Value take(const Node* node) {
    size_t hole = home(node);
    while (cells_[hole].node != node) hole = next(hole);
    Value value = cells_[hole].value;
    for (size_t i = next(hole); cells_[i].node != nullptr; i = next(i)) {
      // Moves back what is nearer to its home there than behind the hole.
      const size_t distance = (i - home(cells_[i].node)) & (cells_.size() - 1);
      if (distance < ((i - hole) & (cells_.size() - 1))) continue;
      cells_[hole] = cells_[i];
      hole = i;
    }
    cells_[hole].node = nullptr;
    --used_;
    return value;
  }

  // Empties it; memory beyond `keep` cells goes.
  void clear(size_t keep) {
    if (cells_.size() > keep) {
      cells_ = {};
    } else if (used_ != 0) {
      for (Cell& cell : cells_) cell.node = nullptr;
    }
    used_ = 0;
  }

 private:
  struct Cell {
    const Node* node;
    Value value;
  };

  size_t home(const Node* node) const {
    const uint64_t bits = reinterpret_cast<uintptr_t>(node) >> 6;  // blocks are 64-byte aligned
    return (bits * 0x9E3779B97F4A7C15u) >> (64 - std::countr_zero(cells_.size()));
  }
  size_t next(size_t i) const { return (i + 1) & (cells_.size() - 1); }

  void grow() {
    std::vector<Cell> old(cells_.empty() ? 16 : cells_.size() * 2, Cell{nullptr, Value{}});
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.node == nullptr) continue;
      size_t i = home(cell.node);
      while (cells_[i].node != nullptr) i = next(i);
      cells_[i] = cell;
    }
  }

  std::vector<Cell> cells_;
  size_t used_ = 0;
};

}  // namespace tenon::core
