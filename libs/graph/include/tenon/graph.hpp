// Programs: functions of tensors, recorded once as a graph of ops, that then run without the code that made them. In C: tenon/graph.h.
//
//   Program program = graph::trace({x}, [&](std::span<const Tensor> in) { return std::vector{net(in[0])}; });
//   Tensor y = program({x})[0];
//   program.save("net.tenon");                          // with its weights; runs from C++, C and Python
#ifndef TENON_GRAPH_HPP
#define TENON_GRAPH_HPP

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tenon/graph.h"
#include "tenon/tensor.hpp"

namespace tenon::graph {

// A graph of ops on a device. Copies share it, and any thread may run it.
class Program {
 public:
  Program() noexcept = default;
  static Program adopt(tn_program* handle) {
    Program made;
    made.handle_ = {handle, &tn_program_release};
    made.results_ = made.info().results;
    return made;
  }

  bool defined() const noexcept { return handle_ != nullptr; }
  tn_program* get() const noexcept { return handle_.get(); }
  Device device() const { return Device(tn_program_device(get())); }

  // Returns new tensors. Inputs need the recorded shapes and dtypes, on the program's device.
  std::vector<Tensor> operator()(TensorList inputs) const {
    std::vector<tn_tensor*> results(results_);
    detail::check(tn_program_run(get(), inputs.handles(), static_cast<uint32_t>(inputs.size()),
                                 results.data(), static_cast<uint32_t>(results.size())));
    std::vector<Tensor> made;
    for (tn_tensor* result : results) made.push_back(Tensor::adopt(result));
    return made;
  }
  void save(const std::string& path) const {
    detail::check(tn_program_save(get(), detail::to_str(path)));
  }
  // A program whose products by large constant weights use 8-bit integers. `samples`, a list of lists of inputs, fixes the ranges
  // (tn_program_quantize).
  Program quantize(const std::vector<std::vector<Tensor>>& samples = {}) const {
    std::vector<tn_tensor*> handles;
    for (const auto& inputs : samples)
      for (const Tensor& input : inputs) handles.push_back(input.get());
    tn_program* made = nullptr;
    detail::check(
        tn_program_quantize(get(), handles.data(), static_cast<uint32_t>(handles.size()), &made));
    return adopt(made);
  }
  tn_program_info info() const {
    tn_program_info info{};
    info.struct_size = sizeof info;
    detail::check(tn_program_get_info(get(), &info));
    return info;
  }
  // Numbers that each run may change, by name. Counts grow by themselves.
  std::map<std::string, double> numbers() const {
    std::map<std::string, double> all;
    for (uint32_t i = 0; i < info().numbers; ++i) {
      const tn_program_number number = this->number(i);
      all.emplace(detail::to_view(number.name), number.value);
    }
    return all;
  }
  void set_number(std::string_view name, double value) {
    const uint32_t count = info().numbers;
    uint32_t i = 0;
    while (i < count && detail::to_view(number(i).name) != name) ++i;
    if (i == count) throw Error(TN_NOT_FOUND, "[graph] no number is called " + std::string(name));
    detail::check(tn_program_set_numbers(get(), i, &value, 1));
  }
  // Whether results have exactly the bits of the recorded calls, or may round differently (tn_program_set_exact).
  void set_exact(bool exact) { detail::check(tn_program_set_exact(get(), exact ? 1 : 0)); }
  // The graph as it was recorded, or lowered to its device.
  std::string text(bool lowered = false) const {
    return print(lowered ? TN_PROGRAM_LOWERED : TN_PROGRAM_RECORDED);
  }
  // The lowered graph with kernels, fusion, places in memory, and why nodes run alone.
  std::string explain() const { return print(TN_PROGRAM_EXPLAINED); }
  // The lowered graph as a picture: an SVG document.
  std::string svg() const { return print(TN_PROGRAM_DRAWN); }

 private:
  std::string print(uint32_t form) const {
    std::string text;
    detail::check(tn_program_print(get(), form, &detail::append_text, &text));
    return text;
  }

  tn_program_number number(uint32_t i) const {
    tn_program_number found{};
    found.struct_size = sizeof found;
    detail::check(tn_program_get_number(get(), i, &found));
    return found;
  }

