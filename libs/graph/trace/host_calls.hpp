// Calls that a traced function made on host tensors alone. They were computed at once; if their results meet a traced tensor, those of
// them that matter are called again on trace:0, in the same order.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/held_arguments.hpp"

namespace tenon::graph {

// What identifies a tensor's memory as long as the tensor lives.
inline const void* memory_of(const tn_tensor* tensor) { return tn_tensor_view(tensor)->buffer; }

// Adds a tensor to those of other memory.
inline void add_once(std::vector<Tensor>& tensors, const Tensor& one) {
  const auto same = [&](const Tensor& other) {
    return memory_of(other.get()) == memory_of(one.get());
  };
  if (std::ranges::none_of(tensors, same)) tensors.push_back(one);
}

class HostCalls {
 public:
  enum class State : uint8_t { Pending, Traced, Dropped };
  struct Call {
    const tn_op* op;
    std::shared_ptr<const HeldArguments> args;
    std::vector<Tensor> results;  // held, so that their memory is not reused
    bool into;                    // it wrote into the results, which were there before
    std::string source;
    // Memory: read, written, and new with this call. Views have none that is new.
    std::vector<const void*> reads = {}, writes = {}, makes = {};
    State state = State::Pending;
  };
  // New memory, and a flat traced tensor that stands for it.
  struct Base {
    Tensor host, flat;
    bool written = false;  // not only by the call that made it
  };

  // What `from` held after so many calls was copied to `to`, which is a constant of the graph.
  struct Copy {
    size_t after;
    Tensor from, to;
  };

  // `written`: the arguments that it wrote into.
  void add(Call call, std::span<const Tensor> written);
  // Whether the memory came from a call, and all that was written into it since.
  bool made(const void* memory) const { return made_.contains(memory); }
  // The calls to trace, in order, so that the memory holds there what it holds now.
  std::vector<size_t> pending(const void* memory) const;
  // Those of the first `before` calls that gave the memory its elements, in order.
  std::vector<size_t> makers(const void* memory, size_t before) const;
  // The tensors from outside that these calls took.
  std::vector<Tensor> outside(std::span<const size_t> calls) const;
  // Those that its elements come from; itself, if no call made it.
  std::vector<Tensor> sources(const Tensor& tensor) const;
  void copied(Tensor from, Tensor to) {
    copies_.push_back({calls_.size(), std::move(from), std::move(to)});
  }
  const std::vector<Copy>& copies() const { return copies_; }
  Call& at(size_t i) { return calls_[i]; }
  const std::vector<Call>& all() const { return calls_; }
  // The call is traced, and these stand for its results.
  void traced(size_t i, std::span<const Tensor> results);
  // It cannot be, so what it made or wrote is not known to come from calls.
  void drop(size_t i);
  // What stands for the memory if its call is traced.
  const Base* base(const void* memory) const;
  // The view of the base that stands for this host tensor. Undefined if none can.
  static Tensor shown(const Base& base, const Tensor& tensor);

  // Of the tensors in this memory that calls read, the one that shows most of it: views of views may show little. Undefined if none.
  Tensor widest(const void* memory) const;

  // What is traced so far, to return to after a block.
  struct Mark {
    std::vector<State> states;
    std::unordered_map<const void*, Base> bases;
  };
  Mark mark() const;
  void back_to(Mark mark);
  // The memory for which a base stands and which was written since.
  std::vector<const void*> stale() const;

 private:
  void forget(const void* memory);

  std::vector<Call> calls_;
  std::vector<Copy> copies_;
  std::unordered_set<const void*> made_;
  std::unordered_map<const void*, Base> bases_;
  std::unordered_map<const void*, Tensor> widest_;
};

}  // namespace tenon::graph
