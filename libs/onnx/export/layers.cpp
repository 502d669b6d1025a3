// Products, convolutions, pooling, attention and normalisations.
#include <algorithm>
#include <cmath>

#include "export/table.hpp"
#include "tenon/creation.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

void matmul(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("MatMul", {out.input(call, "x"), out.input(call, "y")}));
}

void linear_integer(Emitter& out, const RecordedCall& call) {
  const std::string weight =
      out.node("Transpose", {out.input(call, "weight")}, {{"perm", Ints{1, 0}}});
  out.give(call, out.node("MatMulInteger", {out.input(call, "x"), weight}));
}

void linear(Emitter& out, const RecordedCall& call) {
  const RecordedView x = call.view("x");
  std::string y;
  if (x.shape.size() == 2) {
    y = out.node("Gemm", {out.value(x), out.input(call, "weight"), out.optional(call, "bias")},
                 {{"transB", int64_t{1}}});
  } else {
    RecordedView turned = call.view("weight");
    std::swap(turned.shape[0], turned.shape[1]);
    std::swap(turned.strides[0], turned.strides[1]);
    y = out.node("MatMul", {out.value(x), out.value(turned)});
    if (call.has("bias")) y = out.node("Add", {y, out.input(call, "bias")});
  }
  out.give(call, activated(out, x.dtype, y, call.text("activation")));
}

Ints twice(const Ints& padding) {
  Ints both = padding;
  both.insert(both.end(), padding.begin(), padding.end());
  return both;
}

Attributes windows_of(const RecordedCall& call) {
  const RecordedView weight = call.view("weight");
  return {{"kernel_shape", Ints(weight.shape.begin() + 2, weight.shape.end())},
          {"strides", call.ints("stride")},
          {"pads", twice(call.ints("padding"))},
          {"dilations", call.ints("dilation")},
          {"group", call.integer("groups")}};
}

void conv(Emitter& out, const RecordedCall& call) {
  const Names inputs = {out.input(call, "x"), out.input(call, "weight"),
                        out.optional(call, "bias")};
  out.give(call, out.node("Conv", inputs, windows_of(call)));
}

// A transposed convolution. The result's size determines how much padding the end gets.
void conv_backward_input(Emitter& out, const RecordedCall& call) {
  const RecordedView g = call.view("g"), weight = call.view("weight");
  const Ints shape = call.ints("shape"), stride = call.ints("stride"),
             padding = call.ints("padding"), dilation = call.ints("dilation");
  Ints more;
  for (size_t d = 0; d < stride.size(); ++d)
    more.push_back(shape[d + 2] - ((g.shape[d + 2] - 1) * stride[d] +
                                   dilation[d] * (weight.shape[d + 2] - 1) + 1 - 2 * padding[d]));
  Attributes attributes = windows_of(call);
  attributes.emplace_back("output_padding", more);
  out.give(call, out.node("ConvTranspose", {out.value(g), out.value(weight)}, attributes));
}

void max_pool(Emitter& out, const RecordedCall& call) {
  const RecordedView x = call.view("x");
  const Attributes attributes = {{"kernel_shape", call.ints("kernel")},
                                 {"strides", call.ints(call.has("stride") ? "stride" : "kernel")},
                                 {"pads", twice(call.ints("padding"))},
                                 {"dilations", call.ints("dilation")},
                                 {"ceil_mode", int64_t{call.flag("ceil_mode")}}};
  if (!out.used(call.results[1]))
    return out.give(call, out.node("MaxPool", {out.value(x)}, attributes));
  const Names found = out.nodes("MaxPool", {out.value(x)}, attributes, 2);
  out.hold(call.results[0], found[0]);
  int64_t plane = 1;
  for (size_t d = 2; d < x.shape.size(); ++d) plane *= x.shape[d];
  out.hold(
      call.results[1],
      out.node("Mod", {found[1], out.ints({plane})}));  // within a plane, not in the whole tensor
}

