// Control flow: bodies are inner graphs. Values of the outer graph keep their names in them.
#include "export/table.hpp"
#include "model/files.hpp"
#include "tenon/creation.hpp"

namespace tenon::onnx {
namespace {

Names values_of(Emitter& out, const RecordedCall& call, size_t from, size_t count) {
  Names names;
  for (size_t i = from; i < from + count; ++i) names.push_back(out.value(call.operands[i]));
  return names;
}

// All operands after `from`: whole buffers that the bodies may read.
Names captures_of(Emitter& out, const RecordedCall& call, size_t from) {
  return values_of(out, call, from, call.operands.size() - from);
}

Names joined(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

std::string as_bool(Emitter& out, const std::string& flag, const RecordedView& of) {
  if (of.dtype == DType::Bool) return flag;
  return out.node("Cast", {flag}, {{"to", static_cast<int64_t>(Type::Bool)}});
}

// A graph as an attribute of a node.
class Subgraph {
 public:
  explicit Subgraph(Emitter& outer) : outer_(outer) {}
  std::string input(DType dtype, const std::vector<int64_t>& shape) {
    std::string name = outer_.fresh("in");
    graph_.message(11, outer_.inner_port(name, dtype, shape));
    return name;
  }
  Names inputs(const Recorded& body, size_t count) {
    Names names;
    for (size_t i = 0; i < count; ++i)
      names.push_back(input(body.inputs[i].dtype, body.inputs[i].shape));
    return names;
  }
  // ONNX requires that a graph's result is made in that graph.
  void result(const std::string& value, DType dtype, const std::vector<int64_t>& shape) {
    const std::string name = outer_.fresh("out");
    graph_.message(1, Writer().bytes(1, value).bytes(2, name).bytes(3, name).bytes(4, "Identity"));
    graph_.message(12, outer_.inner_port(name, dtype, shape));
  }
  void results(const Recorded& body, const Names& values) {
    for (size_t i = 0; i < values.size(); ++i)
      result(values[i], body.results[i].dtype, body.results[i].shape);
  }
  Writer& nodes() { return graph_; }
  Attribute finish(const char* name) { return graph_.bytes(2, name); }

 private:
  Emitter& outer_;
  Writer graph_;
};

void give_all(Emitter& out, const RecordedCall& call, const Names& names) {
  for (size_t i = 0; i < names.size(); ++i) out.hold(call.results[i], names[i]);
}

void cond(Emitter& out, const RecordedCall& call) {
  const Names flag = values_of(out, call, 0, 1), captures = captures_of(out, call, 1);
  Attributes branches;
  for (size_t i = 0; i < 2; ++i) {
    const char* const name = i == 0 ? "then_branch" : "else_branch";
    Subgraph graph(out);
    graph.results(call.bodies[i], Emitter(out, call.bodies[i], graph.nodes()).run(captures));
    branches.emplace_back(name, graph.finish(name));
  }
  give_all(
      out, call,
      out.nodes("If", {as_bool(out, flag[0], call.operands[0])}, branches, call.results.size()));
}

// ONNX decides at the end of an iteration whether to go on; our condition is also checked before the first.
void loop(Emitter& out, const RecordedCall& call) {
  const Recorded &condition = call.bodies[0], &turn = call.bodies[1];
  const Names state = values_of(out, call, 0, call.carried),
              captures = captures_of(out, call, call.carried);
  const auto holds = [&](Emitter& in, Writer& to, const Names& carried) {
    Emitter inner(in, condition, to);
    const std::string flag = inner.run(joined(carried, captures))[0];
    return inner.node("Reshape", {as_bool(inner, flag, condition.results[0]), inner.ints({})});
  };
  Subgraph graph(out);
  graph.input(DType::I64, {});  // the iteration number
  graph.input(DType::Bool, {});
  const Names carried = graph.inputs(turn, call.carried);
  Emitter inner(out, turn, graph.nodes());
  const Names next = inner.run(joined(carried, captures));
  graph.result(holds(inner, graph.nodes(), next), DType::Bool, {});
  graph.results(turn, next);
  const std::string begins = holds(out, out.graph(), state);
  give_all(out, call,
           out.nodes("Loop", joined({"", begins}, state), {{"body", graph.finish("body")}},
                     call.results.size()));
}

void scan(Emitter& out, const RecordedCall& call) {
  const size_t given = call.carried + call.scanned;
  const Names operands = values_of(out, call, 0, given), captures = captures_of(out, call, given);
  Subgraph graph(out);
  const Names inputs = graph.inputs(call.bodies[0], given);
  graph.results(call.bodies[0],
                Emitter(out, call.bodies[0], graph.nodes()).run(joined(inputs, captures)));
  give_all(out, call,
           out.nodes("Scan", operands,
                     {{"body", graph.finish("body")},
                      {"num_scan_inputs", static_cast<int64_t>(call.scanned)}},
                     call.results.size()));
}

// Running products, for which opsets before 26 have no op: a scan that multiplies.
void cumprod(Emitter& out, const RecordedCall& call) {
  const RecordedView& y = call.results[0];
  const RecordedView x = call.view("x");
  std::string given = out.value(x);
  if (x.dtype != y.dtype)
    given = out.node("Cast", {given}, {{"to", static_cast<int64_t>(type_of_dtype(y.dtype))}});
  if (y.shape.empty()) return out.give(call, given);
  const auto rank = static_cast<int64_t>(y.shape.size());
  const int64_t dim = (call.integer("dim") + rank) % rank;
  std::vector<int64_t> slice = y.shape;
  slice.erase(slice.begin() + dim);
  Subgraph graph(out);
  const std::string total = graph.input(y.dtype, slice), one = graph.input(y.dtype, slice),
                    next = out.fresh("Mul");
  graph.nodes().message(
      1, Writer().bytes(1, total).bytes(1, one).bytes(2, next).bytes(3, next).bytes(4, "Mul"));
  for (int i = 0; i < 2; ++i) graph.result(next, y.dtype, slice);
  const std::string begins = out.node("Expand", {out.number(1, y.dtype), out.ints(slice)});
  const std::vector<int64_t> along = {dim};
  out.give(call, out.nodes("Scan", {begins, given},
                           {{"body", graph.finish("body")},
                            {"num_scan_inputs", int64_t{1}},
                            {"scan_input_axes", along},
                            {"scan_output_axes", along}},
                           2)[1]);
}

// Running maxima or minima and their places: a scan that takes an entry if it is no less than the one so far, or not a number.
void running_extreme(Emitter& out, const RecordedCall& call) {
  const RecordedView x = call.view("x");
  if (x.shape.empty()) {
    out.hold(call.results[0], out.value(x));
    return out.hold(call.results[1], out.node("Expand", {out.number(0, DType::I64), out.ints({})}));
  }
  const auto rank = static_cast<int64_t>(x.shape.size());
  const int64_t dim = (call.integer("dim") + rank) % rank;
  std::vector<int64_t> slice = x.shape;
  slice.erase(slice.begin() + dim);
  Subgraph graph(out);
  const std::string best = graph.input(x.dtype, slice), place = graph.input(DType::I64, slice),
                    one = graph.input(x.dtype, slice), at = graph.input(DType::I64, {});
  const auto node = [&](const char* op, const Names& inputs) {
    Writer made;
    for (const std::string& input : inputs) made.bytes(1, input);
    std::string result = out.fresh(op);
    graph.nodes().message(1, made.bytes(2, result).bytes(3, result).bytes(4, op));
    return result;
  };
  std::string taken = node(call.op == "cummax" ? "GreaterOrEqual" : "LessOrEqual", {one, best});
  if (is_floating(x.dtype)) taken = node("Or", {taken, node("IsNaN", {one})});
  const std::string value = node("Where", {taken, one, best}),
                    index = node("Where", {taken, at, place});
  for (int i = 0; i < 2; ++i) {
    graph.result(value, x.dtype, slice);
    graph.result(index, DType::I64, slice);
  }
  const std::string given = out.value(x);
  const std::string first =
      out.node("Gather", {given, out.weight(tensor(int64_t{0}))}, {{"axis", dim}});
  const std::string zero = out.node("Expand", {out.number(0, DType::I64), out.ints(slice)});
  const std::string places = out.range(x.shape[static_cast<size_t>(dim)]);
  const std::vector<int64_t> in_axes = {dim, 0}, out_axes = {dim, dim};
  const Names made = out.nodes("Scan", {first, zero, given, places},
                               {{"body", graph.finish("body")},
                                {"num_scan_inputs", int64_t{2}},
                                {"scan_input_axes", in_axes},
                                {"scan_output_axes", out_axes}},
                               4);
  out.hold(call.results[0], made[2]);
  out.hold(call.results[1], made[3]);
}

}  // namespace

void add_control(std::map<std::string, Emit>& table) {
  table["cond"] = cond;
  table["cumprod"] = cumprod;
  table["cummax"] = table["cummin"] = running_extreme;
  table["loop"] = loop;
  table["scan"] = scan;
}

}  // namespace tenon::onnx
