#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "pass/pass.hpp"
#include "pass/values.hpp"
#include "tenon/schemas.h"

namespace tenon::graph {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// A buffer that is zero outside some slices along one dimension: it holds a single slice, or is the sum of two such buffers.
struct Slices {
  size_t dim = 0;
  int64_t length = 0;                    // of all slices together
  uint32_t left = kNone, right = kNone;  // the terms of a sum; else:
  const View* source = nullptr;          // what the slice holds,
  int64_t start = 0;                     // and where it begins
};

bool is_op(const Node& node, std::string_view name) {
  return node.op != nullptr && node.results.size() == 1 && node.name() == name;
}

template <class T>
const T* argument(const Node& node, size_t i) {
  return i < node.args.size() ? std::get_if<T>(&node.args[i]) : nullptr;
}

// Whether it is +0.
bool is_zero(const Argument& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real == 0 && !std::signbit(*real);
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole == 0;
  const auto* number = std::get_if<Number>(&value);
  return number != nullptr &&
         std::ranges::all_of(number->bytes, [](unsigned char byte) { return byte == 0; });
}

class Joiner {
 public:
  explicit Joiner(const Graph& graph)
      : graph_(graph), values_(graph), known_(graph.buffers.size()) {}

  std::optional<Graph> run() {
    std::map<size_t, std::vector<Node>> writes;  // in place of the nodes there
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      std::optional<Slices> found = slices_of(node);
      if (found && found->left != kNone && found->length == node.results[0].shape[found->dim])
        if (auto made = slice_writes(node, *found)) writes.emplace(i, std::move(*made));
      if (found) known_[node.results[0].buffer] = found;
    }
    if (writes.empty()) return std::nullopt;
    Graph joined = graph_;
    joined.nodes.clear();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto found = writes.find(i);
      if (found == writes.end())
        joined.nodes.push_back(graph_.nodes[i]);
      else
        std::ranges::move(found->second, std::back_inserter(joined.nodes));
    }
    drop_dead(joined);
    return joined;
  }

 private:
  std::optional<Slices> slices_of(const Node& node) const {
    if (is_op(node, "slice_scatter")) return single_slice(node);
    return is_op(node, "add") ? sum(node) : std::nullopt;
  }

  // slice_scatter(zeros, source, dim, start, end, step)
  std::optional<Slices> single_slice(const Node& node) const {
    const auto *zeros = argument<View>(node, 0), *source = argument<View>(node, 1);
    const auto *dim = argument<int64_t>(node, 2), *start = argument<int64_t>(node, 3),
               *step = argument<int64_t>(node, 5);
    if (zeros == nullptr || source == nullptr || dim == nullptr || start == nullptr ||
        step == nullptr || *dim < 0 || *start < 0 || *step != 1 || !is_filled_with_zero(*zeros) ||
        !values_.is_value(source->buffer) || !number_of(source->dtype, 0))
      return std::nullopt;
    const auto at = static_cast<size_t>(*dim);
    return Slices{at, source->shape[at], kNone, kNone, source, *start};
  }

  std::optional<Slices> sum(const Node& node) const {
    const auto *left = argument<View>(node, 0), *right = argument<View>(node, 1);
    if (left == nullptr || right == nullptr) return std::nullopt;
    const auto &a = known_[left->buffer], &b = known_[right->buffer];
    if (!a || !b || a->dim != b->dim || !graph_.shows_all(*left) || !graph_.shows_all(*right) ||
        left->shape != right->shape || left->dtype != right->dtype)
      return std::nullopt;
    return Slices{a->dim, a->length + b->length, left->buffer, right->buffer};
  }

  bool is_filled_with_zero(const View& view) const {
    if (!values_.is_value(view.buffer) || values_.maker(view.buffer) == kNone) return false;
    const Node& maker = graph_.nodes[values_.maker(view.buffer)];
    return is_op(maker, "full") && maker.args.size() > arg::full::value &&
           is_zero(maker.args[arg::full::value]);
  }

  // Nodes that write each slice where it belongs in the sum's result. A slice that met zeros in a sum has no -0: hence + 0, which a kernel
  // that makes the slice can do as well. None if slices overlap.
  std::optional<std::vector<Node>> slice_writes(const Node& node, const Slices& sum) const {
    std::vector<const Slices*> slices, open = {&sum};
    while (!open.empty()) {
      const Slices& one = *open.back();
      open.pop_back();
      if (one.left == kNone) {
        slices.push_back(&one);
        continue;
      }
      open.push_back(&*known_[one.left]);
      open.push_back(&*known_[one.right]);
    }
    std::ranges::sort(slices, {}, &Slices::start);
    int64_t end = 0;
    for (const Slices* one : slices) {
      if (one->start != end) return std::nullopt;
      end += one->length;
    }
    std::vector<Node> made;
    for (const Slices* one : slices) {
      View place = node.results[0];
      place.offset += one->start * place.strides[sum.dim];
      place.shape = one->source->shape;
      Node write = node;
      write.args = {*one->source, *number_of(place.dtype, 0)};
      write.results = {place};
      made.push_back(std::move(write));
    }
    return made;
  }

  const Graph& graph_;
  const ValueMap values_;
  std::vector<std::optional<Slices>> known_;  // by buffer
};

}  // namespace

std::optional<Graph> join_slices(const Graph& graph) {
  const auto scatters = [](const Node& node) { return is_op(node, "slice_scatter"); };
  return std::ranges::any_of(graph.nodes, scatters) ? Joiner(graph).run() : std::nullopt;
}

}  // namespace tenon::graph
