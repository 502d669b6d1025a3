// Control flow. Values decide which body runs and how often: the model's values, or those of each run of a program.
#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>

#include "convert/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {
namespace {

using In = std::span<const Tensor>;

void check_flag(const Value& value) {
  if (!value.is_tensor() || value.tensor().numel() != 1)
    throw Error(TN_INVALID_ARGUMENT, "a condition that is not one element");
}
bool holds(const Value& value) {
  check_flag(value);
  return value.tensor().item<double>() != 0;
}

std::vector<Tensor> tensors_of(const std::vector<Value>& values) {
  std::vector<Tensor> made;
  for (const Value& value : values) {
    if (!value.is_tensor())
      throw Error(
          TN_UNIMPLEMENTED,
          "a body that a program runs takes and gives tensors: a sequence is not supported");
    made.push_back(value.tensor());
  }
  return made;
}

// Records a branch as a body of the trace and returns how many tensors it gives. A branch that cannot be computed for these shapes is
// recorded as a refusal: some models choose by a sampling rate that goes with a length.
size_t record_branch(const Call& call, const GraphProto& body) {
  detail::check(tn_trace_body_begin(nullptr, 0, nullptr));
  std::vector<Tensor> results;
  try {
    results = tensors_of(call.run(body, {}));
  } catch (const Error& error) {
    const bool by_shape = error.code() == TN_INVALID_ARGUMENT || error.code() == TN_OUT_OF_RANGE;
    detail::check(by_shape ? tn_trace_body_refuse(detail::to_str(std::string_view(error.what())))
                           : tn_trace_body_drop());
    if (!by_shape) throw;
    return 0;
  }
  detail::check(
      tn_trace_body_end(TensorList(results).handles(), static_cast<uint32_t>(results.size())));
  return results.size();
}

// A program decides in each run, by a node with both branches. Both must give the same shapes.
Results if_of(const Call& call) {
  const GraphProto &then_body = call.graph("then_branch"), &else_body = call.graph("else_branch");
  if (!traced(call.value(0))) return call.run(holds(call.value(0)) ? then_body : else_body, {});
  check_flag(call.value(0));
  const size_t thens = record_branch(call, then_body), elses = record_branch(call, else_body);
  return graph::detail::record_control(TN_CONTROL_COND, {call.x(0)}, 0, std::max(thens, elses));
}

// The empty scan output when no iteration ran, as the body declares it.
Tensor nothing(const ValueProto& port) {
  std::vector<int64_t> shape = {0};
  for (const Dimension& dimension : port.shape)
    shape.push_back(std::max<int64_t>(0, dimension.size));
  const Type type = port.type == Type::Undefined ? Type::F32 : port.type;
  return zeros(shape, dtype_of_type(storage_of(type), "a scan output"));
}

Tensor stacked(const std::vector<Tensor>& parts, const ValueProto& port) {
  return parts.empty() ? nothing(port) : stack(parts, 0);
}

std::vector<Value> values_of(In tensors) { return {tensors.begin(), tensors.end()}; }

// Loop counts iterations and may end on a condition. A trace records a body that a program repeats, as often as its operands or values say.
// A body that needs other sizes in each iteration, or reads elements, is unrolled instead.
class Loop {
 public:
  explicit Loop(const Call& call) : call_(call), body_(call.graph("body")) {
    const size_t carried = call.size() < 2 ? 0 : call.size() - 2;
    if (body_.outputs.size() < 1 + carried) call.fail("a body of too few results");
    stacks_ = body_.outputs.size() - 1 - carried;
    for (size_t i = 0; i < carried; ++i)
      state_.push_back(call.has(i + 2) ? call.value(i + 2) : Value());
  }

  Results run() {
    if (!call_.reads_traced()) return unrolled();
    bool by_values = is_traced(0) || is_traced(1);
    try {
      if (!by_values && call_.has(0)) {
        if (trips() < 1 || !begins()) return unrolled();
        if (std::optional<Results> found = counted()) return *found;
        by_values = true;
      }
      return repeated();
    } catch (const Error&) {
      if (by_values) throw;
      refused_ = std::current_exception();
    }
    return unrolled();
  }

 private:
  bool is_traced(size_t input) const { return call_.has(input) && traced(call_.value(input)); }
  int64_t trips() const { return call_.has(0) ? call_.integer(0) : INT64_MAX; }
  bool begins() const { return !call_.has(1) || holds(call_.value(1)); }
  // The condition, the carried values, and the values to stack.
  std::vector<Value> turn(const Tensor& trip, const Tensor& going, std::vector<Value> state) const {
    state.insert(state.begin(), {trip, going});
    return call_.run(body_, std::move(state));
  }

  Results unrolled() const {
    const int64_t most = trips();
    bool going = begins();
    std::vector<Value> results = state_;
    std::vector<std::vector<Tensor>> stacks(stacks_);
    for (int64_t trip = 0; trip < most && going; ++trip) {
      const std::vector<Value> found = turn(tensor(trip), tensor(going), results);
      if (refused_ && traced(found[0])) std::rethrow_exception(refused_);
      going = holds(found[0]);
      std::copy_n(found.begin() + 1, results.size(), results.begin());
      for (size_t i = 0; i < stacks_; ++i)
        stacks[i].push_back(found[1 + results.size() + i].tensor());
    }
    for (size_t i = 0; i < stacks_; ++i)
      results.emplace_back(stacked(stacks[i], body_.outputs[1 + state_.size() + i]));
    return results;
  }

