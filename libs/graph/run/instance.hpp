// A lowered graph with memory: what one thread runs.
#pragma once

#include <memory>

#include "plan/arena.hpp"
#include "run/bound_call.hpp"

namespace tenon::graph {

class Instance {
 public:
  // `graph`, whose weights are on the device, outlives it. `bind`: nodes run their kernels, on the host; else they are called.
  Instance(const Graph& graph, const Arena& arena, const Device& device, bool bind);
  Instance(const Instance&) = delete;

  // Inputs are contiguous, on the device. `symbols`: the graph's, with this run's values. `results` takes a new reference for each
  // result, or, on an error, none.
  void run(std::span<tn_tensor* const> inputs, std::span<const Symbol> symbols,
           tn_tensor** results);

 private:
  struct Step {
    tn_status* (*run)(void* self, void* plan, const tn_call* call);
    void* self;
    void* plan;
    const tn_call* call;
    const Node* node;
  };
  // A buffer of results, which each run makes anew.
  struct Made {
    uint32_t buffer;
    Dims shape;
  };
  void place(const Arena& arena);
  void give_results(tn_tensor** results) const;
  void add_call(const Node& node);
  tn_status* run_steps() const;
  void set(uint32_t buffer, const tn_tensor* tensor);

  const Graph& graph_;
  Device device_;
  std::vector<Tensor> flats_;  // by buffer, contiguous; of inputs and results those of this run
  std::vector<Made> made_;
  std::vector<bool> whole_;    // by result: it is the buffer as it was made
  bool keeps_inputs_ = false;  // a call or a result wants them as tensors
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<BoundCall>> bound_;
  std::vector<BoundCall*> varying_;  // those with symbols
  std::span<const Symbol> symbols_;  // of this run
  struct Called {
    const Node* node;
    Instance* instance;
  };
  std::vector<std::unique_ptr<Called>> called_;
  std::vector<std::vector<Patch>> patches_;  // by buffer, of those that each run sets anew
  Tensor scratch_;
};

}  // namespace tenon::graph