void avg_pool(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("AveragePool", {out.input(call, "x")},
                          {{"kernel_shape", call.ints("kernel")},
                           {"strides", call.ints(call.has("stride") ? "stride" : "kernel")},
                           {"pads", twice(call.ints("padding"))},
                           {"ceil_mode", int64_t{call.flag("ceil_mode")}},
                           {"count_include_pad", int64_t{call.flag("count_include_pad")}}}));
}

// Adaptive pooling with uneven or overlapping windows: pools each window separately, along one dimension.
std::string pooled_apart(Emitter& out, const std::string& x, int64_t dim, int64_t from,
                         int64_t size, const char* reduction) {
  Names parts;
  const std::string axis = out.ints({dim});
  for (int64_t i = 0; i < size; ++i) {
    const int64_t begin = i * from / size, end = ((i + 1) * from + size - 1) / size;
    const std::string part = out.node("Slice", {x, out.ints({begin}), out.ints({end}), axis});
    parts.push_back(out.node(reduction, {part, axis}, {{"keepdims", int64_t{1}}}));
  }
  return out.node("Concat", parts, {{"axis", dim}});
}

void adaptive_pool(Emitter& out, const RecordedCall& call) {
  const RecordedView x = call.view("x");
  const Ints size = call.ints("size");
  const bool mean = call.op == "adaptive_avg_pool";
  if (!mean && out.used(call.results[1]))
    throw Error(TN_UNIMPLEMENTED, "[onnx.export] positions of adaptive_max_pool");
  if (std::ranges::all_of(size, [](int64_t one) { return one == 1; }))
    return out.give(call, out.node(mean ? "GlobalAveragePool" : "GlobalMaxPool", {out.value(x)}));
  Ints kernel;
  bool even = true;
  for (size_t d = 0; d < size.size(); ++d) {
    even = even && size[d] > 0 && x.shape[d + 2] % size[d] == 0;
    if (even) kernel.push_back(x.shape[d + 2] / size[d]);
  }
  if (even)
    return out.give(call, out.node(mean ? "AveragePool" : "MaxPool", {out.value(x)},
                                   {{"kernel_shape", kernel}, {"strides", kernel}}));
  std::string y = out.value(x);
  for (size_t d = 0; d < size.size(); ++d)
    y = pooled_apart(out, y, static_cast<int64_t>(d + 2), x.shape[d + 2], size[d],
                     mean ? "ReduceMean" : "ReduceMax");
  out.give(call, y);
}

void interpolate(Emitter& out, const RecordedCall& call) {
  const std::string mode = call.text("mode");
  Attributes attributes;
  if (mode == "nearest") {
    attributes = {{"mode", std::string("nearest")},
                  {"coordinate_transformation_mode", std::string("asymmetric")},
                  {"nearest_mode", std::string("floor")}};
  } else {
    if (mode != "linear" && mode != "bilinear" && mode != "trilinear" && mode != "bicubic" &&
        mode != "cubic")
      throw Error(TN_UNIMPLEMENTED, "[onnx.export] interpolation " + mode);
    attributes = {{"mode", std::string(mode.ends_with("cubic") ? "cubic" : "linear")},
                  {"cubic_coeff_a", -0.75},
                  {"coordinate_transformation_mode",
                   std::string(call.flag("align_corners") ? "align_corners" : "half_pixel")}};
  }
  out.give(call, out.node("Resize", {out.input(call, "x"), "", "", out.ints(call.results[0].shape)},
                          attributes));
}

