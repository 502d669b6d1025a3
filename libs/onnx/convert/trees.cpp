// Ensembles of decision trees, on the host: each row descends every tree from root to leaf and collects the leaf's weights.
#include <algorithm>
#include <cmath>
#include <map>

#include "convert/scores.hpp"
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

enum class Mode : uint8_t { Le, Lt, Ge, Gt, Eq, Ne, Member };

struct Node {
  double split = 0;
  int64_t feature = 0;
  int32_t yes = -1, no = -1;  // indices of nodes; leaves count down from -1
  Mode mode = Mode::Le;
  bool missing_is_true = false;
  uint32_t members = 0, members_end = 0;  // a range of Forest::members
};
struct Weight {
  int64_t target;
  double value;
};

struct Forest {
  std::vector<Node> nodes;
  Ints roots;  // as in Node::yes
  std::vector<std::vector<Weight>> leaves;
  std::vector<double> members, base;
  int64_t targets = 0, features = 0;  // rows have at least this many features
  enum { Sum, Average, Min, Max } aggregate = Sum;
  bool only_le = true;          // true for most models
  std::vector<size_t> first;    // by leaf: its first weight; one more entry for the end
  std::vector<Weight> weights;  // of all leaves, one after another

  bool holds(const Node& node, double x) const {
    switch (node.mode) {
      case Mode::Le:
        return x <= node.split;
      case Mode::Lt:
        return x < node.split;
      case Mode::Ge:
        return x >= node.split;
      case Mode::Gt:
        return x > node.split;
      case Mode::Eq:
        return x == node.split;
      case Mode::Ne:
        return x != node.split;
      case Mode::Member:
        return std::find(members.begin() + node.members, members.begin() + node.members_end, x) !=
               members.begin() + node.members_end;
    }
    return false;
  }
  template <bool kOnlyLe>
  size_t leaf(int64_t at, const double* row) const {
    while (at >= 0) {
      const Node& node = nodes[static_cast<size_t>(at)];
      const double x = row[node.feature];
      const bool yes = std::isnan(x) ? node.missing_is_true
                       : kOnlyLe     ? x <= node.split
                                     : holds(node, x);
      at = yes ? node.yes : node.no;
    }
    return static_cast<size_t>(-1 - at);
  }
  // Adds one tree's weights for rows (count, columns) to scores (count, targets). `seen`: which scores got any, for min and max.
  template <bool kOnlyLe>
  void vote(int64_t root, const double* rows, int64_t count, int64_t columns, double* scores,
            uint8_t* seen) const {
    for (int64_t row = 0; row < count; ++row, rows += columns) {
      const size_t at = leaf<kOnlyLe>(root, rows);
      for (size_t i = first[at]; i < first[at + 1]; ++i) {
        const int64_t to = row * targets + weights[i].target;
        const double value = weights[i].value;
        if (aggregate == Min || aggregate == Max) {
          const bool better = aggregate == Min ? value < scores[to] : value > scores[to];
          scores[to] = seen[to] == 0 || better ? value : scores[to];
          seen[to] = 1;
        } else {
          scores[to] += value;
        }
      }
    }
  }
  // The sum over all trees, for each row.
  void vote(const double* rows, int64_t count, int64_t columns, double* scores) const {
    std::vector<uint8_t> seen(static_cast<size_t>(count * targets));
    for (const int64_t root : roots)
      only_le ? vote<true>(root, rows, count, columns, scores, seen.data())
              : vote<false>(root, rows, count, columns, scores, seen.data());
    for (int64_t i = 0; i < count * targets; ++i) {
      if (aggregate == Average && !roots.empty()) scores[i] /= static_cast<double>(roots.size());
      if (!base.empty()) scores[i] += base[base.size() == 1 ? 0 : static_cast<size_t>(i % targets)];
    }
  }
  void finish(const Call& call) {
    for (const std::vector<Weight>& leaf : leaves) {
      first.push_back(weights.size());
      weights.insert(weights.end(), leaf.begin(), leaf.end());
    }
    first.push_back(weights.size());
    leaves.clear();
    check(call);
  }

