#include "trace/fit_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/numbers.hpp"
#include "ir/schema.hpp"
#include "trace/fit.hpp"

namespace tenon::graph {
namespace {

size_t count_of_numbers(const Graph& graph) {
  size_t count = 0;
  each_number(graph, [&](const auto&, const Node*, size_t) { ++count; });
  return count;
}

// Copies the numbers of one graph into another.
struct Copier {
  const Graph& from;
  std::vector<int64_t> whole{};
  std::vector<double> real{};
  std::vector<Number> numbers{};
  size_t at_whole = 0, at_real = 0, at_number = 0;

  void collect() {
    each_number(from, [&](const auto& one, const Node*, size_t) { push(one); });
  }
  void push(int64_t one) { whole.push_back(one); }
  void push(double one) { real.push_back(one); }
  void push(const Number& one) { numbers.push_back(one); }
  void operator()(int64_t& one, const Node*, size_t) { one = whole.at(at_whole++); }
  void operator()(double& one, const Node*, size_t) { one = real.at(at_real++); }
  void operator()(Number& one, const Node*, size_t) { one = numbers.at(at_number++); }
};

// Requires the same ops, with equally many numbers each.
void check_ops(const Graph& a, const Graph& b, const std::string& when) {
  const size_t count = std::min(a.nodes.size(), b.nodes.size());
  for (size_t i = 0; i < count; ++i)
    if (a.nodes[i].op != b.nodes[i].op)
      refuse(
          fmt::format("{} is called at {} in the place of {}: what the function calls depends "
                      "on a size; leave that one fixed, or branch with tensors (where)",
                      described(b.nodes[i]), when, described(a.nodes[i])));
  if (a.nodes.size() != b.nodes.size())
    refuse(
        fmt::format("the function calls {} ops at {} and {} at others, {} among them: what it "
                    "calls depends on a size",
                    b.nodes.size(), when, a.nodes.size(),
                    described((a.nodes.size() > count ? a : b).nodes[count])));
}

// Whether the control is the same apart from its bodies.
bool same_control(const Control& a, const Control& b) {
  if (a.kind != b.kind || a.carried != b.carried || a.scanned != b.scanned ||
      a.refused.size() != b.refused.size())
    return false;
  for (size_t k = 0; k < a.bodies.size(); ++k)
    if (is_refused(a, k) != is_refused(b, k)) return false;
  return true;
}

// Whether both nodes are the same apart from their numbers: gives `b` those of `a`, then compares.
bool called_alike(const Node& a, const Node& b) {
  Graph one, other;
  one.nodes = {a};
  other.nodes = {b};
  if (count_of_numbers(one) != count_of_numbers(other)) return false;
  const auto same_kind = [](const Argument& x, const Argument& y) {
    return x.index() == y.index();
  };
  if (!std::ranges::equal(a.args, b.args, same_kind)) return false;
  Copier numbers{one};
  numbers.collect();
  each_number(other, std::ref(numbers));
  const Node& made = other.nodes[0];
  const auto same_argument = [](const Argument& x, const Argument& y) { return same(x, y); };
  const auto same_view = [](const View& x, const View& y) { return same(x, y); };
  return std::ranges::equal(a.args, made.args, same_argument) &&
         std::ranges::equal(a.results, made.results, same_view) &&
         (a.control == nullptr || same_control(*a.control, *b.control));
}

// Like `same`, but ignores the strides of dimensions of one element.
bool alike(const View& a, const View& b) {
  if (a.buffer != b.buffer || a.dtype != b.dtype || a.shape != b.shape) return false;
  if (a.numel() == 0) return true;
  for (size_t d = 0; d < a.shape.size(); ++d)
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return a.offset == b.offset;
}

bool alike(const Argument& a, const Argument& b) {
  if (a.index() != b.index()) return false;
  if (const auto* view = std::get_if<View>(&a)) return alike(*view, std::get<View>(b));
  if (const auto* views = std::get_if<Views>(&a))
    return std::ranges::equal(*views, std::get<Views>(b), [](const auto& x, const auto& y) {
      return x.has_value() == y.has_value() && (!x || alike(*x, *y));
    });
  return same(a, b);
}

bool alike_bodies(const Node& a, const Node& b) {
  if (a.control == nullptr || b.control == nullptr) return a.control == b.control;
  if (a.control->kind != b.control->kind || a.control->refused != b.control->refused) return false;
  for (size_t k = 0; k < a.control->bodies.size(); ++k)
    if (!alike(a.control->bodies[k], b.control->bodies[k])) return false;
  return true;
}

// The first node that reads the buffer: "add (model.py:12): ".
std::string reader_text(const Graph& graph, uint32_t buffer) {
  std::vector<uint32_t> read;
  for (const Node& node : graph.nodes) {
    reads(node, read);
    if (std::ranges::find(read, buffer) != read.end()) return described(node) + ": ";
  }
  return {};
}

}  // namespace

void check_structure(const Graph& a, const Graph& b, const std::string& when) {
  check_ops(a, b, when);
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    if (!called_alike(a.nodes[i], b.nodes[i]))
      refuse(
          fmt::format("{} is called in another way at {}: with another number of dimensions, "
                      "other tensors or another choice",
                      described(a.nodes[i]), when));
    if (a.nodes[i].control == nullptr) continue;
    const Control &mine = *a.nodes[i].control, &theirs = *b.nodes[i].control;
    for (size_t k = 0; k < mine.bodies.size(); ++k)
      check_structure(mine.bodies[k], theirs.bodies[k], when);
  }
  if (count_of_numbers(a) != count_of_numbers(b) || a.buffers.size() != b.buffers.size() ||
      a.results.size() != b.results.size())
    refuse(fmt::format("the function gives or uses other tensors at {}", when));
  for (size_t i = 0; i < a.buffers.size(); ++i)
    if (a.buffers[i].role != b.buffers[i].role || a.buffers[i].dtype != b.buffers[i].dtype)
      refuse(fmt::format("the function uses other tensors from outside at {}", when));
  for (size_t i = 0; i < a.results.size(); ++i)
    if (a.results[i].buffer != b.results[i].buffer)
      refuse(fmt::format("the function gives another tensor at {}", when));
}