// softmax(scale·q·kᵀ + mask)·v of (B, H, L, E), with key heads repeated for their queries; and lse, where it is used.
std::string attended(Emitter& out, const RecordedCall& call, const RecordedView& q,
                     const RecordedView& k, const RecordedView& v) {
  const DType dtype = q.dtype;
  const double scale =
      call.has("scale") ? call.number("scale") : 1 / std::sqrt(static_cast<double>(q.shape[3]));
  const auto shared = [&](const RecordedView& of, bool turned) {
    RecordedView view = of;
    const int64_t group = q.shape[1] / of.shape[1];
    if (group > 1) {  // (B, K, group, S, E), where group repeats
      view.shape.insert(view.shape.begin() + 2, group);
      view.strides.insert(view.strides.begin() + 2, 0);
    }
    std::string name = out.value(view);
    if (group > 1)
      name = out.node("Reshape",
                      {name, out.ints({of.shape[0], q.shape[1], of.shape[2], of.shape[3]})});
    return turned ? out.node("Transpose", {name}, {{"perm", Ints{0, 1, 3, 2}}}) : name;
  };
  std::string scores = out.node(
      "Mul", {out.node("MatMul", {out.value(q), shared(k, true)}), out.number(scale, dtype)});
  if (call.has("mask")) {
    const RecordedView mask = call.view("mask");
    const std::string given = out.value(mask, true);
    scores = mask.dtype == DType::Bool
                 ? out.node("Where", {given, scores, out.number(-INFINITY, dtype)})
                 : out.node("Add", {scores, given});
  }
  if (call.flag("causal")) {
    const std::string seen = out.node(
        "LessOrEqual",
        {out.range(k.shape[2]), out.node("Unsqueeze", {out.range(q.shape[2]), out.ints({1})})});
    scores = out.node("Where", {seen, scores, out.number(-INFINITY, dtype)});
  }
  if (out.used(call.results[1]))
    out.hold(call.results[1],
             out.node("ReduceLogSumExp", {scores, out.ints({-1})}, {{"keepdims", int64_t{0}}}));
  return out.node("MatMul",
                  {out.node("Softmax", {scores}, {{"axis", int64_t{-1}}}), shared(v, false)});
}
void attention(Emitter& out, const RecordedCall& call) {
  out.hold(call.results[0], attended(out, call, call.view("q"), call.view("k"), call.view("v")));
}
// Of (B, L, 3, H, E), with y (B, L, H, E).
void attention_packed(Emitter& out, const RecordedCall& call) {
  const RecordedView qkv = call.view("qkv");
  const auto part = [&](int64_t i) {
    RecordedView view = qkv;
    view.offset += i * qkv.strides[2];
    view.shape = {qkv.shape[0], qkv.shape[3], qkv.shape[1], qkv.shape[4]};
    view.strides = {qkv.strides[0], qkv.strides[3], qkv.strides[1], qkv.strides[4]};
    return view;
  };
  out.hold(call.results[0], out.node("Transpose", {attended(out, call, part(0), part(1), part(2))},
                                     {{"perm", Ints{0, 2, 1, 3}}}));
}

void unused(const Emitter& out, const RecordedCall& call) {
  for (size_t i = 1; i < call.results.size(); ++i)
    if (out.used(call.results[i]))
      throw Error(TN_UNIMPLEMENTED, "[onnx.export] result " + std::to_string(i) + " of " + call.op);
}

std::string or_filled(Emitter& out, const RecordedCall& call, const char* name, const Ints& shape,
                      double value) {
  const RecordedView x = call.view("x");
  if (call.has(name)) return out.input(call, name);
  if (x.varies) return out.node("Expand", {out.number(value, x.dtype), out.ints(shape)});
  return out.weight(tenon::full(shape, value, x.dtype, Device("cpu")));
}

// x normalised, and its statistics where they are used: results from `mean` on.
std::string normalised(Emitter& out, const RecordedCall& call, const std::string& x, size_t mean) {
  const Ints shape = call.ints("shape");
  const Names inputs = {x, or_filled(out, call, "weight", shape, 1), out.optional(call, "bias")};
  const Attributes attributes = {{"axis", -static_cast<int64_t>(shape.size())},
                                 {"epsilon", call.number("eps")}};
  if (!out.used(call.results[mean]) && !out.used(call.results[mean + 1]))
    return out.node("LayerNormalization", inputs, attributes);
  const Names found =
      out.nodes("LayerNormalization", inputs[2].empty() ? Names{inputs[0], inputs[1]} : inputs,
                attributes, 3);
  for (size_t i = 0; i < 2; ++i) out.hold(call.results[mean + i], found[1 + i]);
  return found[0];
}
void layer_norm(Emitter& out, const RecordedCall& call) {
  out.hold(call.results[0], normalised(out, call, out.input(call, "x"), 1));
}
void add_layer_norm(Emitter& out, const RecordedCall& call) {
  const std::string sum = out.node("Add", {out.input(call, "x"), out.input(call, "residual")});
  out.hold(call.results[1], sum);
  out.hold(call.results[0], normalised(out, call, sum, 2));
}