 private:
  // Throws if a row could get lost or go in a circle.
  void check(const Call& call) {
    std::vector<uint8_t> reached(nodes.size());
    Ints open = roots;
    while (!open.empty()) {
      const int64_t at = open.back();
      open.pop_back();
      if (at < 0) {
        if (static_cast<size_t>(-1 - at) + 1 >= first.size()) call.fail("a leaf that is not there");
        continue;
      }
      if (static_cast<size_t>(at) >= nodes.size()) call.fail("a node that is not there");
      if (reached[static_cast<size_t>(at)]++ != 0) call.fail("a node with two parents");
      const Node& node = nodes[static_cast<size_t>(at)];
      if (node.feature < 0) call.fail("feature " + std::to_string(node.feature));
      features = std::max(features, node.feature + 1);
      only_le = only_le && node.mode == Mode::Le;
      open.push_back(node.yes);
      open.push_back(node.no);
    }
    for (const Weight& weight : weights)
      if (weight.target < 0 || weight.target >= targets)
        call.fail("target " + std::to_string(weight.target) + " of " + std::to_string(targets));
    if (base.size() > 1 && base.size() != static_cast<size_t>(targets))
      call.fail(std::to_string(base.size()) + " base values of " + std::to_string(targets) +
                " targets");
  }
};

// A list of numbers: an attribute of floats, or a tensor named `name`_as_tensor.
std::vector<double> numbers(const Call& call, const std::string& name) {
  const Tensor given = call.tensor(name + "_as_tensor");
  return given.defined() ? read<double>(given) : call.floats(name);
}

template <class T>
T entry(const Call& call, const std::vector<T>& list, size_t i, const char* name) {
  if (i >= list.size()) call.fail(std::string(name) + " is shorter than the list of nodes");
  return list[i];
}

Mode mode_of(const Call& call, const std::string& name) {
  static constexpr std::pair<const char*, Mode> kNames[] = {
      {"BRANCH_LEQ", Mode::Le}, {"BRANCH_LT", Mode::Lt}, {"BRANCH_GTE", Mode::Ge},
      {"BRANCH_GT", Mode::Gt},  {"BRANCH_EQ", Mode::Eq}, {"BRANCH_NEQ", Mode::Ne}};
  for (const auto& [theirs, ours] : kNames)
    if (name == theirs) return ours;
  call.unsupported("mode " + name);
}

// Finds a node by its ids: its index, or for a leaf a number counted down from -1.
using Places = std::map<std::pair<int64_t, int64_t>, int64_t>;

// The nodes of TreeEnsembleRegressor and TreeEnsembleClassifier, which are identified by tree id and node id.
Places read_named_nodes(const Call& call, Forest& forest) {
  const Ints trees = call.list("nodes_treeids"), ids = call.list("nodes_nodeids"),
             features = call.list("nodes_featureids"), yes = call.list("nodes_truenodeids"),
             no = call.list("nodes_falsenodeids"),
             missing = call.list("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = call.strings("nodes_modes");
  const std::vector<double> splits = numbers(call, "nodes_values");
  Places places;
  std::vector<size_t> inner;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool leaf = entry(call, modes, i, "nodes_modes") == "LEAF";
    const auto at = static_cast<int64_t>(leaf ? forest.leaves.size() : inner.size());
    if (!places.try_emplace({entry(call, trees, i, "nodes_treeids"), ids[i]}, leaf ? -1 - at : at)
             .second)
      call.fail("two nodes with the ids of node " + std::to_string(i));
    if (leaf)
      forest.leaves.emplace_back();
    else
      inner.push_back(i);
    // A tree's first node is its root.
    if (i == 0 || trees[i] != trees[i - 1]) forest.roots.push_back(leaf ? -1 - at : at);
  }
  for (const size_t i : inner) {
    const auto child = [&](int64_t id) {
      const auto found = places.find({trees[i], id});
      if (found == places.end())
        call.fail("node " + std::to_string(ids[i]) + " of tree " + std::to_string(trees[i]) +
                  " leads to " + std::to_string(id) + ", which is not there");
      return found->second;
    };
    Node& node = forest.nodes.emplace_back();
    node.feature = entry(call, features, i, "nodes_featureids");
    node.split = entry(call, splits, i, "nodes_values");
    node.mode = mode_of(call, modes[i]);
    node.missing_is_true = i < missing.size() && missing[i] != 0;
    node.yes = static_cast<int32_t>(child(entry(call, yes, i, "nodes_truenodeids")));
    node.no = static_cast<int32_t>(child(entry(call, no, i, "nodes_falsenodeids")));
  }
  return places;
}

