#include "trace/fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/schema.hpp"

namespace tenon::graph {
namespace {

// The argument with this value in place of a symbol's; nothing if the argument cannot hold it.
std::optional<Argument> as_argument(const Argument& like, double value) {
  if (std::holds_alternative<double>(like)) return Argument(value);
  if (std::holds_alternative<int64_t>(like)) return Argument(static_cast<int64_t>(value));
  if (const auto* number = std::get_if<Number>(&like))
    if (const auto made = number_of(number->dtype, value)) return Argument(*made);
  return std::nullopt;
}

Symbolic symbolic(const Argument& like, size_t index) {
  Symbolic made{static_cast<uint32_t>(index), Symbolic::Kind::Float, DType::F64};
  if (std::holds_alternative<int64_t>(like)) made.kind = Symbolic::Kind::Int;
  if (const auto* number = std::get_if<Number>(&like))
    made = {made.symbol, Symbolic::Kind::Number, number->dtype};
  return made;
}

bool is_same_memory(const Tensor& a, const Tensor& b) {
  const tn_view &x = *tn_tensor_view(a.get()), &y = *tn_tensor_view(b.get());
  return x.buffer == y.buffer && x.data == y.data && x.offset == y.offset;
}

class Fitter {
 public:
  Fitter(Graph& first, const Graph& second) : a_(first), b_(second) {}

  void run() {
    if (a_.symbols.size() != b_.symbols.size() || a_.nodes.size() != b_.nodes.size())
      refuse(
          fmt::format("traced twice, the function called {} ops and then {}: what it calls "
                      "varies beside its arguments",
                      a_.nodes.size(), b_.nodes.size()));
    for (size_t i = 0; i < a_.nodes.size(); ++i) node(a_.nodes[i], b_.nodes[i]);
    if (!std::ranges::equal(a_.results, b_.results,
                            [](const View& x, const View& y) { return same(x, y); }))
      refuse(
          "traced twice, the function gave other results: what it gives varies beside its "
          "arguments");
    buffers();
  }

 private:
  void node(Node& a, const Node& b) {
    if (a.op != b.op)
      refuse(
          fmt::format("traced twice, the function called {} and then {} in its place: what it "
                      "calls varies beside its arguments",
                      a.name(), b.name()));
    const bool results = std::ranges::equal(
        a.results, b.results, [](const View& x, const View& y) { return same(x, y); });
    if (!results || a.args.size() != b.args.size())
      refuse(fmt::format("{}: its result has another shape when the function is traced again",
                         a.name()));
    for (size_t i = 0; i < a.args.size(); ++i)
      if (!same(a.args[i], b.args[i])) a.args[i] = varying(a, i, b.args[i]);
  }

  Argument varying(const Node& node, size_t i, const Argument& other) const {
    const Argument& here = node.args[i];
    for (size_t s = 0; s < a_.symbols.size() && here.index() == other.index(); ++s) {
      const auto mine = as_argument(here, a_.symbols[s].value),
                 theirs = as_argument(other, b_.symbols[s].value);
      if (mine && theirs && same(*mine, here) && same(*theirs, other)) return symbolic(here, s);
    }
    std::vector<std::string_view> names;
    for (const Symbol& symbol : a_.symbols) names.push_back(symbol.name);
    refuse(fmt::format(
        "{}: its argument '{}' varies from run to run, and is none of the numbers that a run can "
        "have anew ({}): it was computed from one, or drawn, outside of ops, and would be baked in",
        node.name(), parameters(*node.op)[i].name, fmt::join(names, ", ")));
  }

  // Outside tensors must be the same, or hold the same elements.
  void buffers() {
    std::vector<uint32_t> touched;
    for (const Node& node : a_.nodes) {
      reads(node, touched);
      writes(node, touched);
    }
    for (const View& result : a_.results) touched.push_back(result.buffer);
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const uint32_t b : touched) held(b);
  }
  void held(uint32_t index) {
    const Buffer &a = a_.buffers[index], &b = b_.buffers[index];
    if (a.role != b.role || a.dtype != b.dtype || a.size != b.size)
      refuse("traced twice, the function used other tensors from outside");
    if (!is_held(a.role)) return;
    if (is_same_memory(a.constant, b.constant)) return;
    if (!same_tensor(a.constant, b.constant))
      refuse(
          "a tensor that the function makes from numbers of the host holds others when it is "
          "traced again, and would be baked in: make it an argument");
    if (a.role == Role::State) begin_with_copy(index);
  }
  // The function makes the tensor from numbers of the host each time, and then writes into it.
  void begin_with_copy(uint32_t index) {
    static const tn_op* const clone = tn_op_find(detail::to_str("clone"));
    Buffer made = a_.buffers[index];
    made.role = Role::Constant;
    const auto from = static_cast<uint32_t>(a_.buffers.size());
    const View source{from, made.dtype, 0, {made.size}, {1}},
        copy{index, made.dtype, 0, {made.size}, {1}};
    a_.buffers[index].role = Role::Temporary;
    a_.buffers[index].constant = {};
    a_.buffers.push_back(std::move(made));
    a_.nodes.insert(a_.nodes.begin(), Node{clone, {source}, {copy}});
  }

  Graph& a_;
  const Graph& b_;
};

}  // namespace

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.shape(), b.shape())) return false;
  if (is_same_memory(a, b) && std::ranges::equal(a.strides(), b.strides())) return true;
  std::vector<char> left(a.nbytes()), right(left.size());
  a.to_host(left.data(), left.size());
  b.to_host(right.data(), right.size());
  return left == right;
}

Graph fit(Graph first, const Graph& second) {
  Fitter(first, second).run();
  return first;
}

}  // namespace tenon::graph
