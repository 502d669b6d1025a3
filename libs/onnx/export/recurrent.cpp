// Recurrent layers.
#include "export/table.hpp"
#include "tenon/creation.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

// Reorders four gates from i, f, g, o to ONNX's i, o, f, g.
std::string ordered(Emitter& out, const std::string& name, int64_t width) {
  Ints order;
  for (const int64_t gate : {0, 3, 1, 2})
    for (int64_t i = 0; i < width; ++i) order.push_back(gate * width + i);
  return out.node("Gather", {name, out.ints(order)}, {{"axis", int64_t{0}}});
}

// Our op takes the product of input and weight; ONNX's takes both. If no linear layer makes the product, the weight is the identity.
void lstm(Emitter& out, const RecordedCall& call) {
  const RecordedView x = call.view("x"), c = call.results[1];
  const int64_t steps = x.shape[0], width = x.shape[2] / 4;
  if (out.used(call.results[2])) throw Error(TN_UNIMPLEMENTED, "[onnx.export] the gates of lstm");
  const bool backward = call.flag("reverse");
  const int64_t last = (backward ? 0 : steps - 1) * x.shape[1] * width;
  if (!out.read_within(c.buffer, last, last + x.shape[1] * width))
    throw Error(TN_UNIMPLEMENTED, "[onnx.export] cells of lstm at other steps than the last");
  const auto first = [&](const std::string& name) {
    return out.node("Unsqueeze", {name, out.ints({0})});
  };
  const RecordedCall* const product = out.joined(x);
  std::string input, weight, bias;
  if (product != nullptr) {
    input = out.input(*product, "x");
    weight = out.input(*product, "weight");
    if (product->has("bias"))
      bias = first(out.node("Concat",
                            {ordered(out, out.input(*product, "bias"), width),
                             out.weight(zeros({4 * width}, x.dtype, Device("cpu")))},
                            {{"axis", int64_t{0}}}));
  } else {
    input = out.value(x);
    weight = out.weight(eye(4 * width).to(x.dtype));
  }
  const Names inputs = {input,
                        first(ordered(out, weight, width)),
                        first(ordered(out, out.input(call, "weight"), width)),
                        bias,
                        "",
                        first(out.input(call, "h0")),
                        first(out.input(call, "c0"))};
  const Names made = out.nodes(
      "LSTM", inputs,
      {{"hidden_size", width}, {"direction", std::string(backward ? "reverse" : "forward")}}, 3);
  out.hold(call.results[0], out.node("Squeeze", {made[0], out.ints({1})}));
  // Only the last step's cell state can be read.
  if (out.used(c)) out.hold(c, out.node("Expand", {made[2], out.ints(c.shape)}));
}

}  // namespace

void add_recurrent(std::map<std::string, Emit>& table) { table["lstm"] = lstm; }

}  // namespace tenon::onnx
