#include <algorithm>

#include "run/model.hpp"

namespace tenon::onnx {

// The values of a running graph by name, including those of the graphs around it.
struct Loaded::Scope {
  const Scope* outer;
  std::unordered_map<std::string_view, Value> values;

  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
      if (const auto found = scope->values.find(name); found != scope->values.end())
        return &found->second;
    return nullptr;
  }
};

namespace {

std::string list_of(const std::vector<Dimension>& shape) {
  std::string text = "[";
  for (const Dimension& dimension : shape) {
    if (text.size() > 1) text += ", ";
    text += dimension.size >= 0        ? std::to_string(dimension.size)
            : dimension.symbol.empty() ? "?"
                                       : std::string(dimension.symbol);
  }
  return text + "]";
}
std::string list_of(const Tensor& x) {
  std::vector<Dimension> shape;
  for (const int64_t size : x.shape()) shape.push_back({size, {}});
  return list_of(shape);
}

bool fits(const ValueProto& port, const Tensor& x) {
  if (!port.ranked) return true;
  if (port.shape.size() != static_cast<size_t>(x.ndim())) return false;
  for (size_t d = 0; d < port.shape.size(); ++d)
    if (port.shape[d].size >= 0 && port.shape[d].size != x.shape()[d]) return false;
  return true;
}

}  // namespace

void Loaded::check_input(const ValueProto& port, const Value& value) const {
  const auto fail = [&](const std::string& reason) {
    throw Error(TN_INVALID_ARGUMENT,
                files_->where() + ": input '" + std::string(port.name) + "' " + reason);
  };
  if (port.kind == ValueProto::Sequence && !value.is_sequence()) fail("takes a sequence");
  if (port.kind != ValueProto::Tensor) return;
  if (!value.is_tensor()) fail("takes a tensor");
  const Tensor& x = value.tensor();
  if (port.type != Type::Undefined && type_of_dtype(x.dtype()) != port.type &&
      type_of_dtype(x.dtype()) != storage_of(port.type))
    fail("takes " + name_of_type(port.type) + ", not " + name_of_type(type_of_dtype(x.dtype())));
  if (!fits(port, x)) fail("has shape " + list_of(port.shape) + " in the model, not " + list_of(x));
}

std::vector<Value> Loaded::run(std::vector<Value> inputs) const {
  if (inputs.size() != inputs_.size())
    throw Error(TN_INVALID_ARGUMENT, files_->where() + " takes " + std::to_string(inputs_.size()) +
                                         " inputs, not " + std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) check_input(*inputs_[i], inputs[i]);
  return run(bodies_.at(&proto_.graph), std::move(inputs), nullptr, nullptr);
}

std::vector<Value> Loaded::run(const Body& body, std::vector<Value> inputs, const Scope* outer,
                               const NodeProto* caller) const {
  Scope scope{outer, {}};
  for (const auto& [name, value] : body.constants) scope.values.emplace(name, value);
  for (size_t i = 0; i < body.inputs.size() && i < inputs.size(); ++i)
    scope.values.insert_or_assign(body.inputs[i], std::move(inputs[i]));
  for (const Step& step : body.steps) {
    run(step, body, scope, caller);
    for (const std::string_view name : step.last) scope.values.erase(name);
  }
  std::vector<Value> results;
  for (const std::string_view name : body.outputs) {
    const Value* found = scope.find(name);
    if (found == nullptr)
      throw Error(TN_DATA_LOSS,
                  files_->where() + ": nothing makes the result '" + std::string(name) + "'");
    results.push_back(*found);
  }
  return results;
}

void Loaded::run(const Step& step, const Body& body, Scope& scope, const NodeProto* caller) const {
  const NodeProto& node = *step.node;
  const auto where = [&] {
    const std::string_view name = !node.name.empty()     ? node.name
                                  : node.outputs.empty() ? ""
                                                         : node.outputs[0];
    return "[onnx] " + std::string(node.op) + " '" + std::string(name) + "': ";
  };
  std::vector<Value> inputs;
  inputs.reserve(node.inputs.size());
  for (const std::string_view name : node.inputs) {
    const Value* found = name.empty() ? nullptr : scope.find(name);
    if (found == nullptr && !name.empty() && body.function == nullptr)
      throw Error(TN_DATA_LOSS, where() + "nothing makes its input '" + std::string(name) + "'");
    inputs.push_back(found == nullptr ? Value() : *found);
  }
  std::vector<Value> results;
  try {
    if (step.function != nullptr) {
      results = run(*step.function, std::move(inputs), nullptr, &node);
    } else {
      const RunBody run_body = [&](const GraphProto& graph, std::vector<Value> given) {
        return run(bodies_.at(&graph), std::move(given), &scope, caller);
      };
      Call::Context context = step.context;
      context.caller = caller;
      context.function = body.function;
      context.run = &run_body;
      context.traced = std::ranges::any_of(step.reads, [&](std::string_view name) {
        const Value* found = scope.find(name);
        return found != nullptr && traced(*found);
      });
      results = convert(step, Call(node, std::move(inputs), context));
    }
  } catch (const Error& error) {
    const std::string_view what = error.what();
    // The innermost node's place is enough.
    if (what.starts_with("[onnx] ")) throw;
    throw Error(error.code(), where() + error.what());
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (i >= results.size())
      throw Error(TN_UNIMPLEMENTED,
                  where() + "its result " + std::to_string(i) + " is not supported");
    scope.values.insert_or_assign(node.outputs[i], std::move(results[i]));
  }
}

namespace {

// Whether this thread records ops that fill tensors instead of running them.
bool recording() { return full({}, 0, DType::F32, Device("cpu")).device() != Device("cpu"); }

uint64_t bytes_of(const std::vector<Value>& values) {
  uint64_t bytes = 0;
  for (const Value& value : values)
    if (value.is_tensor()) bytes += value.tensor().nbytes();
  return bytes;
}

}  // namespace

// A constant step runs once, unless its result is much larger than what it reads.
std::vector<Value> Loaded::convert(const Step& step, const Call& call) const {
  if (!step.constant || call.device() != Device("cpu")) return step.convert(call).values;
  struct Once {
    std::vector<Value> values;
    bool large;
  };
  constexpr uint64_t kSmall = 1 << 20;
  uint64_t given = 0;
  for (size_t i = 0; i < call.size(); ++i)
    if (call.has(i) && call.value(i).is_tensor()) given += call.value(i).tensor().nbytes();
  const auto once = call.kept(
      true,
      [&] {
        Once made{step.convert(call).values, false};
        made.large = bytes_of(made.values) > kSmall + 4 * given;
        if (made.large) made.values.clear();
        return made;
      },
      -1);
  return once->large ? step.convert(call).values : once->values;
}

std::shared_ptr<const void> Loaded::kept(
    const NodeProto& node, int slot, Device device,
    const std::function<std::shared_ptr<const void>()>& make) const {
  const Place place(&node, slot, device.get());
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(place); found != kept_.end()) return found->second;
  }
  // Not under the lock, because `make` may ask for weights. If two threads make it, one result is dropped.
  std::shared_ptr<const void> made = make();
  if (recording()) return made;
  const std::lock_guard lock(mutex_);
  return kept_.try_emplace(place, std::move(made)).first->second;
}

Tensor Loaded::placed(const Tensor& tensor, Device device) const {
  if (!constants_.contains(tensor.get())) return tensor.to(device);
  const std::lock_guard lock(mutex_);
  Tensor& copy = copies_[{tensor.get(), device.get()}];
  if (!copy.defined()) copy = tensor.to(device);
  return copy;
}

}  // namespace tenon::onnx
