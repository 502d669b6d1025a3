// A graph on a device, run by any number of threads.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include "pass/decisions.hpp"
#include "run/instance.hpp"
#include "run/packing.hpp"

namespace tenon::graph {

struct Facts {
  size_t nodes = 0;
  size_t bound = 0;      // of those, nodes that run a kernel without a call
  uint64_t arena = 0;    // bytes that a thread's run works in
  uint64_t apart = 0;    // what they were if no two buffers shared
  uint64_t weights = 0;  // bytes
  uint64_t state = 0;    // bytes that runs write to
  size_t fused = 0;      // ops that run inside kernels of several
};

class Program {
 public:
  Program(const Graph& graph, Device device)
      : Program(graph, device, graph.writes_state(), nullptr) {}
  // `decided`: for a program at one of several sizes, what they share; only the constructor uses it.
  Program(Graph graph, Device device, bool exact, Decided* decided);
  ~Program() { delete handy_.load(); }

  const Graph& graph() const { return graph_; }
  const Device& device() const { return device_; }
  Facts facts();
  // The graph as the device runs it.
  std::string text();
  // With its kernels and memory, and why nodes were not fused.
  std::string explain();
  // The same as a picture.
  std::string svg();

  // [any thread] Inputs have the shapes and dtypes of the graph's; `results` takes a new reference for each of its results, or, on an
  // error, none. Runs that write into state go one after another. Throws Error.
  void run(std::span<tn_tensor* const> inputs, tn_tensor** results);
  // [any thread] Whether results keep the bits of the recorded calls; else rounding may differ. For the runs that begin later.
  void set_exact(bool exact);
  bool exact() const { return exact_; }
  // [any thread] Those from `first` on, for the runs that begin later.
  void set_numbers(size_t first, std::span<const double> values);
  // A symbol's value now.
  double number(size_t i) const;
  // The graph with the values that its symbols have now.
  Graph snapshot() const;

 private:
  // What all instances share, until kernels come or go.
  struct Lowered {
    Graph graph;
    Arena arena;
    uint64_t epoch;
    bool exact;
    mutable Packing packing;           // changed under the lock, while nothing runs that reads it
    std::vector<std::string> refused;  // why nodes were not fused
  };
  struct Taken {
    std::shared_ptr<const Lowered> lowered;
    std::unique_ptr<Instance> instance;
  };
  // Whether nodes run their kernels, without a call.
  bool binds() const;
  std::shared_ptr<const Lowered> lowered_now(Decided* decided = nullptr) const;
  using TakenPtr = std::unique_ptr<Taken>;
  TakenPtr take();
  void give(TakenPtr taken);
  void check_type(size_t i, const tn_view& input) const;
  void check_device(size_t i, const tn_tensor* input) const;
  // That of a graph with dims for these sizes of them; the last few are kept.
  std::shared_ptr<Program> at(std::vector<int64_t> dims);
  std::vector<int64_t> dims_of_inputs(std::span<tn_tensor* const> inputs) const;
  void run_sized(std::span<tn_tensor* const> inputs, tn_tensor** results);
  void check_sized(std::span<tn_tensor* const> inputs) const;
  void set_symbols(const std::vector<Symbol>& symbols);
  void count_up();  // a run is over
  void run_here(std::span<tn_tensor* const> inputs, bool dense, tn_tensor** results);
  void run_traced(const Graph& graph, std::span<tn_tensor* const> inputs,
                  tn_tensor** results) const;

  Graph graph_;
  Device device_;
  std::mutex mutex_;
  std::shared_ptr<const Lowered> lowered_;
  std::vector<TakenPtr> idle_;
  std::atomic<Taken*> handy_{
      nullptr};  // what the last run gave back, for the next one to take without the lock
  mutable std::mutex turn_;  // of a run that writes into state, or has symbols
  bool in_turn_;
  struct Planned {
    std::vector<int64_t> dims;
    std::shared_ptr<Program> program;
  };
  std::list<Planned> planned_;  // the last used first
  Decided decided_;             // for them
  std::atomic<bool> exact_;
  std::vector<tn_tensor*> state_;  // what runs write to, which the graph holds
};

}  // namespace tenon::graph
