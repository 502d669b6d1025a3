#include <algorithm>
#include <cstring>
#include <set>

#include "pass/pass.hpp"
#include "pass/values.hpp"
#include "tenon/schemas.h"

namespace tenon::graph {
namespace {

bool is_real(DType dtype) { return !is_complex(dtype); }

// Whether an argument is this number, with the same sign.
bool is_number(const Argument& argument, double wanted) {
  const auto* number = std::get_if<Number>(&argument);
  if (number == nullptr) return false;
  return visit(number->dtype, [&]<class T>(T value) {
    std::memcpy(&value, number->bytes.data(), sizeof value);
    if constexpr (std::is_same_v<T, bool>) {
      return false;
    } else if constexpr (std::is_convertible_v<T, double>) {
      const auto found = static_cast<double>(value);
      return found == wanted && std::signbit(found) == std::signbit(wanted);
    } else {
      return false;
    }
  });
}

// Whether `to` can represent every number of `from`.
bool holds(DType to, DType from) {
  static const std::set<std::pair<DType, DType>> wider = {
      {DType::F64, DType::F32}, {DType::F64, DType::F16},  {DType::F64, DType::BF16},
      {DType::F32, DType::F16}, {DType::F32, DType::BF16}, {DType::I64, DType::I32},
      {DType::I64, DType::I16}, {DType::I64, DType::I8},   {DType::I64, DType::U8},
      {DType::I64, DType::U16}, {DType::I64, DType::U32},  {DType::I32, DType::I16},
      {DType::I32, DType::I8},  {DType::I32, DType::U8},   {DType::I32, DType::U16},
      {DType::F64, DType::I32}, {DType::F64, DType::I16},  {DType::F64, DType::I8},
      {DType::F64, DType::U8},  {DType::F32, DType::I16},  {DType::F32, DType::I8},
      {DType::F32, DType::U8}};
  return wider.contains({to, from});
}

class Simplifier {
 public:
  explicit Simplifier(Graph& graph) : graph_(graph), values_(graph), moved_(graph.buffers.size()) {}

  void run() {
    for (Node& node : graph_.nodes) {
      each_view_of(node, [&](View& view) { follow(view); });
      if (node.op == nullptr || node.results.size() != 1 || !node.loop) continue;
      if (const View* x = same_as(node)) replace(node.results[0], *x);
    }
    drop_dead(graph_);
  }

 private:
  void follow(View& view) const {
    const auto& moved = moved_[view.buffer];
    if (!moved) return;
    view.offset += moved->offset;
    view.buffer = moved->buffer;
  }

  // The operand that equals the result element by element; NULL if there is none.
  const View* same_as(const Node& node) const {
    using names = arg::add;  // of every op with one operand or two
    const std::string_view op = node.name();
    const auto* x = std::get_if<View>(&node.args[names::x]);
    const auto* y = node.args.size() > names::y ? std::get_if<View>(&node.args[names::y]) : nullptr;
    if (op == "clone" || op == "contiguous") return x;
    if (op == "mul" && y != nullptr && is_real(y->dtype) && is_number(node.args[names::x], 1))
      return y;
    if (op == "add" && y != nullptr && is_real(y->dtype) &&
        is_number(node.args[names::x], zero_of(*y)))
      return y;
    if (op == "where") return same_choices(node);
    if (x == nullptr || !is_real(x->dtype)) return nullptr;
    if (op == "mul" || op == "div") return is_number(node.args[names::y], 1) ? x : nullptr;
    if (op == "add") return is_number(node.args[names::y], zero_of(*x)) ? x : nullptr;
    if (op == "sub") return is_number(node.args[names::y], 0) ? x : nullptr;
    if (op == "conj" || op == "real") return x;
    static const std::set<std::string_view> settled = {"relu",  "abs",   "floor", "ceil",
                                                       "round", "trunc", "sign"};
    const Node* before = maker(*x);
    if (before == nullptr) return nullptr;
    const auto* earlier = std::get_if<View>(&before->args[names::x]);
    if (settled.contains(op) && before->op == node.op) return x;
    if (op == "neg" && before->op == node.op) return earlier;
    const bool back = op == "cast" && before->op == node.op && earlier != nullptr &&
                      earlier->dtype == node.results[0].dtype && holds(x->dtype, earlier->dtype);
    return back ? earlier : nullptr;
  }

  // The number whose addition changes nothing: -0 for floats, because +0 turns -0 into 0.
  static double zero_of(const View& x) { return is_floating(x.dtype) ? -0.0 : 0.0; }

  static const View* same_choices(const Node& node) {
    const auto* x = std::get_if<View>(&node.args[arg::where::x]);
    const auto* y = std::get_if<View>(&node.args[arg::where::y]);
    const bool same = x != nullptr && y != nullptr && x->buffer == y->buffer &&
                      x->offset == y->offset && x->shape == y->shape && x->strides == y->strides;
    return same ? x : nullptr;
  }

  // The node that made exactly what the view shows, in the same layout.
  const Node* maker(const View& view) const {
    if (!values_.is_value(view.buffer) || values_.maker(view.buffer) == UINT32_MAX) return nullptr;
    const Node& node = graph_.nodes[values_.maker(view.buffer)];
    const bool same = node.results.size() == 1 && node.results[0].offset == view.offset &&
                      node.results[0].shape == view.shape &&
                      node.results[0].strides == view.strides;
    return same && node.op != nullptr ? &node : nullptr;
  }

  void replace(const View& result, const View& x) {
    if (!graph_.shows_all(result) || !x.contiguous() || x.shape != result.shape ||
        x.dtype != result.dtype || !values_.replaceable(result.buffer) ||
        !values_.is_value(x.buffer))
      return;
    moved_[result.buffer] = {x.buffer, x.offset};
  }

  struct Moved {
    uint32_t buffer;
    int64_t offset;
  };
  Graph& graph_;
  const ValueMap values_;
  std::vector<std::optional<Moved>> moved_;  // by buffer
};

}  // namespace

void simplify(Graph& graph) { Simplifier(graph).run(); }

}  // namespace tenon::graph
