// A graph on a device. Any number of threads may run it.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include "ir/reach.hpp"
#include "pass/decisions.hpp"
#include "run/by_calls.hpp"
#include "run/instance.hpp"
#include "run/packing.hpp"
#include "run/pool.hpp"

namespace tenon::graph {

struct Facts {
  size_t nodes = 0;
  size_t bound = 0;      // how many nodes run a kernel without a call
  uint64_t arena = 0;    // bytes that one thread's run works in
  uint64_t apart = 0;    // the same if no two buffers shared memory
  uint64_t weights = 0;  // bytes
  uint64_t state = 0;    // bytes that runs write to
  size_t fused = 0;      // how many ops run inside fused kernels
};

class Program {
 public:
  Program(const Graph& graph, Device device)
      : Program(graph, device, graph.writes_outside(), !graph.sizes.empty()) {}
  // `sized`: one of those that some sizes each have of their own.
  Program(Graph graph, Device device, bool exact, bool sized);
  // Of a program for any sizes, which outlives it, at these. `concrete`: its graph there.
  Program(Program& whole, std::vector<int64_t> dims, const Graph& concrete);

  const Graph& graph() const { return graph_; }
  const Device& device() const { return device_; }
  Facts facts();
  // The graph as the device runs it.
  std::string text();
  // The graph with kernels and memory, and why nodes were not fused.
  std::string explain();
  // The same as a picture.
  std::string svg();

  // [any thread] Inputs have the graph's shapes and dtypes. On success each entry of `results` is a new reference. Runs that write to state
  // go one after another. Throws Error.
  void run(std::span<tn_tensor* const> inputs, tn_tensor** results);
  // [any thread] Whether later runs give exactly the bits of the recorded calls, or may round differently.
  void set_exact(bool exact);
  bool exact() const { return exact_; }
  // [any thread] Sets the values of symbols from `first` on, for later runs.
  void set_numbers(size_t first, std::span<const double> values);
  // The current value of a symbol.
  double number(size_t i) const;
  // The graph with the current values of its symbols.
  Graph snapshot() const;

 private:
  // Shared by all instances until kernels come or go.
  struct Lowered {
    Graph graph;
    Arena arena;
    uint64_t epoch;
    bool exact;
    mutable Packing packing;           // changed under the lock, while no run reads it
    std::vector<std::string> refused;  // why nodes were not fused
  };
  struct Taken {
    std::shared_ptr<const Lowered> lowered;
    std::unique_ptr<Instance> instance;
    std::unique_ptr<Memory> memory;  // NULL between runs if it is shared
  };
  // Whether nodes run their kernels directly, without a call.
  bool binds() const;
  std::shared_ptr<const Lowered> lowered_now(const Graph& graph, Decided* decided = nullptr) const;
  std::shared_ptr<const Lowered> lowered_again() const;
  const std::vector<Buffer>& buffers() const { return whole_ ? whole_->buffers() : graph_.buffers; }
  using TakenPtr = std::unique_ptr<Taken>;
  TakenPtr take();
  TakenPtr taken_anew(TakenPtr taken);
  void give(TakenPtr taken);
  void check_type(size_t i, const tn_view& input) const;
  void check_device(size_t i, const tn_tensor* input) const;
  // Before a run writes to inputs: notes that it does. Throws Error if it cannot.
  void announce_writes(std::span<tn_tensor* const> inputs) const;
  // The program for these dims of a graph that has some. The last few are kept. NULL at the first meeting with sizes at which a plan would
  // cost more than it saves in one run: `calls` does that run.
  std::shared_ptr<Program> at(const std::vector<int64_t>& dims, std::unique_ptr<ByCalls>& calls);
  bool begins_by_calls(const Graph& concrete) const;
  std::vector<int64_t> dims_of_inputs(std::span<tn_tensor* const> inputs) const;
  void run_sized(std::span<tn_tensor* const> inputs, tn_tensor** results);
  void check_sized(std::span<tn_tensor* const> inputs) const;
  void set_symbols(const std::vector<Symbol>& symbols);
  void count_up();  // called after each run
  void refresh_derived() const;
  void run_here(std::span<tn_tensor* const> inputs, bool dense, tn_tensor** results);
  void run_traced(const Graph& graph, std::span<tn_tensor* const> inputs,
                  tn_tensor** results) const;

  Graph graph_;  // with a whole_ only what a run reads
  Device device_;
  Program* whole_ = nullptr;
  const bool sized_;
  bool shares_memory_ = false;  // with those that the whole_ planned for other sizes
  std::vector<int64_t> dims_;   // the sizes that this is for, with a whole_
  std::mutex mutex_;
  std::shared_ptr<const Lowered> lowered_;
  Pool<Taken> idle_;
  Pool<Memory> memories_;    // what `planned_` share
  mutable std::mutex turn_;  // held by a run that writes to state or has symbols
  bool in_turn_;
  std::vector<size_t> written_;  // inputs that runs write to
  std::vector<Reach> held_;      // what weights and state take up, if there are such inputs
  struct Planned {
    std::vector<int64_t> dims;
    std::shared_ptr<Program> program;
  };
  std::list<Planned>
      planned_;           // the most recently used first; sizes that were met once have no program
  size_t sizes_met_ = 0;  // how often sizes were new
  Decided decided_;       // shared by `planned_`
  Pool<ByCalls> calls_;
  std::atomic<bool> exact_;
  std::vector<tn_tensor*> state_;  // tensors of the graph that runs write to
};

}  // namespace tenon::graph
