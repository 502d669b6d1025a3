// Convolutions, products and max poolings between DequantizeLinear and QuantizeLinear become integer ops.
#include <algorithm>
#include <map>

#include "convert/layers.hpp"
#include "run/model.hpp"
#include "tenon/ops.hpp"

namespace tenon::onnx {
namespace {

bool is(const NodeProto& node, std::string_view op) {
  return (node.domain.empty() || node.domain == kMicrosoft) && node.op == op;
}

// Inputs q, scale and zero, of whole tensors or along an axis.
bool plain(const NodeProto& node) {
  return node.inputs.size() == 3 && node.outputs.size() == 1 &&
         std::ranges::all_of(node.attributes,
                             [](const AttributeProto& one) { return one.name == "axis"; });
}

bool of_eight_bits(const Tensor& x) { return x.dtype() == DType::U8 || x.dtype() == DType::I8; }

}  // namespace

class Loaded::Quantized {
 public:
  explicit Quantized(Body& body) : body_(body), gone_(body.steps.size()) {
    for (const auto& [name, value] : body.constants)
      if (value.is_tensor()) weights_.emplace(name, value.tensor());
    for (size_t i = 0; i < body.steps.size(); ++i)
      for (const std::string_view name : body.steps[i].node->outputs) makers_[name] = i;
    count_reads();
  }

  struct Joined {
    NodeProto node;
    Convert convert;
  };
  // The replacement for the node at i, which quantizes the result of a convolution, a product or a
  // pooling.
  std::optional<Joined> joined(size_t i) {
    const NodeProto& last = *body_.steps[i].node;
    if (!is(last, "QuantizeLinear") || !plain(last) || reads_of_[last.inputs[0]] != 1)
      return std::nullopt;
    if (const NodeProto* const pool = maker(last.inputs[0], "MaxPool")) return pooled(last, *pool);
    const NodeProto *conv = maker(last.inputs[0], "Conv"),
                    *matmul = maker(last.inputs[0], "MatMul");
    const NodeProto* const between = conv != nullptr ? conv : matmul;
    const Tensor *scale = weight(last.inputs[1]), *zero = weight(last.inputs[2]);
    if (between == nullptr || between->inputs.size() < 2 || between->outputs.size() != 1 ||
        scale == nullptr || zero == nullptr || scale->numel() != 1 || !of_eight_bits(*zero))
      return std::nullopt;
    const NodeProto *x = maker(between->inputs[0], "DequantizeLinear"),
                    *w = maker(between->inputs[1], "DequantizeLinear");
    if (x == nullptr || w == nullptr || !plain(*x) || !plain(*w) || !one_scale(*x))
      return std::nullopt;
    if (conv != nullptr ? !fits(*w, 4, 0) || in_groups(*conv) : !fits(*w, 2, 1))
      return std::nullopt;
    Joined made{{}, conv != nullptr ? Convert(q_linear_conv) : Convert(q_linear_matmul)};
    NodeProto& node = made.node;
    node.op = conv != nullptr ? "QLinearConv" : "QLinearMatMul";
    node.name = between->name;
    node.at = between->at;
    node.inputs = x->inputs;
    node.inputs.insert(node.inputs.end(), w->inputs.begin(), w->inputs.end());
    node.inputs.insert(node.inputs.end(), {last.inputs[1], last.inputs[2]});
    if (between->inputs.size() > 2 && !between->inputs[2].empty()) {
      const NodeProto* const bias = maker(between->inputs[2], "DequantizeLinear");
      if (bias == nullptr || !plain(*bias) || !has_both_scales(*bias, *x, *w)) return std::nullopt;
      node.inputs.push_back(bias->inputs[0]);
    }
    node.outputs = last.outputs;
    copy_attributes(*between, node);
    gone_[makers_.at(last.inputs[0])] = true;
    return made;
  }

  // Drops the nodes that were joined, and those that only they read.
  void finish() {
    drop();
    count_reads();
    gone_.assign(body_.steps.size(), false);
    for (size_t i = 0; i < body_.steps.size(); ++i) {
      const NodeProto& node = *body_.steps[i].node;
      gone_[i] = is(node, "DequantizeLinear") && node.outputs.size() == 1 &&
                 !reads_of_.contains(node.outputs[0]);
    }
    drop();
  }

