// Rows descend the trees of a forest and collect the weights of leaves. The compiler optimises this file more than the others of its room.
#include <algorithm>
#include <array>
#include <cmath>

#include "convert/forest.hpp"
#include "convert/work.hpp"
#include "tenon/threads.hpp"

namespace tenon::onnx {
namespace {

constexpr size_t kLanes = 16;  // descents whose loads overlap

template <class T>
class Descent {
 public:
  // Rows (count, columns) and their scores. `seen`: which scores got any, for the least and the greatest; NULL otherwise.
  struct Rows {
    const T* x;
    int64_t count, columns;
    double* scores;
    uint8_t* seen;
    const T* row(int64_t i) const { return x + i * columns; }
  };

  explicit Descent(const Forest<T>& forest) : forest_(forest), nodes_(forest.nodes.data()) {}

  void run(const Rows& rows) const {
    std::fill_n(rows.scores, rows.count * forest_.targets, 0.0);
    if (plain(rows))
      vote<true>(rows);
    else
      vote<false>(rows);
    const auto trees = static_cast<double>(forest_.trees.size());
    const std::vector<double>& base = forest_.base;
    for (int64_t i = 0; i < rows.count * forest_.targets; ++i) {
      if (forest_.aggregate == Aggregate::Average && trees != 0) rows.scores[i] /= trees;
      if (!base.empty())
        rows.scores[i] += base[base.size() == 1 ? 0 : static_cast<size_t>(i % forest_.targets)];
    }
  }

 private:
  using Nodes = std::array<uint32_t, kLanes>;
  using Lanes = std::array<const T*, kLanes>;

  // Whether every answer is that of x <= split.
  bool plain(const Rows& rows) const {
    if (forest_.any_flags == 0) return true;
    return forest_.any_flags == Forest<T>::kNanIsYes &&
           std::none_of(rows.x, rows.row(rows.count), [](T x) { return std::isnan(x); });
  }

  bool answer(uint32_t at, T x) const {
    const uint8_t flags = forest_.flags[at];
    if (std::isnan(x)) return (flags & Forest<T>::kNanIsYes) != 0;
    if ((flags & Forest<T>::kMember) != 0) {
      const std::vector<double>& set = forest_.sets[forest_.extra[at]];
      return std::find(set.begin(), set.end(), x) != set.end();
    }
    return (flags & Forest<T>::kEqual) != 0 ? x == nodes_[at].split : x <= nodes_[at].split;
  }

  template <bool kPlain>
  uint32_t next(uint32_t at, const T* row) const {
    const auto& node = nodes_[at];
    const T x = row[node.feature];
    const bool yes = kPlain ? x <= node.split : answer(at, x);
    return node.yes + static_cast<uint32_t>(!yes);
  }

  template <bool kPlain>
  void step(Nodes& at, const Lanes& rows) const {
    for (size_t i = 0; i < kLanes; ++i) at[i] = next<kPlain>(at[i], rows[i]);
  }

  // From roots to leaves, `depth` steps at most.
  template <bool kPlain>
  void descend(Nodes& at, const Lanes& rows, uint32_t depth) const {
    for (; depth >= 4; depth -= 4) {
      step<kPlain>(at, rows);
      step<kPlain>(at, rows);
      step<kPlain>(at, rows);
      const Nodes before = at;
      step<kPlain>(at, rows);
      if (at == before) return;
    }
    for (; depth > 0; --depth) step<kPlain>(at, rows);
  }

  void collect(uint32_t leaf, int64_t row, const Rows& rows) const {
    double* const scores = rows.scores + row * forest_.targets;
    const uint32_t first = forest_.extra[leaf], end = first + forest_.counts[leaf];
    if (rows.seen == nullptr) {
      for (uint32_t i = first; i < end; ++i) scores[forest_.to[i]] += forest_.values[i];
      return;
    }
    uint8_t* const seen = rows.seen + row * forest_.targets;
    for (uint32_t i = first; i < end; ++i) {
      const uint32_t to = forest_.to[i];
      const double value = forest_.values[i];
      const bool better =
          forest_.aggregate == Aggregate::Min ? value < scores[to] : value > scores[to];
      if (seen[to] == 0 || better) scores[to] = value;
      seen[to] = 1;
    }
  }

  // Each score gets its weights in the order of trees, however rows are grouped.
  template <bool kPlain>
  void vote(const Rows& rows) const {
    const int64_t grouped = rows.count - rows.count % static_cast<int64_t>(kLanes);
    for (const auto& tree : forest_.trees)
      for (int64_t row = 0; row < grouped; row += kLanes) several_rows<kPlain>(tree, rows, row);
    for (int64_t row = grouped; row < rows.count; ++row) several_trees<kPlain>(rows, row);
  }

  template <bool kPlain>
  void several_rows(const typename Forest<T>::Tree& tree, const Rows& rows, int64_t row) const {
    Nodes at;
    Lanes x;
    at.fill(tree.root);
    for (size_t i = 0; i < kLanes; ++i) x[i] = rows.row(row + static_cast<int64_t>(i));
    descend<kPlain>(at, x, tree.depth);
    for (size_t i = 0; i < kLanes; ++i) collect(at[i], row + static_cast<int64_t>(i), rows);
  }

  template <bool kPlain>
  void several_trees(const Rows& rows, int64_t row) const {
    const size_t count = forest_.trees.size();
    Lanes x;
    x.fill(rows.row(row));
    for (size_t first = 0; first < count; first += kLanes) {
      Nodes at;
      uint32_t depth = 0;
      for (size_t i = 0; i < kLanes; ++i) {
        const auto& tree = forest_.trees[std::min(first + i, count - 1)];
        at[i] = tree.root;
        depth = std::max(depth, tree.depth);
      }
      descend<kPlain>(at, x, depth);
      for (size_t i = 0; i < std::min(kLanes, count - first); ++i) collect(at[i], row, rows);
    }
  }

  const Forest<T>& forest_;
  const typename Forest<T>::Node* nodes_;
};

// Rows that a tree takes at a time: what they hold stays in the first cache.
int64_t block_of(int64_t row_bytes) {
  constexpr int64_t kBytes = 16384, kLeast = kLanes, kMost = 256;
  return std::clamp<int64_t>(kBytes / std::max<int64_t>(row_bytes, 1), kLeast, kMost) / kLeast *
         kLeast;
}

}  // namespace

template <class T>
void score(const Forest<T>& forest, const T* rows, int64_t count, int64_t columns, double* scores) {
  constexpr int64_t kShare = 100'000;  // steps that are worth a thread
  const bool least = forest.aggregate == Aggregate::Min || forest.aggregate == Aggregate::Max;
  std::vector<uint8_t> seen(least ? static_cast<size_t>(count * forest.targets) : 0);
  const int64_t threads = std::min(num_threads(), count * forest.steps / kShare);
  const auto row_bytes = static_cast<int64_t>(sizeof(T)) * columns + 8 * forest.targets;
  const int64_t block = block_of(row_bytes);
  const Descent<T> descent(forest);
  share_work((count + block - 1) / block, threads, [&](int64_t i) {
    const int64_t first = i * block, at = first * forest.targets;
    descent.run({rows + first * columns, std::min(block, count - first), columns, scores + at,
                 least ? seen.data() + at : nullptr});
  });
}

template void score(const Forest<float>&, const float*, int64_t, int64_t, double*);
template void score(const Forest<double>&, const double*, int64_t, int64_t, double*);

}  // namespace tenon::onnx
