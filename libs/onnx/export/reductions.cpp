#include <numeric>

#include "export/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

Ints dims_of(const RecordedCall& call) {
  if (call.has("dims")) return call.ints("dims");
  Ints all(call.view("x").shape.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string as(Emitter& out, const std::string& x, DType from, DType to) {
  return from == to ? x : out.node("Cast", {x}, {{"to", static_cast<int64_t>(type_of_dtype(to))}});
}

std::string reduced(Emitter& out, const char* op, const std::string& x, const RecordedCall& call,
                    bool keep) {
  return out.node(op, {x, out.ints(dims_of(call))}, {{"keepdims", int64_t{keep}}});
}

// In the result's dtype.
template <const char* kOp>
void reduce(Emitter& out, const RecordedCall& call) {
  const std::string x = as(out, out.input(call, "x"), call.view("x").dtype, call.results[0].dtype);
  out.give(call, reduced(out, kOp, x, call, call.flag("keepdim")));
}
constexpr char kSum[] = "ReduceSum", kMean[] = "ReduceMean", kProd[] = "ReduceProd",
               kMax[] = "ReduceMax", kMin[] = "ReduceMin", kLogSumExp[] = "ReduceLogSumExp";

// Reduces INT32 flags that say whether elements are not 0.
void truth(Emitter& out, const RecordedCall& call) {
  const DType dtype = call.view("x").dtype;
  const std::string holds =
      as(out, as(out, out.input(call, "x"), dtype, DType::Bool), DType::Bool, DType::I32);
  const char* op = call.op == "any" ? "ReduceMax" : "ReduceMin";
  out.give(call, as(out, reduced(out, op, holds, call, call.flag("keepdim")), DType::I32,
                    call.results[0].dtype));
}

void count_nonzero(Emitter& out, const RecordedCall& call) {
  const std::string holds = as(out, out.input(call, "x"), call.view("x").dtype, DType::Bool);
  out.give(call, reduced(out, "ReduceSum", as(out, holds, DType::Bool, DType::I64), call,
                         call.flag("keepdim")));
}

void nansum(Emitter& out, const RecordedCall& call) {
  const DType dtype = call.results[0].dtype;
  std::string x = as(out, out.input(call, "x"), call.view("x").dtype, dtype);
  if (is_floating(dtype)) x = out.node("Where", {out.node("IsNaN", {x}), out.number(0, dtype), x});
  out.give(call, reduced(out, "ReduceSum", x, call, call.flag("keepdim")));
}

void norm(Emitter& out, const RecordedCall& call) {
  const double p = call.number("p");
  const std::string x = out.input(call, "x");
  const bool keep = call.flag("keepdim");
  if (p == 1 || p == 2)
    return out.give(call, reduced(out, p == 1 ? "ReduceL1" : "ReduceL2", x, call, keep));
  if (!std::isfinite(p) || p == 0)
    throw Error(TN_UNIMPLEMENTED, "[onnx.export] a norm of that order");
  const DType dtype = call.view("x").dtype;
  const std::string powers = out.node("Pow", {out.node("Abs", {x}), out.number(p, dtype)});
  out.give(call, out.node("Pow", {reduced(out, "ReduceSum", powers, call, keep),
                                  out.number(1 / p, dtype)}));
}

void variance(Emitter& out, const RecordedCall& call) {
  const RecordedView view = call.view("x");
  const std::string x = out.input(call, "x");
  double n = 1;
  for (const int64_t d : dims_of(call))
    n *= static_cast<double>(
        view.shape[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(view.shape.size()) : d)]);
  const std::string centred = out.node("Sub", {x, reduced(out, "ReduceMean", x, call, true)});
  std::string y = reduced(out, "ReduceSumSquare", centred, call, call.flag("keepdim"));
  y = out.node("Mul", {y, out.number(1 / (n - call.number("correction")), view.dtype)});
  out.give(call, call.op == "std" ? out.node("Sqrt", {y}) : y);
}

void position(Emitter& out, const RecordedCall& call) {
  const char* op = call.op == "argmax" ? "ArgMax" : "ArgMin";
  std::string x = out.input(call, "x");
  const bool flat = !call.has("dim");
  if (flat) x = out.node("Reshape", {x, out.ints({-1})});
  const std::string y = out.node(op, {x},
                                 {{"axis", flat ? int64_t{0} : call.integer("dim")},
                                  {"keepdims", int64_t{!flat && call.flag("keepdim")}}});
  out.give(call, flat ? out.node("Reshape", {y, out.ints(call.results[0].shape)}) : y);
}

void running(Emitter& out, const RecordedCall& call) {
  const std::string x = as(out, out.input(call, "x"), call.view("x").dtype, call.results[0].dtype);
  out.give(call, out.node("CumSum", {x, out.ints({call.integer("dim")})}));
}

void softmax(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node(call.op == "softmax" ? "Softmax" : "LogSoftmax", {out.input(call, "x")},
                          {{"axis", call.integer("dim")}}));
}

void ordered(Emitter& out, const RecordedCall& call) {
  const RecordedView x = call.view("x");
  const int64_t dim = call.integer("dim");
  const bool all = call.op == "sort";
  const int64_t size =
      x.shape[static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(x.shape.size()) : dim)];
  const std::string k = out.ints({all ? size : call.integer("k")});
  const bool largest = call.flag(all ? "descending" : "largest");
  const Names found =
      out.nodes("TopK", {out.value(x), k},
                {{"axis", dim}, {"largest", int64_t{largest}}, {"sorted", int64_t{1}}}, 2);
  out.hold(call.results[0], found[0]);
  out.hold(call.results[1], found[1]);
}

}  // namespace

void add_reductions(std::map<std::string, Emit>& table) {
  table["sum"] = reduce<kSum>;
  table["mean"] = reduce<kMean>;
  table["prod"] = reduce<kProd>;
  table["max"] = reduce<kMax>;
  table["min"] = reduce<kMin>;
  table["logsumexp"] = reduce<kLogSumExp>;
  table["any"] = table["all"] = truth;
  table["count_nonzero"] = count_nonzero;
  table["nansum"] = nansum;
  table["norm"] = norm;
  table["var"] = table["std"] = variance;
  table["argmax"] = table["argmin"] = position;
  table["cumsum"] = running;
  table["softmax"] = table["log_softmax"] = softmax;
  table["sort"] = table["topk"] = ordered;
}

}  // namespace tenon::onnx