  std::shared_ptr<tn_program> handle_;
  uint32_t results_ = 0;
};

// Loads a program from a file. Undefined device: the host.
inline Program load(const std::string& path, Device device = {}) {
  tn_program* program = nullptr;
  detail::check(tn_program_load(detail::to_str(path), device.get(), &program));
  return Program::adopt(program);
}

namespace detail {
using namespace tenon::
    detail;  // NOLINT(google-build-using-namespace): it stands in for that one here
using Recording = std::unique_ptr<tn_trace, void (*)(tn_trace*)>;

// What stands for inputs like these.
inline std::vector<Tensor> inputs_like(tn_trace* trace, TensorList like) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < like.size(); ++i) {
    const std::string name = "input" + std::to_string(i);
    tn_tensor* made = nullptr;
    check(tn_trace_input(trace, like[i].get(), to_str(name), &made));
    inputs.push_back(Tensor::adopt(made));
  }
  return inputs;
}
inline Program end_trace(Recording recording, const std::vector<Tensor>& results,
                         const Device& device) {
  tn_program* program = nullptr;
  check(tn_trace_end(recording.release(), TensorList(results).handles(),
                     static_cast<uint32_t>(results.size()), device.get(), &program));
  return Program::adopt(program);
}
}  // namespace detail

// Records fn(std::span<const Tensor>), which returns a list of tensors. It is called once, with tensors that have no elements. Throws Error
// if fn reads an element or writes to memory that is not its own. Undefined device: that of the first input.
template <class Fn>
Program trace(TensorList like, Fn&& fn, Device device = {}) {
  tn_trace* began = nullptr;
  detail::check(tn_trace_begin(&began));
  detail::Recording recording(began, &tn_trace_drop);
  const std::vector<Tensor> inputs = detail::inputs_like(began, like);
  const std::vector<Tensor> results = fn(std::span<const Tensor>(inputs));
  return detail::end_trace(std::move(recording), results, device);
}

// A dimension of the inputs whose size each run chooses. 0: at least 1, no upper limit, and the multiples that the function takes.
struct Dim {
  std::string name;
  int64_t min = 0, max = 0;
  uint32_t multiple = 0;
};
// By input: its dims, by dimension. Equal names are one size.
using Dims = std::vector<std::map<uint32_t, Dim>>;

// The same for any sizes of these dims: fn is called at several sizes, and whatever differs must follow from the sizes. Throws Error if it
// does not, for example if fn branches on a size.
template <class Fn>
Program trace(TensorList like, const Dims& dims, Fn&& fn, Device device = {}) {
  std::vector<tn_trace_dim> declared;
  std::vector<std::vector<int32_t>> places;
  for (size_t i = 0; i < like.size(); ++i) {
    auto& of = places.emplace_back(like[i].shape().size(), -1);
    if (i >= dims.size()) continue;
    for (const auto& [axis, dim] : dims[i]) {
      if (axis >= of.size())
        throw Error(TN_OUT_OF_RANGE, "[graph] input " + std::to_string(i) + " has no dimension " +
                                         std::to_string(axis));
      const auto same = [&name = dim.name](const tn_trace_dim& one) {
        return detail::to_view(one.name) == name;
      };
      const auto known = std::ranges::find_if(declared, same);
      of[axis] = static_cast<int32_t>(known - declared.begin());
      if (known == declared.end())
        declared.push_back(
            {sizeof(tn_trace_dim), dim.multiple, detail::to_str(dim.name), dim.min, dim.max});
    }
  }
  tn_trace* began = nullptr;
  detail::check(
      tn_trace_begin_sizes(declared.data(), static_cast<uint32_t>(declared.size()), &began));
  detail::Recording recording(began, &tn_trace_drop);
  std::exception_ptr
      failure;  // the function's own, at a size that is done without if another one is found
  for (uint32_t more = 1; more != 0;) {
    std::vector<Tensor> inputs, results;
    for (size_t i = 0; i < like.size(); ++i) {
      const std::string name = "input" + std::to_string(i);
      tn_tensor* made = nullptr;
      detail::check(tn_trace_input_sized(began, like[i].get(), detail::to_str(name),
                                         places[i].data(), &made));
      inputs.push_back(Tensor::adopt(made));
    }
    try {
      results = fn(std::span<const Tensor>(inputs));
    } catch (...) {
      if (tn_status* refused = tn_trace_failed(began, &more)) {
        tn_status_release(refused);
        throw;  // rethrows what the function threw
      }
      if (!failure) failure = std::current_exception();
      continue;
    }
    tn_status* refused = tn_trace_next(began, TensorList(results).handles(),
                                       static_cast<uint32_t>(results.size()), &more);
    if (refused != nullptr && failure && tn_trace_function_failed(began) != 0) {
      tn_status_release(refused);
      std::rethrow_exception(failure);
    }
    detail::check(refused);
  }
  return detail::end_trace(std::move(recording), {}, device);
}

// ---- Control flow: runs plainly in eager mode, with gradients, and is recorded inside a trace ------------------------------------

