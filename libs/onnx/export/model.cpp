// Writes a whole model. If sizes vary, the program is written for several of them, and the differences must follow from the sizes.
#include <algorithm>

#include "export/shared.hpp"
#include "export/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {

Writer Emitter::port(const Port& port) {
  Writer sizes;
  for (const auto& size : port.shape) {
    Writer dimension;
    if (const auto* number = std::get_if<int64_t>(&size)) dimension.number(1, *number);
    const auto* symbol = std::get_if<std::string>(&size);
    if (symbol != nullptr && !symbol->empty()) dimension.bytes(2, *symbol);
    sizes.message(1, dimension);
  }
  const Writer type =
      Writer().number(1, static_cast<int64_t>(type_of_dtype(port.dtype))).message(2, sizes);
  return Writer().bytes(1, port.name).message(2, Writer().message(1, type));
}

Writer Emitter::inner_port(const std::string& name, DType dtype,
                           const std::vector<int64_t>& shape) const {
  if (!shared_->sketch && shared_->following == nullptr)
    return port({name, dtype, {shape.begin(), shape.end()}});
  return port(
      {name, dtype, std::vector<std::variant<int64_t, std::string>>(shape.size(), std::string())});
}

Sketch Emitter::sketch(const ByElement& by_element) {
  shared_->by_element = by_element;
  shared_->sketch.emplace();
  Names inputs;
  for (size_t i = 0; i < from_.inputs.size(); ++i) inputs.push_back(fresh("input"));
  for (const std::string& result : run(inputs))
    shared_->sketch->calls.emplace_back("return", result);
  return std::move(*shared_->sketch);
}

std::string Emitter::model(const std::vector<Port>& inputs, const std::vector<Port>& results,
                           int64_t opset) {
  for (const auto* ports : {&inputs, &results})
    for (const Port& one : *ports)
      if (!shared_->names.insert(one.name).second)
        throw Error(TN_INVALID_ARGUMENT,
                    "[onnx.export] '" + one.name + "' names two inputs or results");
  for (const Port& input : inputs) {
    shared_->inputs.push_back(input.name);
    graph_->message(11, port(input));
  }
  const Names made = run(shared_->inputs);
  for (size_t i = 0; i < made.size(); ++i) {
    const std::string& name = results[i].name;
    graph_->message(1,
                    Writer().bytes(1, made[i]).bytes(2, name).bytes(3, name).bytes(4, "Identity"));
    graph_->message(12, port(results[i]));
  }
  graph_->bytes(2, "tenon");
  Writer model;
  model.number(1, opset >= 23 ? 11 : opset >= 21 ? 10 : opset >= 19 ? 9 : 8).bytes(2, "tenon");
  model.message(7, *graph_).message(8, Writer().number(2, opset));
  return model.text();
}

namespace {

[[noreturn]] void refuse(const std::string& op) {
  throw Error(TN_UNIMPLEMENTED,
              "[onnx.export] op " + op +
                  (op == "return" ? ": what the function gives" : ": its nodes") +
                  " would follow a size that varies in a way that fits no formula: "
                  "give that size a fixed value");
}

double element(const Tensor& tensor, int64_t i) {
  return tensor.to(DType::F64).reshape({-1}).to_vector<double>()[static_cast<size_t>(i)];
}

// How a constant depends on the sizes, given its value for each probe.
std::vector<Follows> followed_by(const std::vector<Tensor>& made, const Sizes& sizes,
                                 const std::string& op) {
  const Tensor& like = made[0];
  const bool vector = like.dtype() == DType::I64 && like.ndim() <= 1;
  if (!vector && !(is_floating(like.dtype()) && like.ndim() == 0)) refuse(op);
  std::vector<Follows> elements;
  for (int64_t i = 0; i < like.numel(); ++i) {
    std::vector<double> values;
    for (const Tensor& one : made) {
      if (!std::ranges::equal(one.shape(), like.shape())) refuse(op);
      values.push_back(element(one, i));
    }
    const auto found = sizes.find(values, like.dtype());
    if (!found) refuse(op);
    elements.push_back(*found);
  }
  return elements;
}

bool same(const Tensor& x, const Tensor& y) {
  if (!std::ranges::equal(x.shape(), y.shape()) || x.dtype() != y.dtype()) return false;
  std::string one(x.nbytes(), '\0'), other(y.nbytes(), '\0');
  x.to_host(one.data(), one.size());
  y.to_host(other.data(), other.size());
  return one == other;
}

ByElement views_that_differ(const std::vector<Sketch>& sketches) {
  ByElement found;
  for (const Sketch& one : sketches)
    for (size_t i = 0; i < std::min(one.views.size(), sketches[0].views.size()); ++i)
      if (one.views[i] != sketches[0].views[i]) found.insert(i);
  return found;
}

Following following_of(const std::vector<Sketch>& sketches, const Sizes& sizes) {
  const Sketch& first = sketches[0];
  for (const Sketch& one : sketches)
    for (size_t i = 0; i < std::max(first.calls.size(), one.calls.size()); ++i)
      if (i >= first.calls.size() || i >= one.calls.size() || one.calls[i] != first.calls[i])
        refuse(i < first.calls.size() ? first.calls[i].first : one.calls[i].first);
  Following following{&sizes};
  for (size_t i = 0; i < first.constants.size(); ++i) {
    std::vector<Tensor> made;
    for (const Sketch& one : sketches) made.push_back(one.constants.at(i).second);
    if (std::ranges::all_of(made, [&](const Tensor& one) { return same(one, made[0]); })) continue;
    following.constants[i] = followed_by(made, sizes, first.constants[i].first);
  }
  return following;
}

std::vector<Port> ports_of(const std::vector<RecordedView>& views, const Names& names,
                           const char* what) {
  if (!names.empty() && names.size() != views.size())
    throw Error(TN_INVALID_ARGUMENT, "[onnx.export] " + std::to_string(names.size()) +
                                         " names of " + std::to_string(views.size()) + " " + what);
  std::vector<Port> ports;
  for (size_t i = 0; i < views.size(); ++i)
    ports.push_back({names.empty() ? "" : names[i],
                     views[i].dtype,
                     {views[i].shape.begin(), views[i].shape.end()}});
  return ports;
}

std::vector<Port> inputs_of(const Recorded& from, const Names& names) {
  std::vector<Port> ports = ports_of(from.inputs, names, "inputs");
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name.empty()) ports[i].name = from.buffers[from.inputs[i].buffer].name;
  return ports;
}

