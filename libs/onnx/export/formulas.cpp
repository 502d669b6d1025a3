// Ops without an ONNX counterpart, written as the nodes of their formulas.
#include <limits>

#include "export/table.hpp"

namespace tenon::onnx {
namespace {

// A call whose operands are computed in one dtype, that of the result.
struct Terms {
  Emitter& out;
  const RecordedCall& call;
  const DType dtype = call.results[0].dtype;

  std::string operand(const char* name) const { return out.operand(call, name, dtype, true); }
  std::string number(double value) const { return out.number(value, dtype); }
  std::string attribute(const char* name) const { return number(call.number(name)); }
  // All operands may be smaller than the result that they broadcast to.
  void give(const std::string& made, const Names& operands) const {
    out.give(call, out.expanded(made, call, operands));
  }
};

void lerp(Emitter& out, const RecordedCall& call) {
  const Terms t{out, call};
  const std::string x = t.operand("x");
  const std::string way = out.node("Sub", {t.operand("y"), x});
  t.give(out.node("Add", {x, out.node("Mul", {t.operand("weight"), way})}), {"x", "y", "weight"});
}

void addc(Emitter& out, const RecordedCall& call) {
  const Terms t{out, call};
  std::string term =
      out.node(call.op == "addcmul" ? "Mul" : "Div", {t.operand("y"), t.operand("z")});
  if (call.number("value") != 1) term = out.node("Mul", {term, t.attribute("value")});
  t.give(out.node("Add", {t.operand("x"), term}), {"x", "y", "z"});
}

void prelu(Emitter& out, const RecordedCall& call) {
  const Terms t{out, call};
  const std::string x = t.operand("x");
  const std::string below = out.node("Mul", {x, t.operand("weight")});
  const std::string above = out.node("Greater", {x, t.number(0)});
  t.give(out.node("Where", {above, x, below}), {"x", "weight"});
}

void where_between(Emitter& out, const RecordedCall& call) {
  const Terms t{out, call};
  const std::string x = t.operand("x");
  const std::string within = out.node("And", {out.node("GreaterOrEqual", {x, t.attribute("low")}),
                                              out.node("LessOrEqual", {x, t.attribute("high")})});
  t.give(out.node("Where", {within, t.operand("inside"), t.operand("outside")}),
         {"x", "inside", "outside"});
}

void shrink(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("Shrink", {out.input(call, "x")},
                          {{"bias", call.number("bias")}, {"lambd", call.number("lambd")}}));
}

void nan_to_num(Emitter& out, const RecordedCall& call) {
  const Terms t{out, call};
  const std::string x = out.input(call, "x");
  const double infinity = std::numeric_limits<double>::infinity();
  const auto replaced = [&](const std::string& where, double by, const std::string& rest) {
    return out.node("Where", {where, t.number(by), rest});
  };
  std::string y = replaced(out.node("Equal", {x, t.number(infinity)}), call.number("posinf"), x);
  y = replaced(out.node("Equal", {x, t.number(-infinity)}), call.number("neginf"), y);
  out.give(call, replaced(out.node("IsNaN", {x}), call.number("nan"), y));
}

void frac(Emitter& out, const RecordedCall& call) {
  const Terms t{out, call};
  const std::string x = t.operand("x");
  const std::string whole =
      out.node("Mul", {out.node("Sign", {x}), out.node("Floor", {out.node("Abs", {x})})});
  out.give(call, out.node("Sub", {x, whole}));
}

void sigmoid_gate(Emitter& out, const RecordedCall& call) {
  const Terms t{out, call};
  const std::string gate = out.node("Sigmoid", {t.operand("gate")});
  t.give(out.node("Mul", {t.operand("x"), gate}), {"x", "gate"});
}

void give_loss(Emitter& out, const RecordedCall& call, const std::string& loss) {
  const std::string reduction = call.text("reduction");
  if (reduction == "none") return out.give(call, loss);
  out.give(call, out.node(reduction == "sum" ? "ReduceSum" : "ReduceMean", {loss},
                          {{"keepdims", int64_t{0}}}));
}

// Losses of the difference of two operands. `bend`: where two of them change from curved to straight.
void pair_loss(Emitter& out, const RecordedCall& call) {
  const Terms t{out, call};
  const std::string d = out.node("Sub", {out.input(call, "x"), out.input(call, "target")});
  std::string loss = call.op == "l1_loss" ? out.node("Abs", {d}) : out.node("Mul", {d, d});
  if (call.op == "smooth_l1_loss" || call.op == "huber_loss") {
    const bool huber = call.op == "huber_loss";
    const double bend = call.number(huber ? "delta" : "beta"), slope = huber ? bend : 1;
    const std::string size = out.node("Abs", {d});
    const std::string small = out.node("Mul", {loss, t.number(0.5 * slope / bend)});
    const std::string large =
        out.node("Mul", {out.node("Sub", {size, t.number(0.5 * bend)}), t.number(slope)});
    loss = out.node("Where", {out.node("Less", {size, t.number(bend)}), small, large});
  }
  give_loss(out, call, loss);
}

// Logarithms are clamped to at least -100.
void bce_loss(Emitter& out, const RecordedCall& call) {
  const Terms t{out, call};
  const std::string x = t.operand("x"), target = t.operand("target");
  const auto term = [&](const std::string& share, const std::string& p) {
    return out.node("Mul", {share, out.node("Max", {out.node("Log", {p}), t.number(-100)})});
  };
  const auto rest = [&](const std::string& p) { return out.node("Sub", {t.number(1), p}); };
  const std::string agreement = out.node("Add", {term(target, x), term(rest(target), rest(x))});
  std::string loss = out.node("Neg", {agreement});
  if (call.has("weight")) loss = out.node("Mul", {loss, t.operand("weight")});
  give_loss(out, call, loss);
}

}  // namespace

void add_formulas(std::map<std::string, Emit>& table) {
  table["lerp"] = lerp;
  table["addcmul"] = table["addcdiv"] = addc;
  table["prelu"] = prelu;
  table["where_between"] = where_between;
  table["shrink"] = shrink;
  table["frac"] = frac;
  table["sigmoid_gate"] = sigmoid_gate;
  table["nan_to_num"] = nan_to_num;
  table["bce_loss"] = bce_loss;
  table["mse_loss"] = table["l1_loss"] = table["smooth_l1_loss"] = table["huber_loss"] = pair_loss;
}

}  // namespace tenon::onnx
