// Training steps as programs: the usual loop, recorded once.
//
//   graph::Step step([&](std::span<const Tensor> in) {
//     optimizer.zero_grad();
//     const Tensor loss = cross_entropy(net(in[0]), in[1]);
//     loss.backward();
//     optimizer.step();
//     return std::vector{loss};
//   });
//   for (auto& [x, y] : batches) step({x, y});
#ifndef TENON_GRAPH_STEP_HPP
#define TENON_GRAPH_STEP_HPP

#include <functional>
#include <utility>

#include "tenon/graph.hpp"
#include "tenon/optim/optimizer.hpp"

namespace tenon::graph {

namespace detail {

// What a step of an optimizer computes with, at one moment.
struct Moment {
  std::vector<std::string> names;     // of numbers
  std::vector<double> numbers;        // options
  std::vector<bool> flags;            // options
  std::vector<size_t> groups;         // of parameters
  std::vector<int64_t> steps;         // of parameters
  std::vector<const void*> identity;  // parameters and their memory
  std::vector<bool> lacks_memory;     // by parameter: it has a gradient but has not taken a step

  static Moment of(optim::Optimizer& optimizer);
  void restore(optim::Optimizer& optimizer) const;
};

struct ReadMoment final : optim::StepVisitor {
  Moment made;
  void number(const std::string& name, double& value) override {
    made.names.push_back(name);
    made.numbers.push_back(value);
  }
  void flag(const std::string&, bool value) override { made.flags.push_back(value); }
  void parameter(size_t group, const Tensor& param, std::span<const Tensor> memory,
                 int64_t& steps) override {
    made.groups.push_back(group);
    made.steps.push_back(steps);
    made.lacks_memory.push_back(steps == 0 && param.grad().defined());
    made.identity.push_back(param.get());
    for (const Tensor& tensor : memory) made.identity.push_back(tensor.get());
  }
};
struct WriteMoment final : optim::StepVisitor {
  explicit WriteMoment(const Moment& moment) : from(moment) {}
  const Moment& from;
  size_t numbers = 0, params = 0;
  void number(const std::string&, double& value) override { value = from.numbers[numbers++]; }
  void flag(const std::string&, bool) override {}
  void parameter(size_t, const Tensor&, std::span<const Tensor>, int64_t& steps) override {
    steps = from.steps[params++];
  }
};
inline Moment Moment::of(optim::Optimizer& optimizer) {
  ReadMoment read;
  optimizer.visit(read);
  return std::move(read.made);
}
inline void Moment::restore(optim::Optimizer& optimizer) const {
  WriteMoment write(*this);
  optimizer.visit(write);
}

// An optimizer that a step uses, and which of its values each run supplies.
struct Stepped {
  optim::Optimizer* optimizer;
  Moment before;                // when the step was recorded
  std::vector<size_t> varying;  // the numbers that are symbols: those that were not 0
  std::vector<size_t> counted;  // for each count that is a symbol, a parameter with that count
  std::vector<int64_t> taken;   // by parameter: steps that one run takes

  // Whether the recorded step still suits the optimizer.
  bool fits(const Moment& now) const {
    if (now.flags != before.flags || now.identity != before.identity ||
        now.numbers.size() != before.numbers.size())
      return false;
    for (size_t i = 0; i < now.numbers.size(); ++i)
      if ((before.numbers[i] == 0) != (now.numbers[i] == 0)) return false;
    for (size_t i = 1; i < now.steps.size(); ++i)  // parameters with equal counts keep them equal
      if (now.steps[i] - before.steps[i] != now.steps[0] - before.steps[0]) return false;
    return true;
  }
};

// Watches the optimizers that step while the function is recorded, and gives them recognisable numbers, so that these can be found in the
// graph.
class StepRecorder final : public optim::StepListener {
 public:
  explicit StepRecorder(tn_trace* trace) : trace_(trace), outer_(optim::step_listener) {
    optim::step_listener = this;
  }
  ~StepRecorder() override {
    optim::step_listener = outer_;
    restore();
  }
  StepRecorder(const StepRecorder&) = delete;
  void next_pass() {
    restore();
    pass_ = 2;
    index_ = 0;
    stepped_.clear();
  }
  // After the last pass; puts the optimizers back as they were.
  std::vector<Stepped> take() {
    for (Stepped& one : stepped_) {
      const Moment after = Moment::of(*one.optimizer);
      one.taken.resize(after.steps.size());
      for (size_t i = 0; i < after.steps.size(); ++i)
        one.taken[i] = after.steps[i] - changed_.at(one.optimizer).steps[i];
    }
    restore();
    return std::move(stepped_);
  }

