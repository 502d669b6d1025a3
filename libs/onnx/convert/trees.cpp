// Ensembles of decision trees, on the host.
#include <algorithm>
#include <cmath>
#include <map>

#include "convert/forest.hpp"
#include "convert/scores.hpp"
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

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

// Finds a node by its ids: its number as Branch::yes has it.
using Places = std::map<std::pair<int64_t, int64_t>, int64_t>;

// The nodes of TreeEnsembleRegressor and TreeEnsembleClassifier, which are identified by tree id and node id.
Places read_named_nodes(const Call& call, Trees& ensemble) {
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
    const auto at = static_cast<int64_t>(leaf ? ensemble.leaves.size() : inner.size());
    if (!places.try_emplace({entry(call, trees, i, "nodes_treeids"), ids[i]}, leaf ? -1 - at : at)
             .second)
      call.fail("two nodes with the ids of node " + std::to_string(i));
    if (leaf)
      ensemble.leaves.emplace_back();
    else
      inner.push_back(i);
    // A tree's first node is its root.
    if (i == 0 || trees[i] != trees[i - 1]) ensemble.roots.push_back(leaf ? -1 - at : at);
  }
  for (const size_t i : inner) {
    const auto child = [&](int64_t id) {
      const auto found = places.find({trees[i], id});
      if (found == places.end())
        call.fail("node " + std::to_string(ids[i]) + " of tree " + std::to_string(trees[i]) +
                  " leads to " + std::to_string(id) + ", which is not there");
      return found->second;
    };
    Branch& node = ensemble.branches.emplace_back();
    node.feature = entry(call, features, i, "nodes_featureids");
    node.split = entry(call, splits, i, "nodes_values");
    node.mode = mode_of(call, modes[i]);
    node.missing_is_true = i < missing.size() && missing[i] != 0;
    node.yes = child(entry(call, yes, i, "nodes_truenodeids"));
    node.no = child(entry(call, no, i, "nodes_falsenodeids"));
  }
  return places;
}

// Weights of the leaves; `kind` is "target" or "class".
void read_named_weights(const Call& call, const Places& places, const std::string& kind,
                        Trees& ensemble) {
  const Ints trees = call.list(kind + "_treeids"), ids = call.list(kind + "_nodeids"),
             targets = call.list(kind + "_ids");
  const std::vector<double> weights = numbers(call, kind + "_weights");
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto found = places.find({entry(call, trees, i, "the list of trees"), ids[i]});
    if (found == places.end() || found->second >= 0)
      call.fail("a weight of node " + std::to_string(ids[i]) + ", which is no leaf");
    ensemble.leaves[static_cast<size_t>(-1 - found->second)].push_back(
        {entry(call, targets, i, "the list of targets"), entry(call, weights, i, "weights")});
  }
}

Trees named_trees(const Call& call, const std::string& kind, int64_t targets) {
  Trees ensemble;
  ensemble.targets = targets;
  read_named_weights(call, read_named_nodes(call, ensemble), kind, ensemble);
  ensemble.base = numbers(call, "base_values");
  const std::string aggregate = call.s("aggregate_function", "SUM");
  if (aggregate == "AVERAGE") ensemble.aggregate = Aggregate::Average;
  if (aggregate == "MIN") ensemble.aggregate = Aggregate::Min;
  if (aggregate == "MAX") ensemble.aggregate = Aggregate::Max;
  return ensemble;
}

// TreeEnsemble, which lists nodes and leaves separately.
Trees listed_trees(const Call& call) {
  Trees ensemble;
  ensemble.targets = call.i("n_targets", 1);
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
    return leaf != 0 ? -1 - id : id;
  };
  size_t set = 0;  // a NaN ends the members of one node
  for (size_t i = 0; i < features.size(); ++i) {
    Branch& node = ensemble.branches.emplace_back();
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
    node.members = static_cast<uint32_t>(ensemble.members.size());
    for (; set < sets.size() && !std::isnan(sets[set]); ++set)
      ensemble.members.push_back(sets[set]);
    ++set;
    node.members_end = static_cast<uint32_t>(ensemble.members.size());
  }
  for (size_t i = 0; i < targets.size(); ++i)
    ensemble.leaves.push_back({{targets[i], entry(call, weights, i, "leaf_weights")}});
  ensemble.roots = call.list("tree_roots");
  const int64_t aggregate = call.i("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3) call.fail("aggregate_function " + std::to_string(aggregate));
  ensemble.aggregate = static_cast<Aggregate>(aggregate);
  return ensemble;
}

