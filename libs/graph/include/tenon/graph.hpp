// Programs: functions of tensors recorded once as a graph of ops, and run without what they were written in. In C: tenon/graph.h.
//
//   Program program = graph::trace({x}, [&](std::span<const Tensor> in) { return std::vector{net(in[0])}; });
//   Tensor y = program({x})[0];
//   program.save("net.tenon");                          // with its weights; runs from C++, C and Python
#ifndef TENON_GRAPH_HPP
#define TENON_GRAPH_HPP

#include <memory>
#include <string>
#include <vector>

#include "tenon/graph.h"
#include "tenon/tensor.hpp"

namespace tenon::graph {

// A graph of ops on a device; copies share it. Any thread may run it.
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

  // New tensors. Inputs have the recorded shapes and dtypes, and lie on the program's device.
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
  tn_program_info info() const {
    tn_program_info info{};
    info.struct_size = sizeof info;
    detail::check(tn_program_get_info(get(), &info));
    return info;
  }
  // As it was recorded, or as its device runs it.
  std::string text(bool lowered = false) const {
    std::string text;
    detail::check(tn_program_print(get(), lowered ? 1 : 0, &detail::append_text, &text));
    return text;
  }

 private:
  std::shared_ptr<tn_program> handle_;
  uint32_t results_ = 0;
};

// The program of a file. Undefined device: the host.
inline Program load(const std::string& path, Device device = {}) {
  tn_program* program = nullptr;
  detail::check(tn_program_load(detail::to_str(path), device.get(), &program));
  return Program::adopt(program);
}

// What fn(std::span<const Tensor>) computes of inputs like these: it is called once, with tensors that have no elements, and returns
// a list of tensors. Throws Error where it reads an element or writes into what is not its own.
template <class Fn>
Program trace(TensorList like, Fn&& fn, Device device = {}) {
  tn_trace* began = nullptr;
  detail::check(tn_trace_begin(&began));
  std::unique_ptr<tn_trace, void (*)(tn_trace*)> recording(began, &tn_trace_drop);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < like.size(); ++i) {
    const std::string name = "input" + std::to_string(i);
    tn_tensor* made = nullptr;
    detail::check(tn_trace_input(began, like[i].get(), detail::to_str(name), &made));
    inputs.push_back(Tensor::adopt(made));
  }
  const std::vector<Tensor> results = fn(std::span<const Tensor>(inputs));
  tn_program* program = nullptr;
  detail::check(tn_trace_end(recording.release(), TensorList(results).handles(),
                             static_cast<uint32_t>(results.size()), device.get(), &program));
  return Program::adopt(program);
}

}  // namespace tenon::graph
#endif
