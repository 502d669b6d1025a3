// Runs a function once on tensors without elements and records what it calls as a graph.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/control.hpp"
#include "ir/reach.hpp"
#include "tenon/autograd.hpp"
#include "trace/host_calls.hpp"
#include "trace/recorder.hpp"

namespace tenon::graph {

// Elements of a buffer that were computed at once, and the number of nodes after which it holds them.
struct KnownBuffer {
  Tensor elements;
  size_t nodes;
};
using Known = std::unordered_map<uint32_t, KnownBuffer>;
// A graph, and what is known about its temporary buffers.
struct Traced {
  Graph graph;
  Known known;
  std::shared_ptr<const HostCalls> calls = {};  // that made what is known

  // The number of nodes after which a buffer is known; 0 if it is not.
  size_t known_after(uint32_t buffer) const {
    const auto found = known.find(buffer);
    return found == known.end() ? 0 : found->second.nodes;
  }
};

// A body of control flow, and the outer buffers it captures.
struct Block {
  Graph graph;
  std::vector<uint32_t> captures;
  std::string refused = {};  // why a run cannot compute it
};

// Traces on one thread, from its construction to finish() or its end. An outside tensor that meets a traced one becomes a weight of the
// graph and shares its elements.
class Tracer {
 public:
  enum class Kind : uint8_t {
    Function,  // no gradients; calls on outside tensors alone compute as usual
    Sized,     // like Function, but also records such a call if its result meets a traced tensor
    Step,  // gradients are recorded; every tensor call is traced, and whatever is written becomes state
    SizedStep,  // like Step, but also records calls without tensors, such as arange
  };
  // `reads`: takes the outside tensors whose elements the function reads.
  explicit Tracer(Kind kind, std::vector<Tensor>& reads);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // A tensor that stands for an input like this one.
  Tensor input(DType dtype, std::span<const int64_t> shape, std::string name);
  // The device of what inputs stand for.
  void stands_for(const tn_device* device) { recorder_.stands_for(device); }
  // Gives the weight of an outside tensor a name. Only a Step may write to its memory.
  void name(const Tensor& tensor, std::string name);
  // The function computes with this number now, and with another in later runs.
  void number(std::string name, double value, bool counts);
  // Called before each recorded op, to say where it is called from.
  void source(std::function<std::string()> where) { where_ = std::move(where); }
  // The graph that computes these results. Throws Error if it would write to memory that is not its own.
  Graph finish(std::span<const Tensor> results);
  // What is known of buffers of finish()'s graph, for Kind::Sized.
  Known take_known() { return std::move(known_); }
  // What the function called on host tensors alone.
  std::shared_ptr<const HostCalls> take_calls() {
    return std::make_shared<const HostCalls>(std::move(host_calls_));
  }

  // The function has read elements of a host tensor.
  void read(const Tensor& tensor);

  // The tracer of this thread, or NULL.
  static Tracer* current() { return current_; }
  // Begins a body and returns tensors that stand for its inputs, which are like these. Everything called until the end belongs to the body.
  std::vector<Tensor> begin_block(std::span<const Tensor> like);
  void end_block(std::span<const Tensor> results);
  void drop_block();  // the last body that began is not part of the graph
  void refuse_block(
      const std::string& why);  // the last body fails with this in every run that takes it
  // Records the node that runs the bodies that ended last, and returns its results. The operands are first the carried, then the scanned
  // ones; for Kind::If just the predicate. Throws Error if the bodies do not fit together.
  std::vector<Tensor> control(Control::Kind kind, std::span<const Tensor> operands, size_t carried,
                              size_t scanned);

  // The same for bodies that were recorded earlier, with all their operands.
  std::vector<Tensor> record(std::shared_ptr<Control> control, const std::vector<View>& operands);
  View use(const Tensor& tensor) {
    return recorder_.use(Recorder::traced(tensor.get()) ? tensor : twin(tensor));
  }

  // For steps: each leaf that still has a gradient when the function ends gets an unreadable tensor as its gradient. In the next trace, as
  // in the next run, a gradient from before exists but must not be read. Returns these leaves.
  std::vector<Tensor> mark_gradients();

