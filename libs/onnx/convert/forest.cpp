#include "convert/forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tenon/error.hpp"

namespace tenon::onnx {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(TN_INVALID_ARGUMENT, why); }

void check(const Trees& trees) {
  std::vector<uint8_t> reached(trees.branches.size());
  std::vector<int64_t> open = trees.roots;
  while (!open.empty()) {
    const int64_t at = open.back();
    open.pop_back();
    if (at < 0) {
      if (static_cast<size_t>(-1 - at) >= trees.leaves.size()) refuse("a leaf that is not there");
      continue;
    }
    if (static_cast<size_t>(at) >= trees.branches.size()) refuse("a node that is not there");
    if (reached[static_cast<size_t>(at)]++ != 0) refuse("a node with two parents");
    const Branch& branch = trees.branches[static_cast<size_t>(at)];
    if (branch.feature < 0 || branch.feature > INT32_MAX)
      refuse("feature " + std::to_string(branch.feature));
    open.push_back(branch.yes);
    open.push_back(branch.no);
  }
  for (const std::vector<Weight>& leaf : trees.leaves)
    for (const Weight& weight : leaf)
      if (weight.target < 0 || weight.target >= std::min<int64_t>(trees.targets, INT32_MAX))
        refuse("target " + std::to_string(weight.target) + " of " + std::to_string(trees.targets));
  if (trees.base.size() > 1 && trees.base.size() != static_cast<size_t>(trees.targets))
    refuse(std::to_string(trees.base.size()) + " base values of " + std::to_string(trees.targets) +
           " targets");
}

// A question in the form that rows are asked: x <= split, or x == split; with `opposite` its no is a yes.
template <class T>
struct Question {
  T split;
  bool equal, opposite;
};

template <class T>
constexpr T kNever = std::numeric_limits<T>::quiet_NaN();

template <class T>
T next_below(T x) {
  return std::nextafter(x, -std::numeric_limits<T>::infinity());
}

// The greatest T that is at most x.
template <class T>
T floor_of(double x) {
  const auto near = static_cast<T>(x);
  return near > x ? next_below(near) : near;
}

// The greatest T below x; NaN if there is none.
template <class T>
T below(double x) {
  if (x == -std::numeric_limits<double>::infinity()) return kNever<T>;
  const T at_most = floor_of<T>(x);
  return at_most < x ? at_most : next_below(at_most);
}

// The same answer for every x of type T.
template <class T>
Question<T> question_of(Mode mode, double split) {
  if (std::isnan(split)) return {kNever<T>, false, mode == Mode::Ne};
  switch (mode) {
    case Mode::Lt:
    case Mode::Ge:
      return {below<T>(split), false, mode == Mode::Ge};
    case Mode::Eq:
    case Mode::Ne: {
      const auto near = static_cast<T>(split);
      return {near == split ? near : kNever<T>, true, mode == Mode::Ne};
    }
    default:
      return {floor_of<T>(split), false, mode == Mode::Gt};
  }
}

template <class T>
class Packer {
 public:
  explicit Packer(const Trees& trees) : trees_(trees) {
    made_.base = trees.base;
    made_.aggregate = trees.aggregate;
    made_.targets = trees.targets;
    for (const int64_t root : trees.roots) add_tree(root);
  }
  Forest<T> take() { return std::move(made_); }

 private:
  // Breadth first: what most rows meet lies together.
  void add_tree(int64_t root) {
    const uint32_t first = add_nodes(1);
    sources_ = {root};
    uint32_t depth = 0;
    for (size_t i = 0, level_end = 1; i < sources_.size(); ++i) {
      if (i == level_end) {
        ++depth;
        level_end = sources_.size();
      }
      const uint32_t at = first + static_cast<uint32_t>(i);
      if (sources_[i] < 0)
        put_leaf(trees_.leaves[static_cast<size_t>(-1 - sources_[i])], at);
      else
        put_branch(trees_.branches[static_cast<size_t>(sources_[i])], at);
    }
    made_.trees.push_back({first, depth});
    made_.steps += depth;
  }

  uint32_t add_nodes(size_t count) {
    const size_t at = made_.nodes.size();
    if (at + count > INT32_MAX) refuse("too many nodes");
    made_.nodes.resize(at + count);
    made_.flags.resize(at + count);
    made_.extra.resize(at + count);
    made_.counts.resize(at + count);
    return static_cast<uint32_t>(at);
  }

  void put_leaf(const std::vector<Weight>& weights, uint32_t at) {
    made_.nodes[at] = {kNever<T>, 0, at - 1};
    if (made_.values.size() + weights.size() > INT32_MAX) refuse("too many weights");
    made_.extra[at] = static_cast<uint32_t>(made_.values.size());
    made_.counts[at] = static_cast<uint32_t>(weights.size());
    for (const Weight& weight : weights) {
      made_.values.push_back(weight.value);
      made_.to.push_back(static_cast<uint32_t>(weight.target));
    }
  }

  void put_branch(const Branch& branch, uint32_t at) {
    const Question<T> question = question_of<T>(branch.mode, branch.split);
    const uint32_t children = add_nodes(2);
    made_.nodes[at] = {question.split, static_cast<uint32_t>(branch.feature), children};
    uint8_t flags = question.equal ? Forest<T>::kEqual : 0;
    if (branch.missing_is_true != question.opposite) flags |= Forest<T>::kNanIsYes;
    if (branch.mode == Mode::Member) {
      flags |= Forest<T>::kMember;
      made_.extra[at] = static_cast<uint32_t>(made_.sets.size());
      made_.sets.emplace_back(trees_.members.begin() + branch.members,
                              trees_.members.begin() + branch.members_end);
    }
    made_.flags[at] = flags;
    made_.any_flags |= flags;
    made_.features = std::max(made_.features, branch.feature + 1);
    sources_.push_back(question.opposite ? branch.no : branch.yes);
    sources_.push_back(question.opposite ? branch.yes : branch.no);
  }

  const Trees& trees_;
  std::vector<int64_t> sources_;  // of the tree's nodes, as Branch::yes
  Forest<T> made_;
};

}  // namespace

template <class T>
Forest<T> packed(const Trees& trees) {
  check(trees);
  return Packer<T>(trees).take();
}

template Forest<float> packed(const Trees& trees);
template Forest<double> packed(const Trees& trees);

}  // namespace tenon::onnx
