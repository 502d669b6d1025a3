// A kernel's call, built once. A run only changes the pointers of inputs and results in it.
#pragma once

#include "ir/graph.hpp"
#include "tenon/plugin.h"

namespace tenon::graph {

// A view whose memory changes from run to run.
struct Patch {
  tn_view* view;
  int64_t offset;  // in bytes, from the buffer's first element
};

// What the bound calls of a graph consist of: few allocations for all of them, because graphs are bound anew at each size. Room is reserved
// before the first, so addresses in here stay valid.
struct CallRoom {
  struct Place {
    tn_view view;
    uint32_t buffer;
    int64_t offset;
  };
  void reserve(const Graph& graph);

  std::vector<Place> places;
  std::vector<tn_view> numbers;
  std::vector<tn_value> args;
  std::vector<const tn_view*> views;  // lists of views: results, and arguments
  std::vector<const int64_t*> strides;
};

class BoundCall {
 public:
  // Prepares the kernel's plan. `room` outlives this.
  BoundCall(const Node& node, CallRoom& room);
  ~BoundCall();
  BoundCall(const BoundCall&) = delete;
  BoundCall& operator=(const BoundCall&) = delete;

  // Every view, with its buffer.
  template <class Use>
  void each_view(Use&& use) {
    for (CallRoom::Place& place : places_) use(place.buffer, Patch{&place.view, place.offset});
  }
  uint64_t scratch_size() const;
  // Writes the symbols' values into the call.
  void set_symbols(std::span<const Symbol> symbols);
  bool has_symbols() const { return !symbolic_.empty(); }
  void set_scratch(void* data, void* buffer) {
    call_.scratch = data;
    call_.scratch_buffer = buffer;
  }
  const tn_kernel& kernel() const { return *node_.kernel; }
  void* plan() const { return plan_; }
  const tn_call& call() const { return call_; }

 private:
  struct Varying {
    Symbolic symbolic;
    size_t arg;
    tn_view* number;  // of Kind::Number
  };
  const tn_view* add(const View& view);
  tn_view* add(const Number& number);
  tn_value value(const Argument& argument);

  const Node& node_;
  CallRoom& room_;
  void* plan_ = nullptr;
  tn_call call_{};
  tn_loop loop_{};
  std::span<CallRoom::Place> places_;
  std::span<tn_value> args_;
  std::vector<Varying> symbolic_;
};

}  // namespace tenon::graph