std::vector<Port> results_of(const Recorded& from, const Names& names) {
  std::vector<Port> ports = ports_of(from.results, names, "results");
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name.empty()) ports[i].name = "result" + std::to_string(i);
  return ports;
}

// The name of the dim that a size is, or "" if it is a formula.
std::string symbol_of(const std::vector<double>& values, const Sizes& sizes) {
  const auto found = sizes.find(values, DType::I64);
  if (!found || found->offset != 0 || found->terms.size() != 1) return "";
  const Follows::Term& term = found->terms[0];
  const bool dim = term.factor == 1 && term.of.size() == 1 && term.of[0] < sizes.dims().size();
  return dim ? sizes.dims()[term.of[0]].name : "";
}

void name_sizes(std::vector<Port>& results, const std::vector<Recorded>& recordings,
                const Sizes& sizes) {
  for (size_t i = 0; i < results.size(); ++i)
    for (size_t d = 0; d < results[i].shape.size(); ++d) {
      std::vector<double> values;
      for (const Recorded& one : recordings)
        values.push_back(static_cast<double>(one.results[i].shape[d]));
      if (std::ranges::adjacent_find(values, std::ranges::not_equal_to()) != values.end())
        results[i].shape[d] = symbol_of(values, sizes);
    }
}

}  // namespace

std::string exported(const tn_program* program, const Names& inputs, const Names& results,
                     int64_t opset) {
  const Json whole = described(program);
  const Sizes sizes(whole);
  if (sizes.empty()) {
    const Recorded from = recorded(whole);
    return Emitter(program, from).model(inputs_of(from, inputs), results_of(from, results), opset);
  }
  std::vector<Json> descriptions;
  for (const auto& probe : sizes.probes()) descriptions.push_back(described(program, probe));
  mark_varying(descriptions);
  std::vector<Recorded> recordings;
  for (const Json& one : descriptions) recordings.push_back(recorded(one));
  std::vector<Sketch> sketches;
  ByElement by_element;
  const auto sketch = [&] {
    sketches.clear();
    for (const Recorded& one : recordings)
      sketches.push_back(Emitter(program, one).sketch(by_element));
  };
  sketch();
  by_element = views_that_differ(sketches);
  if (!by_element.empty()) sketch();
  Following following = following_of(sketches, sizes);
  following.by_element = std::move(by_element);
  const Recorded& from = recordings[0];
  std::vector<Port> takes = inputs_of(from, inputs), gives = results_of(from, results);
  for (size_t i = 0; i < takes.size(); ++i)
    for (size_t d = 0; d < takes[i].shape.size(); ++d)
      if (const int32_t dim = sizes.inputs()[i][d]; dim >= 0)
        takes[i].shape[d] = sizes.dims()[static_cast<size_t>(dim)].name;
  name_sizes(gives, recordings, sizes);
  return Emitter(program, from, &following).model(takes, gives, opset);
}

}  // namespace tenon::onnx