void rms_norm(Emitter& out, const RecordedCall& call) {
  const DType dtype = call.view("x").dtype;
  const std::string x = out.input(call, "x");
  Ints axes;
  for (size_t i = 0; i < call.ints("shape").size(); ++i)
    axes.push_back(-1 - static_cast<int64_t>(i));
  const std::string mean =
      out.node("ReduceMean", {out.node("Mul", {x, x}), out.ints(axes)}, {{"keepdims", int64_t{1}}});
  const std::string rstd = out.node(
      "Reciprocal",
      {out.node("Sqrt", {out.node("Add", {mean, out.number(call.number("eps"), dtype)})})});
  std::string y = out.node("Mul", {x, rstd});
  if (call.has("weight")) y = out.node("Mul", {y, out.input(call, "weight")});
  out.hold(call.results[0], y);
  if (out.used(call.results[1])) out.hold(call.results[1], rstd);
}

void group_norm(Emitter& out, const RecordedCall& call) {
  unused(out, call);
  const RecordedView x = call.view("x");
  const int64_t groups = call.integer("groups");
  const std::string rows = out.node("Reshape", {out.value(x), out.ints({x.shape[0], groups, -1})});
  const auto filled = [&](double value) {
    return out.weight(tenon::full({groups}, value, x.dtype, Device("cpu")));
  };
  std::string y = out.node("InstanceNormalization", {rows, filled(1), filled(0)},
                           {{"epsilon", call.number("eps")}});
  y = out.node("Reshape", {y, out.ints(x.shape)});
  Ints along(x.shape.size() - 1, 1);
  along[0] = x.shape[1];
  for (const auto& [name, op] : {std::pair{"weight", "Mul"}, {"bias", "Add"}})
    if (call.has(name))
      y = out.node(op, {y, out.node("Reshape", {out.input(call, name), out.ints(along)})});
  out.give(call, y);
}

void batch_norm(Emitter& out, const RecordedCall& call) {
  unused(out, call);
  const Ints channels = {call.view("x").shape.at(1)};
  // The statistics of a single sample are those of an instance norm.
  if (call.flag("training") && !call.has("running_mean") && call.view("x").shape[0] == 1)
    return out.give(call,
                    out.node("InstanceNormalization",
                             {out.input(call, "x"), or_filled(out, call, "weight", channels, 1),
                              or_filled(out, call, "bias", channels, 0)},
                             {{"epsilon", call.number("eps")}}));
  if (call.flag("training"))
    throw Error(TN_UNIMPLEMENTED,
                "[onnx.export] batch_norm in training: call eval() before tracing");
  out.give(call, out.node("BatchNormalization",
                          {out.input(call, "x"), or_filled(out, call, "weight", channels, 1),
                           or_filled(out, call, "bias", channels, 0),
                           or_filled(out, call, "running_mean", channels, 0),
                           or_filled(out, call, "running_var", channels, 1)},
                          {{"epsilon", call.number("eps")}}));
}

}  // namespace

void add_layers(std::map<std::string, Emit>& table) {
  table["matmul"] = matmul;
  table["linear"] = linear;
  table["linear_integer"] = linear_integer;
  table["conv"] = conv;
  table["conv_backward_input"] = conv_backward_input;
  table["max_pool"] = max_pool;
  table["avg_pool"] = avg_pool;
  table["adaptive_avg_pool"] = table["adaptive_max_pool"] = adaptive_pool;
  table["interpolate"] = interpolate;
  table["attention"] = attention;
  table["attention_packed"] = attention_packed;
  table["layer_norm"] = layer_norm;
  table["add_layer_norm"] = add_layer_norm;
  table["rms_norm"] = rms_norm;
  table["group_norm"] = group_norm;
  table["batch_norm"] = batch_norm;
}

}  // namespace tenon::onnx
