// Ensembles of decision trees: as models list them, and packed so that several rows descend at once.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::onnx {

enum class Mode : uint8_t { Le, Lt, Ge, Gt, Eq, Ne, Member };
enum class Aggregate : uint8_t { Average, Sum, Min, Max };  // as TreeEnsemble numbers them

// A node that asks about one feature.
struct Branch {
  double split = 0;
  int64_t feature = 0;
  int64_t yes = -1, no = -1;  // branches by number; leaves count down from -1
  Mode mode = Mode::Le;
  bool missing_is_true = false;
  uint32_t members = 0, members_end = 0;  // a range of Trees::members
};
struct Weight {
  int64_t target;
  double value;
};

// Trees as a model lists them.
struct Trees {
  std::vector<Branch> branches;
  std::vector<int64_t> roots;  // as Branch::yes
  std::vector<std::vector<Weight>> leaves;
  std::vector<double> members, base;
  int64_t targets = 0;
  Aggregate aggregate = Aggregate::Sum;
};

// T: the type of the features, float or double.
template <class T>
struct Forest {
  struct Node {
    T split;  // NaN in a leaf
    uint32_t feature;
    uint32_t yes;  // the other child is the next node, and a leaf is its own
  };
  enum Flag : uint8_t { kNanIsYes = 1, kEqual = 2, kMember = 4 };
  struct Tree {
    uint32_t root, depth;
  };

  std::vector<Node> nodes;  // each asks whether x <= split, if flags don't say otherwise
  std::vector<uint8_t> flags;
  std::vector<uint32_t> extra;   // by node: a leaf's first weight; the set of a member
  std::vector<uint32_t> counts;  // by node: how many weights
  std::vector<double> values;    // of weights
  std::vector<uint32_t> to;      // targets of weights
  std::vector<std::vector<double>> sets;
  std::vector<Tree> trees;
  std::vector<double> base;
  Aggregate aggregate = Aggregate::Sum;
  int64_t targets = 0, features = 1;  // rows have at least this many features
  int64_t steps = 0;                  // from all roots to the deepest leaves
  uint8_t any_flags = 0;
};

// Throws Error if a row could get lost or go in a circle.
template <class T>
Forest<T> packed(const Trees& trees);

// Writes scores (count, targets) of rows (count, columns).
template <class T>
void score(const Forest<T>& forest, const T* rows, int64_t count, int64_t columns, double* scores);

}  // namespace tenon::onnx
