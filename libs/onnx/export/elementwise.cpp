// Elementwise ops: those with an ONNX counterpart, and those that take a few nodes.
#include <numbers>

#include "export/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {
namespace {

struct Plain {
  const char *ours, *theirs;
};
constexpr Plain kUnary[] = {{"neg", "Neg"},
                            {"abs", "Abs"},
                            {"sign", "Sign"},
                            {"floor", "Floor"},
                            {"ceil", "Ceil"},
                            {"round", "Round"},
                            {"reciprocal", "Reciprocal"},
                            {"exp", "Exp"},
                            {"log", "Log"},
                            {"sqrt", "Sqrt"},
                            {"sin", "Sin"},
                            {"cos", "Cos"},
                            {"tan", "Tan"},
                            {"asin", "Asin"},
                            {"acos", "Acos"},
                            {"atan", "Atan"},
                            {"sinh", "Sinh"},
                            {"cosh", "Cosh"},
                            {"tanh", "Tanh"},
                            {"asinh", "Asinh"},
                            {"acosh", "Acosh"},
                            {"atanh", "Atanh"},
                            {"erf", "Erf"},
                            {"isnan", "IsNaN"},
                            {"isinf", "IsInf"},
                            {"relu", "Relu"},
                            {"selu", "Selu"},
                            {"sigmoid", "Sigmoid"}};
constexpr Plain kBinary[] = {{"add", "Add"},         {"sub", "Sub"},
                             {"mul", "Mul"},         {"div", "Div"},
                             {"pow", "Pow"},         {"maximum", "Max"},
                             {"minimum", "Min"},     {"equal", "Equal"},
                             {"less", "Less"},       {"less_equal", "LessOrEqual"},
                             {"greater", "Greater"}, {"greater_equal", "GreaterOrEqual"}};
// Counterparts that take bools and integers.
struct Logical {
  const char *ours, *of_bools, *of_integers;
};
constexpr Logical kLogical[] = {
    {"bitwise_and", "And", "BitwiseAnd"}, {"bitwise_or", "Or", "BitwiseOr"},
    {"bitwise_xor", "Xor", "BitwiseXor"}, {"logical_and", "And", nullptr},
    {"logical_or", "Or", nullptr},        {"logical_xor", "Xor", nullptr}};

// The dtype of the computation: the tensor operand's.
DType dtype_of_operands(const RecordedCall& call) {
  return call.view(call.is_view("x") ? "x" : "y").dtype;
}

void unary(Emitter& out, const RecordedCall& call) {
  for (const Plain& one : kUnary)
    if (call.op == one.ours) return out.give(call, out.node(one.theirs, {out.input(call, "x")}));
}

void binary(Emitter& out, const RecordedCall& call) {
  const DType dtype = dtype_of_operands(call);
  const std::string x = out.operand(call, "x", dtype, true),
                    y = out.operand(call, "y", dtype, true);
  std::string op;
  for (const Plain& one : kBinary)
    if (call.op == one.ours) op = one.theirs;
  if (dtype == DType::Bool)
    op = op == "Add" || op == "Max" ? "Or" : op == "Mul" || op == "Min" ? "And" : op;
  // If two numbers repeat alike, the result must be expanded to its recorded shape.
  const std::string made = out.node(op.c_str(), {x, y});
  out.give(call, out.expanded(made, call, {"x", "y"}));
}

void not_equal(Emitter& out, const RecordedCall& call) {
  const DType dtype = dtype_of_operands(call);
  out.give(call, out.node("Not", {out.node("Equal", {out.operand(call, "x", dtype),
                                                     out.operand(call, "y", dtype)})}));
}

std::string as_bool(Emitter& out, const RecordedCall& call, const std::string& name) {
  std::string x = out.operand(call, name, DType::Bool);
  if (!call.is_view(name) || call.view(name).dtype == DType::Bool) return x;
  return out.node("Cast", {x}, {{"to", static_cast<int64_t>(Type::Bool)}});
}

void logical(Emitter& out, const RecordedCall& call) {
  for (const Logical& one : kLogical) {
    if (call.op != one.ours) continue;
    const DType dtype = dtype_of_operands(call);
    if (dtype != DType::Bool && one.of_integers != nullptr)
      return out.give(call, out.node(one.of_integers, {out.operand(call, "x", dtype),
                                                       out.operand(call, "y", dtype)}));
    return out.give(call,
                    out.node(one.of_bools, {as_bool(out, call, "x"), as_bool(out, call, "y")}));
  }
}

void logical_not(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("Not", {as_bool(out, call, "x")}));
}

void bitwise_not(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node(call.view("x").dtype == DType::Bool ? "Not" : "BitwiseNot",
                          {out.input(call, "x")}));
}

// Helpers for formulas; numbers get the operand's dtype.
struct Formula {
  Emitter& out;
  DType dtype;
  std::string number(double value) const { return out.number(value, dtype); }
  std::string add(const std::string& x, const std::string& y) const {
    return out.node("Add", {x, y});
  }
  std::string mul(const std::string& x, const std::string& y) const {
    return out.node("Mul", {x, y});
  }
  std::string mul(const std::string& x, double y) const { return out.node("Mul", {x, number(y)}); }
};

std::string gelu(const Formula& f, const std::string& x, bool by_tanh) {
  if (!by_tanh)
    return f.mul(f.mul(x, 0.5),
                 f.add(f.out.node("Erf", {f.mul(x, std::numbers::sqrt2 / 2)}), f.number(1)));
  const std::string cube = f.mul(f.mul(x, x), x);
  const std::string inner =
      f.mul(f.add(x, f.mul(cube, 0.044715)), std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return f.mul(f.mul(x, 0.5), f.add(f.out.node("Tanh", {inner}), f.number(1)));
}

}  // namespace

