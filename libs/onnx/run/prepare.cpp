// Prepares a model to run: finds converters, makes weights, and reports everything unsupported at once.
#include <algorithm>
#include <set>

#include "convert/layers.hpp"
#include "run/check.hpp"
#include "run/model.hpp"

namespace tenon::onnx {
// The names that a node and its bodies read.
void reads(const NodeProto& node, std::vector<std::string_view>& names) {
  names.insert(names.end(), node.inputs.begin(), node.inputs.end());
  for (const AttributeProto& attribute : node.attributes) {
    if (!attribute.graph) continue;
    for (const NodeProto& inner : attribute.graph->nodes) reads(inner, names);
    for (const ValueProto& output : attribute.graph->outputs) names.push_back(output.name);
  }
}

void copy_attributes(const NodeProto& from, NodeProto& to) {
  for (const AttributeProto& attribute : from.attributes) {
    AttributeProto& copy = to.attributes.emplace_back();
    copy.name = attribute.name;
    copy.reference = attribute.reference;
    copy.i = attribute.i;
    copy.f = attribute.f;
    copy.s = attribute.s;
    copy.ints = attribute.ints;
  }
}

namespace {

// Whether a node's results may differ from run to run.
bool draws(const NodeProto& node) {
  return node.op.starts_with("Random") || node.op == "Bernoulli" || node.op == "Multinomial" ||
         node.op == "Dropout";
}

// A convolution and the norm after it as one node, with the inputs and attributes of both.
NodeProto joined(const NodeProto& convolution, const NodeProto& norm) {
  NodeProto made;
  made.op = convolution.op;
  made.name = convolution.name;
  made.at = convolution.at;
  made.inputs = convolution.inputs;
  made.inputs.resize(3);
  made.inputs.insert(made.inputs.end(), norm.inputs.begin() + 1, norm.inputs.end());
  made.outputs = {norm.outputs.at(0)};
  copy_attributes(convolution, made);
  copy_attributes(norm, made);
  return made;
}

}  // namespace

Loaded::Loaded(std::unique_ptr<Files> files) : files_(std::move(files)) {
  {
    Origin origin(files_->where(), files_->bytes());
    proto_ = read_model(origin);
  }
  Check check(files_->where());
  if (const auto opset = proto_.opsets.find(""); opset != proto_.opsets.end())
    check.opset(opset->second);
  prepare(proto_.graph, proto_.opsets, check, true);
  check.finish();
}

Loaded::~Loaded() = default;

void Loaded::prepare(const GraphProto& graph, const Opsets& opsets, Check& check, bool outermost) {
  if (graph.sparse) check.note("sparse initializers");
  Body body;
  std::set<std::string_view> given;
  check.begin_graph();
  for (const TensorProto& initializer : graph.initializers) {
    given.insert(initializer.name);
    check.given(initializer.name);
    if (initializer.strings != 0 || initializer.type == Type::String) {
      check.note("tensors of STRING");
      continue;
    }
    const Tensor made = check.guarded([&] { return files_->tensor(initializer); });
    if (!made.defined()) continue;
    constants_.insert(made.get());
    body.constants.emplace_back(initializer.name, made);
    if (outermost) weights_.emplace_back(initializer.name, made);
  }
  for (const ValueProto& input : graph.inputs) {
    check.given(input.name);
    if (given.contains(input.name)) continue;
    body.inputs.push_back(input.name);
    if (outermost) {
      check.type(input);
      inputs_.push_back(&input);
    }
  }
  for (const ValueProto& output : graph.outputs) body.outputs.push_back(output.name);
  prepare(body, graph.nodes, opsets, check);
  for (const std::string_view name : body.outputs) check.result(name);
  check.end_graph();
  bodies_.emplace(&graph, std::move(body));
}

void Loaded::prepare(Body& body, const std::vector<NodeProto>& nodes, const Opsets& opsets,
                     Check& check) {
  for (const NodeProto& node : nodes) {
    ++nodes_;
    ++ops_[{std::string(node.domain), std::string(node.op)}];
    check.reads(node);
    Step made = step(node, opsets, check);
    const bool constant = node.op == "Constant" && node.domain.empty() && made.convert.defined() &&
                          node.outputs.size() == 1 && node.attributes.size() == 1 &&
                          node.attributes[0].reference.empty();
    if (constant && node.attributes[0].tensor) {
      const Tensor tensor =
          check.guarded([&] { return files_->tensor(*node.attributes[0].tensor); });
      if (tensor.defined()) {
        constants_.insert(tensor.get());
        body.constants.emplace_back(node.outputs[0], tensor);
      }
      check.makes(node);
      continue;
    }
    for (const AttributeProto& attribute : node.attributes)
      if (attribute.graph) prepare(*attribute.graph, opsets, check, false);
    if (std::ranges::any_of(node.attributes, [](const auto& one) { return one.graph != nullptr; }))
      reads(node, made.reads);
    check.makes(node);
    body.steps.push_back(std::move(made));
  }
  join_norms(body);
  join_quantized(body);
  note_constants(body);
  note_last_uses(body);
}

// Merges a convolution with the batch norm that alone reads its result, if both have weights.
void Loaded::join_norms(Body& body) {
  std::set<std::string_view> weights;
  for (const auto& [name, value] : body.constants) weights.insert(name);
  std::map<std::string_view, int> reads_of;
  std::vector<std::string_view> names;
  for (const Step& step : body.steps) reads(*step.node, names);
  for (const std::string_view name : body.outputs) names.push_back(name);
  for (const std::string_view name : names) ++reads_of[name];
  const auto fixed = [&](const NodeProto& node, size_t from) {
    return std::all_of(
        node.inputs.begin() + static_cast<std::ptrdiff_t>(from), node.inputs.end(),
        [&](std::string_view name) { return name.empty() || weights.contains(name); });
  };
  std::map<std::string_view, size_t> convolutions;  // by the name of their result
  std::vector<bool> gone(body.steps.size());
  for (size_t i = 0; i < body.steps.size(); ++i) {
    Step& step = body.steps[i];
    const NodeProto& node = *step.node;
    if (!node.domain.empty() || !step.convert.defined()) continue;
    if (node.op == "Conv" && node.inputs.size() > 1 && node.outputs.size() == 1 && fixed(node, 1))
      convolutions[node.outputs[0]] = i;
    if (node.op != "BatchNormalization" || node.inputs.size() != 5 || !fixed(node, 1)) continue;
    const auto found = convolutions.find(node.inputs[0]);
    const AttributeProto* training = node.find("training_mode");
    if (found == convolutions.end() || reads_of[node.inputs[0]] != 1 ||
        (training != nullptr && training->i != 0))
      continue;
    step.node = &joined_.emplace_back(joined(*body.steps[found->second].node, node));
    step.convert = Convert(normalised_convolution);
    gone[found->second] = true;
  }
  size_t at = 0;
  std::erase_if(body.steps, [&](const Step&) { return gone[at++]; });
}

// Finds which inputs of each step are the same in each run, and which steps' results are.
void Loaded::note_constants(Body& body) const {
  std::set<std::string_view> constant;
  for (const auto& [name, value] : body.constants) constant.insert(name);
  for (Step& step : body.steps) {
    const NodeProto& node = *step.node;
    bool all = step.convert.defined() && !draws(node);
    for (const std::string_view name : node.inputs) {
      step.context.constant.push_back(constant.contains(name));
      all = all && (name.empty() || step.context.constant.back());
    }
    for (const AttributeProto& attribute : node.attributes)
      all = all && !attribute.graph && attribute.reference.empty();
    step.constant = all;
    if (all) constant.insert(node.outputs.begin(), node.outputs.end());
  }
}

Loaded::Step Loaded::step(const NodeProto& node, const Opsets& opsets, Check& check) {
  Step made{&node, {}, nullptr, {}, {}, {}, false};
  made.function = function(node, check);
  if (made.function != nullptr) return made;
  const auto opset = opsets.find(node.domain);
  if (opset == opsets.end()) {
    check.node(node, "of a domain that the model names no opset of");
    return made;
  }
  made.context.opset = opset->second;
  made.context.weights = this;
  made.context.files = files_.get();
  if (const Entry* entry = find_entry(node.domain, node.op, opset->second))
    made.convert = entry->convert;
  else
    check.node(node, "opset " + std::to_string(opset->second));
  for (const AttributeProto& attribute : node.attributes)
    if (attribute.other) check.node(node, "attribute " + std::string(attribute.name));
  return made;
}

const Loaded::Body* Loaded::function(const NodeProto& node, Check& check) {
  for (const FunctionProto& function : proto_.functions) {
    if (function.name != node.op || function.domain != node.domain ||
        function.overload != node.overload)
      continue;
    const auto [found, fresh] = functions_.try_emplace(&function);
    Body& body = found->second;
    if (!fresh) {
      if (body.function == nullptr) check.node(node, "a function that calls itself");
      return &body;
    }
    if (++nesting_ > kDeepest)
      throw Error(TN_DATA_LOSS, files_->where() + ": functions within functions, " +
                                    std::to_string(kDeepest) + " deep");
    body.inputs = function.inputs;
    body.outputs = function.outputs;
    Check::Names outer = check.begin_function();
    check.begin_graph();
    for (const std::string_view name : body.inputs) check.given(name);
    prepare(body, function.nodes, function.opsets, check);
    check.end_function(std::move(outer));
    body.function = &function;
    --nesting_;
    return &body;
  }
  return nullptr;
}

void Loaded::note_last_uses(Body& body) {
  std::set<std::string_view> needed(body.outputs.begin(), body.outputs.end());
  std::vector<std::string_view> names;
  for (size_t i = body.steps.size(); i-- > 0;) {
    names.clear();
    reads(*body.steps[i].node, names);
    // Results that nobody reads are dropped at once.
    names.insert(names.end(), body.steps[i].node->outputs.begin(),
                 body.steps[i].node->outputs.end());
    for (const std::string_view name : names)
      if (!name.empty() && needed.insert(name).second) body.steps[i].last.push_back(name);
  }
}

}  // namespace tenon::onnx
