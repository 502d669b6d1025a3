// A function of tensors, run once over tensors without elements, as a graph of what it called.
#pragma once

#include <unordered_map>

#include "tenon/autograd.hpp"
#include "trace/recorder.hpp"

namespace tenon::graph {

// From its construction to finish() or its end, on one thread. Calls of constants alone compute as usual; where a constant meets what is
// traced it becomes a weight of the graph, which shares its elements.
class Tracer {
 public:
  Tracer();
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // What stands for an input like this one.
  Tensor input(const Tensor& like, std::string name);
  // Names a tensor from outside: its weight is called so.
  void name(const Tensor& tensor, std::string name);
  // The graph whose results these are. Throws Error where it would write into what is not its own.
  Graph finish(std::span<const Tensor> results);

 private:
  // Of a call, changed, and what they point at.
  struct Arguments {
    std::vector<tn_value> values;
    std::vector<Tensor> held;
    std::vector<std::vector<tn_tensor*>> lists;
  };
  Arguments convert(const tn_op& op, std::span<const tn_value> args);
  tn_status* call(const tn_op& op, std::span<const tn_value> args, tn_tensor** outs, uint32_t nouts,
                  uint32_t& done);
  tn_status* call_into(const tn_op& op, std::span<const tn_value> args, tn_tensor* const* outs,
                       uint32_t nouts, uint32_t& done);
  bool concerns(const tn_op& op, std::span<const tn_value> args) const;
  // The traced tensor for one from outside.
  Tensor twin(const Tensor& tensor);
  void check_writes() const;

  NoGrad no_grad_;
  Recorder recorder_;
  tn_call_layer layer_{};
  std::vector<View> inputs_;
  bool differentiable_ = false;
  struct Twin {
    Tensor original, traced;  // the first is held: its address stays its own
  };
  std::unordered_map<const void*, std::vector<Twin>> twins_;  // by the first element, or the handle
  std::unordered_map<const void*, std::string> names_;
};

}  // namespace tenon::graph
