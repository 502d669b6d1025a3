// A function of tensors, run once over tensors without elements, as a graph of what it called.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/control.hpp"
#include "tenon/autograd.hpp"
#include "trace/held_arguments.hpp"
#include "trace/recorder.hpp"

namespace tenon::graph {

// Buffers that were computed at once, as tensors.
using Known = std::unordered_map<uint32_t, Tensor>;
// A graph, with what is known of its temporary buffers.
struct Traced {
  Graph graph;
  Known known;
};

// A body of control flow, with the buffers around it that it takes behind its other inputs.
struct Block {
  Graph graph;
  std::vector<uint32_t> captures;
  std::string refused = {};  // why a run cannot compute it
};

// From its construction to finish() or its end, on one thread. Where a tensor from outside meets what is traced it becomes a weight of
// the graph, which shares its elements.
class Tracer {
 public:
  enum class Kind : uint8_t {
    Function,  // no gradients; calls of tensors from outside alone compute as usual
    Sized,  // as Function, but what was computed at once is recorded too where it meets what is traced
    Step,  // gradients are recorded; every call of tensors is traced, and what is written becomes state
  };
  explicit Tracer(Kind kind);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // What stands for an input like this one.
  Tensor input(DType dtype, std::span<const int64_t> shape, std::string name);
  // Names a tensor from outside: its weight is called so.
  void name(const Tensor& tensor, std::string name);
  // A number that the function computes with now, and another one in later runs.
  void number(std::string name, double value, bool counts);
  // Where calls come from: called before each op that is recorded.
  void source(std::function<std::string()> where) { where_ = std::move(where); }
  // The graph whose results these are. Throws Error where it would write into what is not its own.
  Graph finish(std::span<const Tensor> results);
  // Of Kind::Sized, in the graph of finish().
  Known take_known() { return std::move(known_); }

  // That of this thread; NULL for none.
  static Tracer* current() { return current_; }
  // A body begins, with tensors that stand for its inputs, which are like these; what is called until its end is part of it.
  std::vector<Tensor> begin_block(std::span<const Tensor> like);
  void end_block(std::span<const Tensor> results);
  void drop_block();                          // the body that began last is no part of the graph
  void refuse_block(const std::string& why);  // it fails in each run that comes to it
  // Records what runs the bodies that ended last, and gives its results. Of the operands some are carried and some scanned, in this
  // order; of Kind::If the one is the predicate. Throws Error where the bodies do not fit.
  std::vector<Tensor> control(Control::Kind kind, std::span<const Tensor> operands, size_t carried,
                              size_t scanned);

  // The same for bodies that were recorded before, with all their operands.
  std::vector<Tensor> record(std::shared_ptr<Control> control, const std::vector<View>& operands);
  View use(const Tensor& tensor) {
    return recorder_.use(Recorder::traced(tensor.get()) ? tensor : twin(tensor));
  }

  // Of a step: leaves whose gradient the function left behind get a tensor as their gradient that it must not read: in the next trace, as
  // in the next run, there is a gradient from before. These leaves.
  std::vector<Tensor> mark_gradients();

 private:
  // Of a call, changed, and what they point at.
  struct Arguments {
    std::vector<tn_value> values;
    std::vector<Tensor> held;
    std::vector<std::vector<tn_tensor*>> lists;
  };
  // Memory from outside that is a buffer of the graph.
  struct Flat {
    const void* space;  // what `begin` counts in: NULL for addresses
    uintptr_t begin, end;
    DType dtype;
    bool copied;    // it lies as no flat view can show
    Tensor source;  // held: its memory stays its own
    Tensor traced;
  };
  // A leaf whose gradients come from this trace, and the gradient that it had before.
  struct Leaf {
    Tensor tensor, before;
  };
  // The call that computed a tensor at once.
  struct Origin {
    Tensor result;  // held: its handle stays its own
    const tn_op* op;
    std::shared_ptr<const HeldArguments> args;
    uint32_t index, count;  // among the call's results
  };
  tn_status* call_at_once(const tn_op& op, std::span<const tn_value> args, tn_tensor** outs,
                          uint32_t nouts);
  // What the call that made it gives on trace:0; undefined where no call did, or it cannot be traced.
  Tensor traced_again(const Tensor& tensor);
  void forget_origins(const tn_tensor* written);
  Arguments convert(const tn_op& op, std::span<const tn_value> args);
  tn_status* call(const tn_op& op, std::span<const tn_value> args, tn_tensor** outs, uint32_t nouts,
                  uint32_t& done);
  tn_status* call_into(const tn_op& op, std::span<const tn_value> args, tn_tensor* const* outs,
                       uint32_t nouts, uint32_t& done);
  bool concerns(const tn_op& op, std::span<const tn_value> args) const;
  // The traced tensor for one from outside.
  Tensor twin(const Tensor& tensor);
  const Flat& flat_of(const Tensor& tensor);
  bool is_weight(const Tensor& tensor) const;
  void check_writes();
  void forget_open();                 // what was called in the body that began last
  void forget_twins(size_t buffers);  // of what was computed in buffers from there on
  static std::vector<View> result_shapes(const Control& control, const Node& node);
  void check_shared(const Flat& written) const;
  void check_gradients() const;

  struct Open {
    size_t nodes, buffers, blocks;  // where it began
    std::vector<View> inputs;
  };
  static thread_local Tracer* current_;
  Tracer* outer_ = nullptr;
  std::vector<Open> open_;
  std::vector<Block> blocks_;
  bool has_control_ = false;
  Kind kind_;
  detail::ModeGuard modes_;
  Recorder recorder_;
  tn_call_layer layer_{};
  std::vector<View> inputs_;
  std::vector<Symbol> symbols_;
  std::vector<Flat> flats_;
  std::vector<Leaf> leaves_;
  bool differentiable_ = false;
  struct Twin {
    Tensor original, traced;  // the first is held: its handle stays its own
  };
  std::unordered_map<const tn_tensor*, Twin> twins_;
  std::unordered_map<const tn_tensor*, Origin> origins_;
  Known known_;
  std::function<std::string()> where_;
  std::unordered_map<const void*, std::string> names_;  // by the first element, or the handle
};

}  // namespace tenon::graph