// Weights of the leaves; `kind` is "target" or "class".
void read_named_weights(const Call& call, const Places& places, const std::string& kind,
                        Forest& forest) {
  const Ints trees = call.list(kind + "_treeids"), ids = call.list(kind + "_nodeids"),
             targets = call.list(kind + "_ids");
  const std::vector<double> weights = numbers(call, kind + "_weights");
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto found = places.find({entry(call, trees, i, "the list of trees"), ids[i]});
    if (found == places.end() || found->second >= 0)
      call.fail("a weight of node " + std::to_string(ids[i]) + ", which is no leaf");
    forest.leaves[static_cast<size_t>(-1 - found->second)].push_back(
        {entry(call, targets, i, "the list of targets"), entry(call, weights, i, "weights")});
  }
}

Forest named_forest(const Call& call, const std::string& kind, int64_t targets) {
  Forest forest;
  forest.targets = targets;
  read_named_weights(call, read_named_nodes(call, forest), kind, forest);
  forest.base = numbers(call, "base_values");
  const std::string aggregate = call.s("aggregate_function", "SUM");
  if (aggregate == "AVERAGE") forest.aggregate = Forest::Average;
  if (aggregate == "MIN") forest.aggregate = Forest::Min;
  if (aggregate == "MAX") forest.aggregate = Forest::Max;
  forest.finish(call);
  return forest;
}

// TreeEnsemble, which lists nodes and leaves separately.
Forest listed_forest(const Call& call) {
  Forest forest;
  forest.targets = call.i("n_targets", 1);
  const auto tensor_of = [&](const char* name) {
    const Tensor given = call.tensor(name);
    return given.defined() ? read<double>(given) : std::vector<double>();
  };
  const Ints features = call.list("nodes_featureids"), yes = call.list("nodes_truenodeids"),
             no = call.list("nodes_falsenodeids"), yes_leafs = call.list("nodes_trueleafs"),
             no_leafs = call.list("nodes_falseleafs"),
             missing = call.list("nodes_missing_value_tracks_true"),
             targets = call.list("leaf_targetids");
  const std::vector<double> splits = tensor_of("nodes_splits"), modes = tensor_of("nodes_modes"),
                            sets = tensor_of("membership_values"),
                            weights = tensor_of("leaf_weights");
  const auto child = [&](int64_t id, int64_t leaf) {
    if (id < 0 || id > INT32_MAX - 1) call.fail("a node of number " + std::to_string(id));
    return static_cast<int32_t>(leaf != 0 ? -1 - id : id);
  };
  size_t set = 0;  // a NaN ends the members of one node
  for (size_t i = 0; i < features.size(); ++i) {
    Node& node = forest.nodes.emplace_back();
    node.feature = features[i];
    node.split = entry(call, splits, i, "nodes_splits");
    const double mode = entry(call, modes, i, "nodes_modes");
    if (!(mode >= 0 && mode <= 6)) call.fail("a mode that is not one of 0 to 6");
    node.mode = static_cast<Mode>(static_cast<int>(mode));
    node.missing_is_true = i < missing.size() && missing[i] != 0;
    node.yes = child(entry(call, yes, i, "nodes_truenodeids"),
                     entry(call, yes_leafs, i, "nodes_trueleafs"));
    node.no = child(entry(call, no, i, "nodes_falsenodeids"),
                    entry(call, no_leafs, i, "nodes_falseleafs"));
    if (node.mode != Mode::Member) continue;
    node.members = static_cast<uint32_t>(forest.members.size());
    for (; set < sets.size() && !std::isnan(sets[set]); ++set) forest.members.push_back(sets[set]);
    ++set;
    node.members_end = static_cast<uint32_t>(forest.members.size());
  }
  for (size_t i = 0; i < targets.size(); ++i)
    forest.leaves.push_back({{targets[i], entry(call, weights, i, "leaf_weights")}});
  forest.roots = call.list("tree_roots");
  constexpr decltype(Forest::aggregate) kAggregates[] = {Forest::Average, Forest::Sum, Forest::Min,
                                                         Forest::Max};
  const int64_t aggregate = call.i("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3) call.fail("aggregate_function " + std::to_string(aggregate));
  forest.aggregate = kAggregates[aggregate];
  forest.finish(call);
  return forest;
}

// Scores (N, targets) in double precision.
Tensor scores_of(const Call& call, const Forest& forest) {
  const Tensor x = call.x(0).cpu();
  if (x.ndim() != 1 && x.ndim() != 2) call.fail("it needs rows (N, features)");
  const int64_t columns = x.shape(-1), rows = x.ndim() == 1 ? 1 : x.shape(0);
  if (columns < forest.features)
    call.fail("rows of " + std::to_string(columns) + " features, where " +
              std::to_string(forest.features) + " are read");
  const std::vector<double> features = read<double>(x);
  std::vector<double> scores(static_cast<size_t>(rows * forest.targets));
  constexpr int64_t kBlock = 64;  // rows at a time, so that a tree stays in the cache
  for (int64_t row = 0; row < rows; row += kBlock)
    forest.vote(features.data() + row * columns, std::min(kBlock, rows - row), columns,
                scores.data() + row * forest.targets);
  return tensor(scores, {rows, forest.targets});
}

Tensor tree_ensemble(const Call& call) {
  const auto forest = call.kept(true, [&] { return listed_forest(call); });
  static constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                "PROBIT"};
  const int64_t how = call.i("post_transform", 0);
  if (how < 0 || how > 4) call.fail("post_transform " + std::to_string(how));
  return transformed(call, scores_of(call, *forest), kTransforms[how])
      .to(call.x(0).dtype())
      .to(call.device());
}