 private:
  // The arguments of a call, changed, and what they point at.
  struct Arguments {
    std::vector<tn_value> values;
    std::vector<Tensor> held;
    std::vector<std::vector<tn_tensor*>> lists;
  };
  // Outside memory that is a buffer of the graph.
  struct Flat {
    const void* space;  // what `begin` counts in: NULL for addresses
    uintptr_t begin, end;
    DType dtype;
    bool copied;    // no flat view could show it
    Tensor source;  // held, so that its memory is not reused
    Tensor traced;
  };
  // A leaf whose gradients this trace makes, and its gradient from before.
  struct Leaf {
    Tensor tensor, before;
  };
  bool is_step() const { return kind_ == Kind::Step || kind_ == Kind::SizedStep; }
  bool is_sized() const { return kind_ == Kind::Sized || kind_ == Kind::SizedStep; }
  tn_status* call_at_once(const tn_op& op, std::span<const tn_value> args, tn_tensor** outs,
                          uint32_t nouts);
  tn_status* call_at_once_into(const tn_op& op, std::span<const tn_value> args,
                               tn_tensor* const* outs, uint32_t nouts);
  void computed(const tn_op& op, std::span<const tn_value> args, tn_tensor* const* outs,
                uint32_t nouts, bool into);
  // What stands for the result of such calls on trace:0. Undefined if no call made it or if it cannot be traced.
  Tensor traced_again(const Tensor& tensor);
  void trace_pending(const void* memory);
  void trace_again(size_t call);
  void note_known(const Tensor& host, const Tensor& traced, bool copy);
  // The arguments with host tensors of one value in place of traced ones that hold it. None if another traced tensor is among them.
  std::optional<Arguments> on_host(std::span<const tn_value> args);
  Tensor filled_on_host(const Tensor& traced);
  Arguments convert(const tn_op& op, std::span<const tn_value> args);
  tn_status* call(const tn_op& op, std::span<const tn_value> args, tn_tensor** outs, uint32_t nouts,
                  uint32_t& done);
  tn_status* call_into(const tn_op& op, std::span<const tn_value> args, tn_tensor* const* outs,
                       uint32_t nouts, uint32_t& done);
  bool concerns(const tn_op& op, std::span<const tn_value> args) const;
  // The traced tensor that stands for an outside one.
  Tensor twin(const Tensor& tensor);
  const Flat& flat_of(const Tensor& tensor);
  bool is_weight(const Tensor& tensor) const;
  void keep_as_read(const void* memory);
  // Refuses to write into a tensor that no run would write to.
  void check_outside(const tn_op& op, const tn_tensor* written) const;
  void check_writes();
  void forget_open();                 // drops what was called in the last open body
  void forget_twins(size_t buffers);  // drops the twins of buffers from there on
  static std::vector<View> result_shapes(const Control& control, const Node& node);
  void check_shared(const Flat& written) const;
  void check_gradients() const;

  struct Open {
    size_t nodes, buffers, blocks;  // counts when it began
    std::vector<View> inputs;
    HostCalls::Mark host_calls;
  };
  static thread_local Tracer* current_;
  Tracer* outer_ = nullptr;
  std::vector<Open> open_;
  std::vector<Block> blocks_;
  bool has_control_ = false;
  Kind kind_;
  std::vector<Tensor>& reads_;
  detail::ModeGuard modes_;
  Recorder recorder_;
  tn_call_layer layer_{};
  std::vector<View> inputs_;
  std::vector<Symbol> symbols_;
  std::vector<Flat> flats_;
  std::vector<Leaf> leaves_;
  bool differentiable_ = false;
  struct Twin {
    Tensor original, traced;  // the original is held, so that its handle is not reused
  };
  std::unordered_map<const tn_tensor*, Twin> twins_;
  HostCalls host_calls_;
  bool again_ = false;  // a call of these is being traced
  std::unordered_map<uint32_t, std::shared_ptr<const HeldArguments>> fills_;  // by buffer
  Known known_;
  std::function<std::string()> where_;
  std::unordered_map<const void*, std::string> names_;  // by the first element, or by the handle
  std::vector<std::pair<Reach, std::string>> named_;
};

}  // namespace tenon::graph