namespace detail {
inline bool holds(const Tensor& flag) { return flag.item<double>() != 0; }

// Records body(inputs), called with stand-ins for tensors like these, and returns how many tensors it gives. A body that throws is dropped.
template <class Body>
size_t record_body(TensorList like, Body&& body) {
  std::vector<tn_tensor*> handles(like.size());
  check(tn_trace_body_begin(like.handles(), static_cast<uint32_t>(like.size()), handles.data()));
  std::vector<Tensor> inputs;
  for (tn_tensor* handle : handles) inputs.push_back(Tensor::adopt(handle));
  std::vector<Tensor> results;
  try {
    results = body(std::span<const Tensor>(inputs));
  } catch (...) {
    tn_status_release(tn_trace_body_drop());
    throw;
  }
  check(tn_trace_body_end(TensorList(results).handles(), static_cast<uint32_t>(results.size())));
  return results.size();
}

inline std::vector<Tensor> record_control(uint32_t kind, TensorList operands, size_t carried,
                                          size_t count) {
  std::vector<tn_tensor*> handles(count);
  check(tn_trace_control(kind, operands.handles(), static_cast<uint32_t>(operands.size()),
                         static_cast<uint32_t>(carried), handles.data(),
                         static_cast<uint32_t>(count)));
  std::vector<Tensor> results;
  for (tn_tensor* handle : handles) results.push_back(Tensor::adopt(handle));
  return results;
}
}  // namespace detail

// then_fn() if the predicate, of one element, is true, else else_fn(). Both return lists of tensors of the same shapes and dtypes.
template <class Then, class Else>
std::vector<Tensor> cond(const Tensor& predicate, Then&& then_fn, Else&& else_fn) {
  if (tn_trace_active() == 0) return detail::holds(predicate) ? then_fn() : else_fn();
  const auto without = [](auto& fn) { return [&fn](std::span<const Tensor>) { return fn(); }; };
  detail::record_body({}, without(then_fn));
  const size_t count = detail::record_body({}, without(else_fn));
  return detail::record_control(TN_CONTROL_COND, {predicate}, 0, count);
}

// While condition(state), of one element, is true: state = body(state). The state keeps its shapes and dtypes.
template <class Condition, class Body>
std::vector<Tensor> loop(Condition&& condition, Body&& body, std::vector<Tensor> state) {
  if (tn_trace_active() == 0) {
    while (detail::holds(condition(std::span<const Tensor>(state))))
      state = body(std::span<const Tensor>(state));
    return state;
  }
  detail::record_body(
      state, [&](std::span<const Tensor> in) { return std::vector<Tensor>{condition(in)}; });
  const size_t count = detail::record_body(state, body);
  return detail::record_control(TN_CONTROL_LOOP, state, state.size(), count);
}

// Calls body(carried, slices) for each slice of `scanned` along the first dimension, at least one. It returns one list: the next carried
// and any slices to stack. Returns the last carried and the stacked slices.
template <class Body>
std::vector<Tensor> scan(Body&& body, std::vector<Tensor> carried,
                         const std::vector<Tensor>& scanned) {
  if (scanned.empty() || scanned[0].ndim() == 0 || scanned[0].shape(0) == 0)
    throw Error(TN_INVALID_ARGUMENT, "[graph.scan] needs at least one tensor to scan");
  for (const Tensor& one : scanned)
    if (one.ndim() == 0 || one.shape(0) != scanned[0].shape(0))
      throw Error(TN_INVALID_ARGUMENT,
                  "[graph.scan] the scanned tensors must have the same first dimension");
  const size_t count = carried.size();
  const auto inputs_at = [&](int64_t trip) {
    std::vector<Tensor> inputs = carried;
    for (const Tensor& one : scanned) inputs.push_back(one.select(0, trip));
    return inputs;
  };
  if (tn_trace_active() != 0) {
    const size_t given = detail::record_body(inputs_at(0), body);
    std::vector<Tensor> operands = carried;
    operands.insert(operands.end(), scanned.begin(), scanned.end());
    return detail::record_control(TN_CONTROL_SCAN, operands, count, given);
  }
  std::vector<std::vector<Tensor>> stacks;
  for (int64_t trip = 0; trip < scanned[0].shape(0); ++trip) {
    const std::vector<Tensor> inputs = inputs_at(trip);
    std::vector<Tensor> found = body(std::span<const Tensor>(inputs));
    if (found.size() < count)
      throw Error(TN_INVALID_ARGUMENT,
                  "[graph.scan] the body must return every carried tensor first");
    stacks.resize(found.size() - count);
    for (size_t k = count; k < found.size(); ++k) stacks[k - count].push_back(found[k]);
    found.resize(count);
    carried = std::move(found);
  }
  for (const auto& parts : stacks) carried.push_back(stack(parts, 0));
  return carried;
}

}  // namespace tenon::graph
#endif
