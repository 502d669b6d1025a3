// Bodies: what is chosen or repeated by values is decided when the model runs.
#include <algorithm>

#include "convert/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {
namespace {

bool holds(const Value& value) {
  if (!value.is_tensor() || value.tensor().numel() != 1)
    throw Error(TN_INVALID_ARGUMENT, "a condition that is not one element");
  return value.tensor().item<double>() != 0;
}

Results if_of(const Call& call) {
  return call.run(call.graph(holds(call.value(0)) ? "then_branch" : "else_branch"), {});
}

// What a scan output is where nothing was computed: as the body declares it.
Tensor nothing(const ValueProto& port) {
  std::vector<int64_t> shape = {0};
  for (const Dimension& dimension : port.shape)
    shape.push_back(std::max<int64_t>(0, dimension.size));
  const Type type = port.type == Type::Undefined ? Type::F32 : port.type;
  return zeros(shape, dtype_of_type(storage_of(type), "a scan output"));
}

Tensor stacked(const std::vector<Tensor>& parts, const ValueProto& port, int64_t axis) {
  return parts.empty() ? nothing(port) : stack(parts, axis);
}

Results loop(const Call& call) {
  const GraphProto& body = call.graph("body");
  const size_t carried = call.size() < 2 ? 0 : call.size() - 2;
  if (body.outputs.size() < 1 + carried) call.fail("a body of too few results");
  const int64_t trips = call.has(0) ? call.integer(0) : INT64_MAX;
  bool going = !call.has(1) || holds(call.value(1));
  std::vector<Value> state;
  for (size_t i = 0; i < carried; ++i)
    state.push_back(call.has(i + 2) ? call.value(i + 2) : Value());
  std::vector<std::vector<Tensor>> scans(body.outputs.size() - 1 - carried);
  for (int64_t trip = 0; trip < trips && going; ++trip) {
    std::vector<Value> inputs = {tensor(trip), tensor(going)};
    inputs.insert(inputs.end(), state.begin(), state.end());
    std::vector<Value> results = call.run(body, std::move(inputs));
    going = holds(results[0]);
    for (size_t i = 0; i < carried; ++i) state[i] = results[i + 1];
    for (size_t i = 0; i < scans.size(); ++i) scans[i].push_back(results[1 + carried + i].tensor());
  }
  std::vector<Value> results = std::move(state);
  for (size_t i = 0; i < scans.size(); ++i)
    results.emplace_back(stacked(scans[i], body.outputs[1 + carried + i], 0));
  return results;
}

int64_t at(const std::vector<int64_t>& list, size_t i) { return i < list.size() ? list[i] : 0; }

Results scan(const Call& call) {
  const GraphProto& body = call.graph("body");
  const auto scanned = static_cast<size_t>(call.i("num_scan_inputs", 1));
  if (scanned < 1 || scanned > call.size()) call.fail("num_scan_inputs");
  const size_t carried = call.size() - scanned;
  if (body.outputs.size() < carried) call.fail("a body of too few results");
  const auto axes = call.list("scan_input_axes"), backward = call.list("scan_input_directions"),
             out_axes = call.list("scan_output_axes"),
             out_backward = call.list("scan_output_directions");
  std::vector<std::vector<Tensor>> parts;
  for (size_t i = 0; i < scanned; ++i) {
    const Tensor x = call.x(carried + i);
    parts.push_back(x.unbind(wrap(at(axes, i), x.ndim())));
    if (at(backward, i) != 0) std::ranges::reverse(parts.back());
    if (parts[i].size() != parts[0].size()) call.fail("scanned inputs of different lengths");
  }
  std::vector<Value> state;
  for (size_t i = 0; i < carried; ++i) state.push_back(call.value(i));
  std::vector<std::vector<Tensor>> scans(body.outputs.size() - carried);
  for (size_t trip = 0; trip < parts[0].size(); ++trip) {
    std::vector<Value> inputs = state;
    for (const auto& part : parts) inputs.emplace_back(part[trip]);
    std::vector<Value> results = call.run(body, std::move(inputs));
    for (size_t i = 0; i < carried; ++i) state[i] = results[i];
    for (size_t i = 0; i < scans.size(); ++i) scans[i].push_back(results[carried + i].tensor());
  }
  std::vector<Value> results = std::move(state);
  for (size_t i = 0; i < scans.size(); ++i) {
    if (at(out_backward, i) != 0) std::ranges::reverse(scans[i]);
    const int64_t rank = scans[i].empty() ? 1 : scans[i][0].ndim() + 1;
    results.emplace_back(stacked(scans[i], body.outputs[carried + i], wrap(at(out_axes, i), rank)));
  }
  return results;
}

// Before opset 9 every operand begins with the batch, whose entries are scanned by themselves along dimension 1.
Results batched_scan(const Call& call) {
  const GraphProto& body = call.graph("body");
  if (call.has(0)) call.unsupported("Scan of sequences of different lengths");
  const auto scanned = static_cast<size_t>(call.i("num_scan_inputs", 1));
  if (scanned + 1 > call.size()) call.fail("num_scan_inputs");
  const size_t carried = call.size() - 1 - scanned;
  if (scanned < 1 || body.outputs.size() < carried) call.fail("a body of too few results");
  const Tensor first = call.x(1 + carried);
  std::vector<std::vector<Tensor>> found(body.outputs.size());
  for (int64_t b = 0; b < first.shape(0); ++b) {
    std::vector<Value> state;
    for (size_t i = 0; i < carried; ++i) state.emplace_back(call.x(1 + i).select(0, b));
    std::vector<std::vector<Tensor>> scans(found.size() - carried);
    for (int64_t t = 0; t < first.shape(1); ++t) {
      std::vector<Value> inputs = state;
      for (size_t i = 0; i < scanned; ++i)
        inputs.emplace_back(call.x(1 + carried + i).select(0, b).select(0, t));
      const std::vector<Value> results = call.run(body, std::move(inputs));
      for (size_t i = 0; i < carried; ++i) state[i] = results[i];
      for (size_t i = 0; i < scans.size(); ++i) scans[i].push_back(results[carried + i].tensor());
    }
    for (size_t i = 0; i < carried; ++i) found[i].push_back(state[i].tensor());
    for (size_t i = 0; i < scans.size(); ++i)
      found[carried + i].push_back(stacked(scans[i], body.outputs[carried + i], 0));
  }
  std::vector<Value> results;
  for (size_t i = 0; i < found.size(); ++i)
    results.emplace_back(stacked(found[i], body.outputs[i], 0));
  return results;
}

// Other inputs than the first may be tensors, which every element of the sequence sees.
Results sequence_map(const Call& call) {
  const GraphProto& body = call.graph("body");
  const std::vector<Value> first = call.sequence(0);
  std::vector<std::vector<Value>> made(body.outputs.size());
  for (size_t n = 0; n < first.size(); ++n) {
    std::vector<Value> inputs;
    for (size_t i = 0; i < call.size(); ++i) {
      const Value& value = call.value(i);
      if (value.is_sequence() && n >= value.items().size())
        call.fail("sequences of different lengths");
      inputs.push_back(value.is_sequence() ? value.items()[n] : value);
    }
    const std::vector<Value> results = call.run(body, std::move(inputs));
    for (size_t i = 0; i < made.size(); ++i) made[i].push_back(results[i]);
  }
  return std::vector<Value>(made.begin(), made.end());
}

}  // namespace

Family control_ops() {
  static const Entry ops[] = {
      {"If", 1, if_of},
      {"Loop", 1, loop},
      {"Scan", 8, batched_scan, "", 8},
      {"Scan", 9, scan},
      {"SequenceMap", 17, sequence_map},
  };
  return ops;
}

}  // namespace tenon::onnx