// Scores (N, targets) in double precision. T: the type of `x`.
template <class T>
Tensor scores_by(const Forest<T>& forest, const Call& call, const Tensor& x) {
  if (x.ndim() != 1 && x.ndim() != 2) call.fail("it needs rows (N, features)");
  const int64_t columns = x.shape(-1), rows = x.ndim() == 1 ? 1 : x.shape(0);
  if (columns < forest.features)
    call.fail("rows of " + std::to_string(columns) + " features, where " +
              std::to_string(forest.features) + " are read");
  std::vector<double> scores(static_cast<size_t>(rows * forest.targets));
  score(forest, x.data<T>(), rows, columns, scores.data());
  return tensor(scores, {rows, forest.targets});
}

// The same for the first input. `make` reads the trees from the node's attributes; they are packed once for each type.
template <class Make>
Tensor scores_of(const Call& call, Make make) {
  const Tensor x = call.x(0).cpu().contiguous();
  const auto of = [&]<class T>(const Tensor& features) {
    const auto forest = call.kept(
        true, [&] { return packed<T>(make()); }, sizeof(T));
    return scores_by<T>(*forest, call, features);
  };
  if (x.dtype() == DType::F32) return of.template operator()<float>(x);
  return of.template operator()<double>(x.to(DType::F64));
}

Tensor tree_ensemble(const Call& call) {
  static constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                "PROBIT"};
  const int64_t how = call.i("post_transform", 0);
  if (how < 0 || how > 4) call.fail("post_transform " + std::to_string(how));
  const Tensor scores = scores_of(call, [&] { return listed_trees(call); });
  return transformed(call, scores, kTransforms[how]).to(call.x(0).dtype()).to(call.device());
}

Tensor tree_regressor(const Call& call) {
  const Tensor scores =
      scores_of(call, [&] { return named_trees(call, "target", call.i("n_targets", 1)); });
  return transformed(call, scores, call.s("post_transform", "NONE"))
      .to(DType::F32)
      .to(call.device());
}

// What a classifier makes of its scores.
struct Choice {
  Tensor labels;
  int64_t only = -1;  // of two classes, the one that leaves vote for; -1 if they vote for several
  bool positive = false;  // no vote is below zero
};

Choice choice_of(const Call& call) {
  const Ints labels = labels_of(call, "classlabels_int64s"), ids = call.list("class_ids");
  const std::vector<double> weights = numbers(call, "class_weights");
  const auto is_first = [&](int64_t id) { return id == ids.front(); };
  const bool binary = labels.size() == 2 && !ids.empty() && std::ranges::all_of(ids, is_first);
  return {host(labels), binary ? ids.front() : -1,
          std::ranges::none_of(weights, [](double weight) { return weight < 0; })};
}

// Returns (labels, scores).
Results tree_classifier(const Call& call) {
  const auto choice = call.kept(true, [&] { return choice_of(call); });
  const std::string how = call.s("post_transform", "NONE");
  // Sums that are equal in f32 are a tie, as in libraries that sum in f32.
  const bool precise = call.x(0).dtype() == DType::F64;
  Tensor scores = scores_of(call, [&] {
                    return named_trees(call, "class", choice->labels.numel());
                  }).to(precise ? DType::F64 : DType::F32);
  Tensor best;
  if (choice->only >= 0) {
    const Tensor one = scores.narrow(1, choice->only, 1);
    scores = both_classes(one, choice->positive, how);
    best = greater(one, choice->positive ? 0.5 : 0.0).to(DType::I64).reshape({-1});
  } else {
    best = argmax(scores, 1);
    scores = transformed(call, scores, how);
  }
  return {choice->labels.index_select(0, best).to(call.device()),
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