  // Nothing if the body's values decide how long to go on.
  std::optional<Results> counted() const {
    bool decides = false;
    const auto body = [&](In in) {
      std::vector<Value> found = turn(in.back(), tensor(true), values_of(in.first(in.size() - 1)));
      decides = traced(found[0]);
      if (decides || !holds(found[0])) throw Error(TN_UNIMPLEMENTED, "a body that ends the loop");
      found.erase(found.begin());
      return tensors_of(found);
    };
    try {
      return graph::scan(body, tensors_of(state_), {arange(0, trips(), 1, DType::I64)});
    } catch (const Error&) {
      if (!decides) throw;
    }
    return std::nullopt;
  }

  // Repeats for as long as values say.
  Results repeated() const {
    if (stacks_ != 0)
      call_.unsupported("to stack what a loop gives in as many turns as values tell");
    std::vector<Tensor> state = tensors_of(state_);
    const Tensor going = call_.has(1) ? call_.x(1) : tensor(true);
    state.insert(state.begin(), {tensor(int64_t{0}), going});
    const auto goes_on = [&](In in) {
      return call_.has(0) ? logical_and(in[1], less(in[0], call_.x(0))) : in[1];
    };
    const auto body = [&](In in) {
      std::vector<Tensor> found = tensors_of(turn(in[0], in[1], values_of(in.subspan(2))));
      found[0] = found[0].reshape(going.shape());
      found.insert(found.begin(), in[0] + 1);
      return found;
    };
    std::vector<Tensor> found = graph::loop(goes_on, body, std::move(state));
    found.erase(found.begin(), found.begin() + 2);
    return found;
  }

  const Call& call_;
  const GraphProto& body_;
  std::vector<Value> state_;
  size_t stacks_ = 0;
  std::exception_ptr refused_;  // why it cannot be a loop of the program
};

Results loop(const Call& call) { return Loop(call).run(); }

int64_t at(const std::vector<int64_t>& list, size_t i) { return i < list.size() ? list[i] : 0; }

Tensor moved(const Tensor& x, int64_t from, int64_t to) {
  std::vector<int64_t> order(static_cast<size_t>(x.ndim()));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return from == to ? x : x.permute(order);
}

// Runs the body for each slice along the first dimension. Returns the last carried and the stacked slices.
std::vector<Tensor> scanned(const Call& call, const GraphProto& body, std::vector<Tensor> carried,
                            const std::vector<Tensor>& slices) {
  if (body.outputs.size() < carried.size()) call.fail("a body of too few results");
  if (slices[0].shape(0) == 0) {
    for (size_t i = carried.size(); i < body.outputs.size(); ++i)
      carried.push_back(nothing(body.outputs[i]));
    return carried;
  }
  return graph::scan([&](In in) { return tensors_of(call.run(body, values_of(in))); },
                     std::move(carried), slices);
}

Results scan(const Call& call) {
  const GraphProto& body = call.graph("body");
  const auto count = static_cast<size_t>(call.i("num_scan_inputs", 1));
  if (count < 1 || count > call.size()) call.fail("num_scan_inputs");
  const auto axes = call.list("scan_input_axes"), backward = call.list("scan_input_directions"),
             out_axes = call.list("scan_output_axes"),
             out_backward = call.list("scan_output_directions");
  std::vector<Tensor> carried = call.tensors();
  std::vector<Tensor> slices(carried.end() - static_cast<std::ptrdiff_t>(count), carried.end());
  carried.resize(carried.size() - count);
  const size_t state = carried.size();
  for (size_t i = 0; i < count; ++i) {
    Tensor& x = slices[i];
    x = moved(x, wrap(at(axes, i), x.ndim()), 0);
    if (at(backward, i) != 0) x = x.flip({0});
  }
  std::vector<Tensor> results = scanned(call, body, std::move(carried), slices);
  for (size_t i = state; i < results.size(); ++i) {
    Tensor& y = results[i];
    if (at(out_backward, i - state) != 0) y = y.flip({0});
    y = moved(y, 0, wrap(at(out_axes, i - state), y.ndim()));
  }
  return results;
}

// Before opset 9, every operand began with the batch; each entry is scanned separately along dimension 1.
Results batched_scan(const Call& call) {
  const GraphProto& body = call.graph("body");
  if (call.has(0)) call.unsupported("Scan of sequences of different lengths");
  const auto count = static_cast<size_t>(call.i("num_scan_inputs", 1));
  if (count < 1 || count + 1 > call.size()) call.fail("num_scan_inputs");
  const std::vector<Tensor> operands = call.tensors(1);
  std::vector<std::vector<Tensor>> found(body.outputs.size());
  for (int64_t b = 0; b < operands.back().shape(0); ++b) {
    std::vector<Tensor> of_entry;
    for (const Tensor& one : operands) of_entry.push_back(one.select(0, b));
    const std::vector<Tensor> slices(of_entry.end() - static_cast<std::ptrdiff_t>(count),
                                     of_entry.end());
    of_entry.resize(of_entry.size() - count);
    const std::vector<Tensor> results = scanned(call, body, std::move(of_entry), slices);
    for (size_t i = 0; i < found.size(); ++i) found[i].push_back(results[i]);
  }
  std::vector<Value> results;
  for (size_t i = 0; i < found.size(); ++i)
    results.emplace_back(stacked(found[i], body.outputs[i]));
  return results;
}

// Inputs other than the first may be plain tensors, which every element of the sequence gets.
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