Tensor tree_regressor(const Call& call) {
  const auto forest =
      call.kept(true, [&] { return named_forest(call, "target", call.i("n_targets", 1)); });
  return transformed(call, scores_of(call, *forest), call.s("post_transform", "NONE"))
      .to(DType::F32)
      .to(call.device());
}

// Returns (labels, scores).
Results tree_classifier(const Call& call) {
  const Ints labels = labels_of(call, "classlabels_int64s");
  const auto count = static_cast<int64_t>(labels.size());
  const auto forest = call.kept(true, [&] { return named_forest(call, "class", count); });
  const std::string how = call.s("post_transform", "NONE");
  // Sums that are equal in f32 are a tie, as in libraries that sum in f32.
  const bool precise = call.x(0).dtype() == DType::F64;
  Tensor scores = scores_of(call, *forest).to(precise ? DType::F64 : DType::F32);
  Ints used = call.list("class_ids");
  std::ranges::sort(used);
  const bool binary = count == 2 && !used.empty() && used.front() == used.back();
  Tensor best;
  if (binary) {
    const Tensor one = scores.narrow(1, used.front(), 1);
    const std::vector<double> weights = numbers(call, "class_weights");
    const bool positive = std::ranges::none_of(weights, [](double weight) { return weight < 0; });
    scores = both_classes(one, positive, how);
    best = greater(one, positive ? 0.5 : 0.0).to(DType::I64).reshape({-1});
  } else {
    best = argmax(scores, 1);
    scores = transformed(call, scores, how);
  }
  return {host(labels).index_select(0, best).to(call.device()),
          scores.to(DType::F32).to(call.device())};
}

}  // namespace

Family tree_ops() {
  static const Entry ops[] = {
      {"TreeEnsemble", 5, tree_ensemble, kMl},
      {"TreeEnsembleClassifier", 1, tree_classifier, kMl},
      {"TreeEnsembleRegressor", 1, tree_regressor, kMl},
  };
  return ops;
}

}  // namespace tenon::onnx
