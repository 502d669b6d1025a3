// From what a file holds to what runs: converters are found, weights made, and all that is not supported is told at once.
#include <set>

#include "run/check.hpp"
#include "run/model.hpp"

namespace tenon::onnx {
namespace {

// Names that a node reads, those of its bodies included.
void reads(const NodeProto& node, std::vector<std::string_view>& names) {
  names.insert(names.end(), node.inputs.begin(), node.inputs.end());
  for (const AttributeProto& attribute : node.attributes) {
    if (!attribute.graph) continue;
    for (const NodeProto& inner : attribute.graph->nodes) reads(inner, names);
    for (const ValueProto& output : attribute.graph->outputs) names.push_back(output.name);
  }
}

}  // namespace

Loaded::Loaded(std::unique_ptr<Files> files) : files_(std::move(files)) {
  {
    Origin origin(files_->where(), files_->bytes());
    proto_ = read_model(origin);
  }
  place_ = [this](const Tensor& x, Device device) { return placed(x, device); };
  Check check(files_->where());
  prepare(proto_.graph, proto_.opsets, check, true);
  check.finish();
}

Loaded::~Loaded() = default;

void Loaded::prepare(const GraphProto& graph, const Opsets& opsets, Check& check, bool outermost) {
  if (graph.sparse) check.note("sparse initializers");
  Body body;
  std::set<std::string_view> given;
  for (const TensorProto& initializer : graph.initializers) {
    given.insert(initializer.name);
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
    if (given.contains(input.name)) continue;
    body.inputs.push_back(input.name);
    if (outermost) {
      check.type(input);
      inputs_.push_back(&input);
    }
  }
  for (const ValueProto& output : graph.outputs) body.outputs.push_back(output.name);
  prepare(body, graph.nodes, opsets, check);
  bodies_.emplace(&graph, std::move(body));
}

void Loaded::prepare(Body& body, const std::vector<NodeProto>& nodes, const Opsets& opsets,
                     Check& check) {
  for (const NodeProto& node : nodes) {
    ++nodes_;
    ++ops_[{std::string(node.domain), std::string(node.op)}];
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
      continue;
    }
    for (const AttributeProto& attribute : node.attributes)
      if (attribute.graph) prepare(*attribute.graph, opsets, check, false);
    body.steps.push_back(std::move(made));
  }
  note_last_uses(body);
}

Loaded::Step Loaded::step(const NodeProto& node, const Opsets& opsets, Check& check) {
  Step made{&node, {}, nullptr, {}, {}};
  made.function = function(node, check);
  if (made.function != nullptr) return made;
  const auto opset = opsets.find(node.domain);
  if (opset == opsets.end()) {
    check.node(node, "of a domain that the model names no opset of");
    return made;
  }
  made.context.opset = opset->second;
  made.context.place = &place_;
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
    prepare(body, function.nodes, function.opsets, check);
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
    // What it makes and nobody reads goes at once.
    names.insert(names.end(), body.steps[i].node->outputs.begin(),
                 body.steps[i].node->outputs.end());
    for (const std::string_view name : names)
      if (!name.empty() && needed.insert(name).second) body.steps[i].last.push_back(name);
  }
}

}  // namespace tenon::onnx