std::string activated(Emitter& out, DType dtype, const std::string& x, const std::string& name) {
  const Formula f{out, dtype};
  if (name == "none") return x;
  if (name == "relu") return out.node("Relu", {x});
  if (name == "sigmoid") return out.node("Sigmoid", {x});
  if (name == "tanh") return out.node("Tanh", {x});
  if (name == "silu") return f.mul(x, out.node("Sigmoid", {x}));
  if (name == "gelu" || name == "gelu_tanh") return gelu(f, x, name == "gelu_tanh");
  throw Error(TN_UNIMPLEMENTED, "[onnx.export] activation " + name);
}

namespace {

void formula(Emitter& out, const RecordedCall& call) {
  const Formula f{out, call.view("x").dtype};
  const std::string x = out.input(call, "x");
  const std::string& op = call.op;
  std::string y;
  if (op == "square")
    y = f.mul(x, x);
  else if (op == "rsqrt")
    y = out.node("Reciprocal", {out.node("Sqrt", {x})});
  else if (op == "silu")
    y = activated(out, f.dtype, x, "silu");
  else if (op == "gelu")
    y = gelu(f, x, call.text("approximate") == "tanh");
  else if (op == "expm1")
    y = out.node("Sub", {out.node("Exp", {x}), f.number(1)});
  else if (op == "log1p")
    y = out.node("Log", {f.add(x, f.number(1))});
  else if (op == "exp2")
    y = out.node("Pow", {f.number(2), x});
  else if (op == "log2")
    y = f.mul(out.node("Log", {x}), std::numbers::log2e);
  else if (op == "log10")
    y = f.mul(out.node("Log", {x}), std::numbers::log10e);
  else if (op == "erfc")
    y = out.node("Sub", {f.number(1), out.node("Erf", {x})});
  else if (op == "isfinite")
    y = out.node("Not", {out.node("Or", {out.node("IsNaN", {x}), out.node("IsInf", {x})})});
  else if (op == "trunc")
    y = f.mul(out.node("Sign", {x}), out.node("Floor", {out.node("Abs", {x})}));
  else if (op == "elu")
    y = out.node("Elu", {x}, {{"alpha", call.number("alpha")}});
  else if (op == "leaky_relu")
    y = out.node("LeakyRelu", {x}, {{"alpha", call.number("slope")}});
  else if (op == "hardsigmoid")
    y = out.node("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  else if (op == "hardswish")
    y = out.node("HardSwish", {x});
  else if (op == "softplus") {
    const double beta = call.number("beta");
    y = beta == 1 ? out.node("Softplus", {x})
                  : f.mul(out.node("Softplus", {f.mul(x, beta)}), 1 / beta);
  }
  out.give(call, y);
}

void remainder(Emitter& out, const RecordedCall& call) {
  const DType dtype = dtype_of_operands(call);
  const std::string x = out.operand(call, "x", dtype), y = out.operand(call, "y", dtype);
  if (!is_floating(dtype)) return out.give(call, out.node("Mod", {x, y}));
  const std::string whole = out.node("Floor", {out.node("Div", {x, y})});
  out.give(call, out.node("Sub", {x, out.node("Mul", {whole, y})}));
}

void floor_divide(Emitter& out, const RecordedCall& call) {
  const DType dtype = dtype_of_operands(call);
  const std::string x = out.operand(call, "x", dtype), y = out.operand(call, "y", dtype);
  // For integers the remainder is subtracted first, so that the division is exact.
  if (!is_floating(dtype))
    return out.give(call, out.node("Div", {out.node("Sub", {x, out.node("Mod", {x, y})}), y}));
  out.give(call, out.node("Floor", {out.node("Div", {x, y})}));
}

void where(Emitter& out, const RecordedCall& call) {
  const DType dtype = call.results[0].dtype;
  const std::string made =
      out.node("Where", {out.value(call.view("condition"), true),
                         out.operand(call, "x", dtype, true), out.operand(call, "y", dtype, true)});
  out.give(call, out.expanded(made, call, {"condition", "x", "y"}));
}

void clamp(Emitter& out, const RecordedCall& call) {
  const DType dtype = call.view("x").dtype;
  const auto bound = [&](const char* name) {
    return call.has(name) ? out.number(call.number(name), dtype) : std::string();
  };
  out.give(call, out.node("Clip", {out.input(call, "x"), bound("min"), bound("max")}));
}

void cast(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("Cast", {out.input(call, "x")},
                          {{"to", static_cast<int64_t>(type_of_dtype(call.results[0].dtype))}}));
}

// The elements are the same, so the value just gets another name.
void same(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("Identity", {out.input(call, "x")}));
}

}  // namespace

void add_elementwise(std::map<std::string, Emit>& table) {
  for (const Plain& one : kUnary) table[one.ours] = unary;
  for (const Plain& one : kBinary) table[one.ours] = binary;
  for (const Logical& one : kLogical) table[one.ours] = logical;
  for (const char* op :
       {"square", "rsqrt", "silu", "gelu", "expm1", "log1p", "exp2", "log2", "log10", "erfc",
        "isfinite", "trunc", "elu", "leaky_relu", "hardsigmoid", "hardswish", "softplus"})
    table[op] = formula;
  table["clone"] = same;
  table["not_equal"] = not_equal;
  table["logical_not"] = logical_not;
  table["bitwise_not"] = bitwise_not;
  table["remainder"] = remainder;
  table["floor_divide"] = floor_divide;
  table["where"] = where;
  table["clamp"] = clamp;
  table["cast"] = cast;
}

}  // namespace tenon::onnx