void check_held(const Graph& a, const Graph& b) {
  for (uint32_t i = 0; i < a.buffers.size(); ++i)
    if (is_held(a.buffers[i].role) && !same_tensor(a.buffers[i].constant, b.buffers[i].constant))
      refuse(fmt::format(
          "{}a tensor that the function makes from numbers of the host{} holds others at other "
          "sizes, and would be baked in: make it an argument, or compute it with ops (full, "
          "arange)",
          reader_text(a, i), a.buffers[i].name.empty() ? "" : ", " + a.buffers[i].name + ","));
  for (size_t i = 0; i < a.nodes.size(); ++i)
    for (size_t k = 0; a.nodes[i].control != nullptr && k < a.nodes[i].control->bodies.size(); ++k)
      check_held(a.nodes[i].control->bodies[k], b.nodes[i].control->bodies[k]);
}

bool alike(const Graph& a, const Graph& b) {
  const auto views = [](const std::vector<View>& x, const std::vector<View>& y) {
    return std::ranges::equal(x, y,
                              [](const View& one, const View& two) { return alike(one, two); });
  };
  const auto nodes = [&](const Node& x, const Node& y) {
    return x.op == y.op && views(x.results, y.results) && alike_bodies(x, y) &&
           std::ranges::equal(x.args, y.args, [](const Argument& one, const Argument& two) {
             return alike(one, two);
           });
  };
  return std::ranges::equal(a.nodes, b.nodes, nodes) && views(a.results, b.results) &&
         a.buffers.size() == b.buffers.size();
}

}  // namespace tenon::graph
