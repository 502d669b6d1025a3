// A lowered graph whose calls are built, which one thread can run.
#pragma once

#include <memory>

#include "run/bound_call.hpp"
#include "run/memory.hpp"

namespace tenon::graph {

class Instance {
 public:
  // `graph` and `arena` must outlive this, and the weights must be on the device. `bind`: nodes run their kernels, on the host; otherwise
  // nodes are called.
  Instance(const Graph& graph, const Arena& arena, const Device& device, bool bind);
  Instance(const Instance&) = delete;

  // Whether a run calls no op. Then nothing in it could be recorded for gradients.
  bool calls_nothing() const { return calls_nothing_; }
  // Sets what the next runs work in; it must outlive them. Throws Error.
  void use(Memory& memory);
  // Inputs are contiguous, on the device. `symbols`: the graph's, with this run's values. On success each entry of `results` is a new
  // reference.
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
  // A buffer of results, made anew in each run.
  struct Made {
    uint32_t buffer;
    Dims shape;
  };
  void place();
  void give_results(tn_tensor** results);
  void add_call(const Node& node);
  tn_status* run_steps() const;
  void set(uint32_t buffer, const tn_tensor* tensor);

  const Graph& graph_;
  const Arena& arena_;
  Device device_;
  uint64_t scratch_ = 0;  // bytes that the largest call needs
  uint64_t memory_ = 0;   // the place of the memory that the calls point into
  std::vector<Tensor>
      flats_;  // by buffer, contiguous; inputs and results are this run's. Those of the arena only where nodes are called
  std::vector<Made> made_;
  // What a result is: a part of a buffer, a whole buffer, or a whole buffer that no later result needs.
  enum class Gives : uint8_t { kView, kSame, kLast };
  std::vector<Gives> gives_;   // by result
  bool keeps_inputs_ = false;  // a call or a result uses them as tensors
  bool calls_nothing_ = false;
  std::vector<Step> steps_;
  CallRoom room_;  // what the bound calls consist of
  std::vector<std::unique_ptr<BoundCall>> bound_;
  std::vector<BoundCall*> varying_;  // the calls that have symbols
  std::span<const Symbol> symbols_;  // of this run
  struct Called {
    const Node* node;
    Instance* instance;
  };
  std::vector<std::unique_ptr<Called>> called_;
  std::vector<std::vector<Patch>> patches_;  // by buffer: the pointers that each run sets
};

}  // namespace tenon::graph