 private:
  // The largest integer has the largest value, so if the result has the scale of x, integers are pooled.
  std::optional<Joined> pooled(const NodeProto& last, const NodeProto& pool) {
    const NodeProto* const x = maker(pool.inputs[0], "DequantizeLinear");
    if (pool.outputs.size() != 1 || x == nullptr || !plain(*x) || !one_scale(*x) ||
        !one_scale(last))
      return std::nullopt;
    const Tensor *scale = weight(x->inputs[1]), *zero = weight(x->inputs[2]);
    const Tensor *to_scale = weight(last.inputs[1]), *to_zero = weight(last.inputs[2]);
    const auto step = scale->item<float>();
    if (!(step > 0) || step != to_scale->item<float>() || zero->dtype() != to_zero->dtype() ||
        zero->numel() != 1 || to_zero->numel() != 1 ||
        zero->item<int64_t>() != to_zero->item<int64_t>())
      return std::nullopt;
    const size_t at = makers_.at(last.inputs[0]);
    Joined made{{}, body_.steps[at].convert};
    made.node.op = pool.op;
    made.node.name = pool.name;
    made.node.at = pool.at;
    made.node.inputs = {x->inputs[0]};
    made.node.outputs = last.outputs;
    copy_attributes(pool, made.node);
    gone_[at] = true;
    return made;
  }

  void count_reads() {
    reads_of_.clear();
    std::vector<std::string_view> names(body_.outputs);
    for (const Step& step : body_.steps) reads(*step.node, names);
    for (const std::string_view name : names) ++reads_of_[name];
  }
  void drop() {
    size_t at = 0;
    std::erase_if(body_.steps, [&](const Step&) { return gone_[at++]; });
  }
  const NodeProto* maker(std::string_view name, std::string_view op) const {
    const auto found = makers_.find(name);
    if (found == makers_.end()) return nullptr;
    const Step& step = body_.steps[found->second];
    return is(*step.node, op) && step.convert.defined() ? step.node : nullptr;
  }
  const Tensor* weight(std::string_view name) const {
    const auto found = weights_.find(name);
    return found == weights_.end() ? nullptr : &found->second;
  }

  static bool in_groups(const NodeProto& conv) {
    const AttributeProto* const groups = conv.find("group");
    return groups != nullptr && groups->i != 1;
  }
  // A single scale that is the same in each run.
  bool one_scale(const NodeProto& x) const {
    const Tensor *scale = weight(x.inputs[1]), *zero = weight(x.inputs[2]);
    return scale != nullptr && zero != nullptr && scale->numel() == 1 &&
           scale->dtype() == DType::F32 && of_eight_bits(*zero);
  }
  // Whether a weight of that rank has one scale, or one for each result along that dimension.
  bool fits(const NodeProto& w, int64_t rank, int64_t along) const {
    const Tensor *given = weight(w.inputs[0]), *scale = weight(w.inputs[1]),
                 *zero = weight(w.inputs[2]);
    if (given == nullptr || scale == nullptr || zero == nullptr || given->ndim() != rank ||
        !of_eight_bits(*given) || scale->dtype() != DType::F32)
      return false;
    const AttributeProto* const axis = w.find("axis");
    const int64_t at = axis == nullptr ? 1 : axis->i < 0 ? axis->i + rank : axis->i;
    return scale->numel() == 1 || (at == along && scale->numel() == given->shape(along));
  }

  // A bias whose scale is the product of both scales.
  bool has_both_scales(const NodeProto& bias, const NodeProto& x, const NodeProto& w) const {
    const Tensor *given = weight(bias.inputs[0]), *scale = weight(bias.inputs[1]),
                 *zero = weight(bias.inputs[2]);
    if (given == nullptr || scale == nullptr || zero == nullptr || given->dtype() != DType::I32 ||
        abs(*zero).max().item<int64_t>() != 0)
      return false;
    const Tensor both = *weight(x.inputs[1]) * *weight(w.inputs[1]);
    return scale->numel() == both.numel() &&
           (abs(scale->reshape({-1}) / both.reshape({-1}) - 1.0).max() < 1e-4).item<bool>();
  }

  Body& body_;
  std::vector<bool> gone_;
  std::map<std::string_view, Tensor> weights_;
  std::map<std::string_view, size_t> makers_;
  std::map<std::string_view, int> reads_of_;
};

void Loaded::join_quantized(Body& body) {
  Quantized found(body);
  for (size_t i = 0; i < body.steps.size(); ++i)
    if (auto made = found.joined(i)) {
      body.steps[i].node = &joined_.emplace_back(std::move(made->node));
      body.steps[i].convert = made->convert;
    }
  found.finish();
}

}  // namespace tenon::onnx