  void before(optim::Optimizer& optimizer) override {
    if (changed_.contains(&optimizer))
      throw Error(TN_FAILED_PRECONDITION, "[graph] an optimizer steps twice in one training step");
    Moment now = Moment::of(optimizer);
    for (const bool lacks : now.lacks_memory)
      if (lacks)
        throw Error(TN_FAILED_PRECONDITION,
                    "[graph] an optimizer has no state yet: run one step before recording");
    Stepped stepped{&optimizer, now, {}, {}, {}};
    const std::string prefix = "optimizer" + std::to_string(stepped_.size()) + '.';
    for (size_t i = 0; i < now.numbers.size(); ++i) {
      if (now.numbers[i] == 0)
        continue;  // a 0 may have changed what was recorded: see Stepped::fits
      stepped.varying.push_back(i);
      now.numbers[i] *= 1 - static_cast<double>(pass_ * ++index_) / 8192;
      say(prefix + now.names[i], now.numbers[i], false);
    }
    std::map<std::pair<size_t, int64_t>, int64_t> counts;  // by group and steps
    for (size_t i = 0; i < now.steps.size(); ++i) {
      const auto [known, fresh] = counts.try_emplace({now.groups[i], now.steps[i]}, 0);
      if (fresh) {
        known->second = now.steps[i] + pass_ * ++index_;
        stepped.counted.push_back(i);
        say(prefix + "group." + std::to_string(now.groups[i]) + ".step" +
                (stepped.counted.size() > 1 ? std::to_string(stepped.counted.size()) : ""),
            static_cast<double>(known->second + 1), true);
      }
      now.steps[i] = known->second;
    }
    now.restore(optimizer);
    changed_.emplace(&optimizer, std::move(now));
    stepped_.push_back(std::move(stepped));
  }

 private:
  void say(const std::string& name, double value, bool counts) {
    check(tn_trace_number(trace_, to_str(name), value, counts ? 1 : 0));
  }
  void restore() {
    for (const Stepped& one : stepped_) one.before.restore(*one.optimizer);
    changed_.clear();
  }

  tn_trace* trace_;
  optim::StepListener* outer_;
  int pass_ = 1;
  int64_t index_ = 0;
  std::vector<Stepped> stepped_;
  std::map<optim::Optimizer*, Moment> changed_;  // in this pass
};

}  // namespace detail

// A training step: fn(std::span<const Tensor>) -> std::vector<Tensor> computes gradients and lets optimizers step. The first call runs it
// plainly, the second records it, and later calls run the program, on the same parameters, buffers and optimizer state, with the same bits.
// Options such as rates may change between steps, and plain calls of fn may lie between. Inputs of other shapes are recorded anew, as is a
// step whose optimizer got other parameters, state or options that choose ops. Not for several threads at once. Whatever fn refers to must
// outlive the step.
class Step {
 public:
  using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
  explicit Step(Function fn) : fn_(std::move(fn)) {}

  std::vector<Tensor> operator()(TensorList inputs) {
    if (std::exchange(first_, false)) return fn_({inputs.begin(), inputs.size()});
    Recorded& recorded = find(inputs);
    std::vector<double> numbers;
    for (const detail::Stepped& one : recorded.stepped) {
      const detail::Moment now = detail::Moment::of(*one.optimizer);
      for (const size_t i : one.varying) numbers.push_back(now.numbers[i]);
      for (const size_t i : one.counted) numbers.push_back(static_cast<double>(now.steps[i] + 1));
    }
    tenon::detail::check(tn_program_set_numbers(recorded.program.get(), 0, numbers.data(),
                                                static_cast<uint32_t>(numbers.size())));
    std::vector<Tensor> results = recorded.program(inputs);
    for (const detail::Stepped& one : recorded.stepped) {
      detail::Moment now = detail::Moment::of(*one.optimizer);
      for (size_t i = 0; i < now.steps.size(); ++i) now.steps[i] += one.taken[i];
      now.restore(*one.optimizer);
    }
    return results;
  }

  // The program for inputs like these; undefined if none was recorded. Program::save writes it with parameters and optimizer state, and a
  // program loaded from a file goes on training.
  Program program(TensorList inputs) const {
    const auto found = recorded_.find(key_of(inputs));
    return found == recorded_.end() ? Program() : found->second.program;
  }

 private:
  struct Recorded {
    Program program;
    std::vector<detail::Stepped> stepped;
  };
  static std::string key_of(TensorList inputs) {
    std::string key;
    for (const Tensor& input : inputs) {
      key += std::to_string(static_cast<int>(input.dtype())) + ':';
      for (const int64_t size : input.shape()) key += std::to_string(size) + ',';
    }
    return key;
  }
  Recorded& find(TensorList inputs) {
    const std::string key = key_of(inputs);
    const auto found = recorded_.find(key);
    if (found != recorded_.end()) {
      const auto fits = [](const detail::Stepped& one) {
        return one.fits(detail::Moment::of(*one.optimizer));
      };
      if (std::ranges::all_of(found->second.stepped, fits)) return found->second;
    }
    return recorded_[key] = record(inputs);
  }
  Recorded record(TensorList inputs) {
    tn_trace* began = nullptr;
    tenon::detail::check(tn_trace_begin_step(&began));
    detail::Recording recording(began, &tn_trace_drop);
    detail::StepRecorder listener(began);
    std::vector<Tensor> results = fn_(detail::inputs_like(began, inputs));
    tenon::detail::check(tn_trace_again(began, TensorList(results).handles(),
                                        static_cast<uint32_t>(results.size())));
    listener.next_pass();
    results = fn_(detail::inputs_like(began, inputs));
    std::vector<detail::Stepped> stepped = listener.take();
    const Device device = inputs.size() != 0 ? inputs[0].device() : Device();
    return {detail::end_trace(std::move(recording), results, device), std::move(stepped)};
  }

  Function fn_;
  bool first_ = true;
  std::map<std::string, Recorded> recorded_;
};

}  // namespace tenon::graph
#endif
