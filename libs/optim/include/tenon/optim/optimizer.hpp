// What all optimizers share: parameter groups with their own options, state, saving and loading.
#ifndef TENON_OPTIM_OPTIMIZER_HPP
#define TENON_OPTIM_OPTIMIZER_HPP

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "tenon/capture.hpp"
#include "tenon/nn/detail/check.hpp"
#include "tenon/tenon.hpp"

namespace tenon::optim {

using StateDict = std::map<std::string, Tensor>;

// Visits everything that a step computes with besides gradients, and may change it. Graphs of training steps use this.
class StepVisitor {
 public:
  virtual ~StepVisitor() = default;
  // An option, by group and name ("group.0.lr").
  virtual void number(const std::string& name, double& value) = 0;
  virtual void flag(const std::string& name, bool value) = 0;
  // A parameter with its state (empty before its first step), and the number of its steps.
  virtual void parameter(size_t group, const Tensor& param, std::span<const Tensor> memory,
                         int64_t& steps) = 0;
};

// The interface for schedules and training loops.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Takes one step. Skips parameters without a gradient.
  virtual void step() = 0;
  virtual void zero_grad() = 0;
  // Those of all groups, in their order.
  virtual std::vector<Tensor> parameters() const = 0;
  virtual size_t group_count() const = 0;
  virtual double lr(size_t group = 0) const = 0;
  virtual void set_lr(double lr) = 0;  // of all groups
  virtual void set_lr(size_t group, double lr) = 0;
  // A group's rate before any schedule changed it. The first schedule asks for it first.
  double initial_lr(size_t group) {
    initial_lrs_.resize(std::max(initial_lrs_.size(), group + 1));
    if (!initial_lrs_[group]) initial_lrs_[group] = lr(group);
    return *initial_lrs_[group];
  }
  // Options and state as tensors, for a safetensors file. Parameters are numbered in order.
  virtual StateDict state_dict() const = 0;
  virtual void load_state_dict(const StateDict& state) = 0;
  virtual void visit(StepVisitor& visitor) = 0;

 private:
  std::vector<std::optional<double>> initial_lrs_;
};

// Called before each step, on its thread.
class StepListener {
 public:
  virtual ~StepListener() = default;
  virtual void before(Optimizer& optimizer) = 0;
};
inline thread_local StepListener* step_listener = nullptr;

// The decay rates of the running averages of the gradient and of its square.
using Betas = std::array<double, 2>;

namespace detail {

// Parameters of one dtype, device and age, with gradients and state: the input of one multi-tensor op.
struct Bucket {
  DType dtype;
  Device device;
  int64_t step;
  std::vector<Tensor> params, grads;
  std::vector<std::vector<Tensor>> state;
  std::vector<size_t> numbers;  // of the parameters, in their group
};

struct ParamState {
  int64_t step = 0;
  std::vector<Tensor> tensors;
};

// The number of a step and its rate in device memory, where a captured step reads them; and what was last written there.
// Made before a capture: memory that is allocated within one may be written by the graph's earlier work.
class Clock {
 public:
  explicit Clock(const Device& device)
      : step(zeros({}, DType::I64, device)), rate(zeros({}, DType::F64, device)) {}
  // Writes what changed: steps taken without the graph, a new rate. The next replay counts by itself.
  void set(int64_t number, double lr) {
    NoGrad guard;
    if (number != number_) step.fill_(number);
    if (lr != lr_) rate.fill_(lr);
    number_ = number + 1;
    lr_ = lr;
  }

  Tensor step, rate;

 private:
  int64_t number_ = 0;
  double lr_ = 0;
};

// Lets graphs of an optimizer's steps find it. They find nothing once it is destroyed, moved or loaded.
template <class Optimizer>
class Place {
 public:
  Place() = default;
  Place(const Place&) {}
  Place(Place&& from) noexcept { from.leave(); }
  Place& operator=(const Place&) {
    leave();
    return *this;
  }
  Place& operator=(Place&& from) noexcept {
    leave();
    from.leave();
    return *this;
  }
  ~Place() = default;

  std::weak_ptr<Optimizer*> of(Optimizer* optimizer) {
    if (at_ == nullptr) at_ = std::make_shared<Optimizer*>(optimizer);
    return at_;
  }
  void leave() noexcept { at_.reset(); }

 private:
  std::shared_ptr<Optimizer*> at_;
};

inline void check_option(const char* where, const char* name, double value) {
  nn::detail::check_least(where, name, value, 0);
}
inline void check_option(const char*, const char*, bool) {}
inline void check_option(const char* where, const char* name, const Betas& betas) {
  for (size_t i = 0; i < betas.size(); ++i)
    if (!(betas[i] >= 0 && betas[i] < 1))
      nn::detail::refuse(where, std::string(name) + '[' + std::to_string(i) + ']',
                         nn::detail::text_of(betas[i]), "must be at least 0 and below 1");
}

inline void visit_option(StepVisitor& visitor, const std::string& name, double& value) {
  visitor.number(name, value);
}
inline void visit_option(StepVisitor& visitor, const std::string& name, bool value) {
  visitor.flag(name, value);
}
inline void visit_option(StepVisitor& visitor, const std::string& name, Betas& betas) {
  for (size_t i = 0; i < betas.size(); ++i)
    visitor.number(name + '.' + std::to_string(i), betas[i]);
}

// An option in the form in which it is saved.
inline Tensor option_tensor(double value) { return tensor(value); }
inline Tensor option_tensor(const Betas& betas) {
  return tensor(std::vector<double>(betas.begin(), betas.end()));
}
template <class T>
void load_option(const Tensor& saved, T& value) {
  value = static_cast<T>(saved.item<double>());
}
inline void load_option(const Tensor& saved, Betas& betas) {
  for (size_t i = 0; i < betas.size(); ++i)
    betas[i] = saved[static_cast<int64_t>(i)].item<double>();
}

}  // namespace detail

// Derived names its state (state_names), says which parts it needs, and runs one op on each bucket.
template <class Derived, class Options>
class OptimizerOf : public Optimizer {
 public:
  struct Group {
    std::vector<Tensor> params;
    Options options;
    std::vector<detail::ParamState> state = {};  // one per parameter
  };

  OptimizerOf(std::vector<Tensor> params, Options options) {
    add_group(std::move(params), std::move(options));
  }
  void add_group(std::vector<Tensor> params, Options options) {
    Options::each(options, [](const char* name, const auto& value) {
      detail::check_option(Options::kOwner, name, value);
    });
    options.check();
    if (params.empty())
      throw Error(TN_INVALID_ARGUMENT, "[optim] a parameter group has no parameters");
    std::unordered_set<const tn_tensor*> known;
    for (const Tensor& param : parameters()) known.insert(param.get());
    for (const Tensor& param : params) {
      if (!param.defined() || !param.is_leaf())
        throw Error(TN_INVALID_ARGUMENT,
                    "[optim] a parameter was computed by an op or is undefined: pass leaf tensors");
      if (!known.insert(param.get()).second)
        throw Error(TN_INVALID_ARGUMENT, "[optim] a parameter is given twice");
    }
    const size_t count = params.size();
    groups_.push_back(
        {std::move(params), std::move(options), std::vector<detail::ParamState>(count)});
  }

  void step() override {
    if (step_listener != nullptr) step_listener->before(*this);
    NoGrad guard;
    for (size_t g = 0; g < groups_.size(); ++g) {
      Group& group = groups_[g];
      size_t used = 0;
      for (size_t i = 0; i < group.params.size(); ++i) place(group, i, used);
      for (size_t k = 0; k < used; ++k) run_bucket(g, k, buckets_[k]);
      for (size_t k = 0; k < used; ++k) clear(buckets_[k]);
    }
  }
  std::vector<Tensor> parameters() const override {
    std::vector<Tensor> all;
    for (const Group& group : groups_)
      all.insert(all.end(), group.params.begin(), group.params.end());
    return all;
  }
  void zero_grad() override {
    for (Group& group : groups_)
      for (Tensor& param : group.params) param.zero_grad();
  }

  std::vector<Group>& groups() { return groups_; }
  size_t group_count() const override { return groups_.size(); }
  double lr(size_t group = 0) const override { return groups_[checked(group)].options.lr; }
  void set_lr(double lr) override {
    for (Group& group : groups_) group.options.lr = lr;
  }
  void set_lr(size_t group, double lr) override { groups_[checked(group)].options.lr = lr; }

  void visit(StepVisitor& visitor) override {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const std::string prefix = "group." + std::to_string(g) + '.';
      Options::each(groups_[g].options, [&](const char* name, auto& value) {
        detail::visit_option(visitor, prefix + name, value);
      });
      for (size_t i = 0; i < groups_[g].params.size(); ++i)
        visitor.parameter(g, groups_[g].params[i], groups_[g].state[i].tensors,
                          groups_[g].state[i].step);
    }
  }

  StateDict state_dict() const override;
  void load_state_dict(const StateDict& state) override;

 private:
  size_t checked(size_t group) const {
    if (group >= groups_.size())
      throw Error(TN_OUT_OF_RANGE, "[optim] there is no group " + std::to_string(group) + " of " +
                                       std::to_string(groups_.size()));
    return group;
  }
  // Whether Derived has a step that can count in replays.
  static constexpr bool can_count() {
    return requires(Derived & derived, Options & options, detail::Bucket & bucket,
                    detail::Clock & clock) {
      derived.run_counted(options, bucket, clock);
    };
  }
  static bool counts_in_replays(const Device& device) { return can_count() && is_captured(device); }
  void run_bucket(size_t g, size_t k, detail::Bucket& bucket) {
    if constexpr (can_count()) {
      if (is_captured(bucket.device)) return run_counted(g, k, bucket);
      if (can_capture(bucket.device)) make_clock(g, k, bucket.device);
    }
    static_cast<Derived*>(this)->run(groups_[g].options, bucket);
  }
  void make_clock(size_t g, size_t k, const Device& device) {
    clocks_.resize(groups_.size());
    clocks_[g].resize(std::max(clocks_[g].size(), k + 1));
    std::shared_ptr<detail::Clock>& clock = clocks_[g][k];
    if (clock == nullptr || clock->step.device() != device)
      clock = std::make_shared<detail::Clock>(device);
  }
  void run_counted(size_t g, size_t k, detail::Bucket& bucket) {
    if (g >= clocks_.size() || k >= clocks_[g].size() || clocks_[g][k] == nullptr ||
        clocks_[g][k]->step.device() != bucket.device)
      refuse_capture("take a step of these parameters as usual before the capture");
    const std::shared_ptr<detail::Clock> clock = clocks_[g][k];
    static_cast<Derived*>(this)->run_counted(groups_[g].options, bucket, *clock);
    tenon::before_replay([place = place_.of(this), g, numbers = bucket.numbers, clock] {
      const std::shared_ptr<OptimizerOf*> here = place.lock();
      if (here == nullptr)
        refuse_capture(
            "the optimizer of a captured step is gone, was moved or loaded: capture it again");
      (*here)->before_replay(g, numbers, *clock);
    });
  }
  [[noreturn]] static void refuse_capture(const std::string& why) {
    throw Error(TN_FAILED_PRECONDITION, std::string("[") + Options::kOwner + "] " + why);
  }
  // The device counts by itself; this counts on the host.
  void before_replay(size_t g, const std::vector<size_t>& numbers, detail::Clock& clock) {
    Group& group = groups_[g];
    const int64_t step = group.state[numbers[0]].step;
    for (const size_t i : numbers)
      if (group.state[i].step != step)
        refuse_capture(
            "steps of other parameters were taken since its step was captured: capture it again");
    clock.set(step, group.options.lr);
    for (const size_t i : numbers) ++group.state[i].step;
  }
  // Adds a parameter to the bucket it fits. The lists keep their memory from step to step.
  void place(Group& group, size_t i, size_t& used) {
    const Tensor& param = group.params[i];
    Tensor grad = param.grad();
    if (!grad.defined()) return;
    detail::ParamState& own = group.state[i];
    const size_t slots = Derived::state_names().size();
    const bool in_replays = counts_in_replays(param.device());
    if (own.tensors.empty()) {
      if (in_replays)
        refuse_capture(
            "the first step of these parameters makes its memory: take one as usual before the "
            "capture");
      own.tensors.resize(slots);
      for (size_t s = 0; s < slots; ++s)
        if (Derived::needs_state(group.options, s))
          own.tensors[s] = Derived::first_state(group.options, s, param);
    }
    if (!in_replays) ++own.step;
    const DType dtype = param.dtype();
    const Device device = param.device();
    size_t k = 0;
    while (k < used && !(buckets_[k].dtype == dtype && buckets_[k].device == device &&
                         buckets_[k].step == own.step))
      ++k;
    if (k == used) {
      if (++used > buckets_.size()) buckets_.emplace_back();
      buckets_[k].dtype = dtype;
      buckets_[k].device = device;
      buckets_[k].step = own.step;
      buckets_[k].state.resize(slots);
    }
    buckets_[k].params.push_back(param);
    buckets_[k].numbers.push_back(i);
    buckets_[k].grads.push_back(std::move(grad));
    for (size_t s = 0; s < slots; ++s)
      if (own.tensors[s].defined()) buckets_[k].state[s].push_back(own.tensors[s]);
  }
  static void clear(detail::Bucket& bucket) {
    bucket.params.clear();
    bucket.grads.clear();
    bucket.numbers.clear();
    for (auto& list : bucket.state) list.clear();
  }

  std::vector<Group> groups_;
  std::vector<detail::Bucket> buckets_;
  std::vector<std::vector<std::shared_ptr<detail::Clock>>> clocks_;  // by group and bucket
  detail::Place<OptimizerOf> place_;
};

template <class Derived, class Options>
StateDict OptimizerOf<Derived, Options>::state_dict() const {
  StateDict dict;
  size_t number = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    Options::each(group.options, [&](const char* name, const auto& value) {
      dict["group." + std::to_string(g) + '.' + name] = detail::option_tensor(value);
    });
    for (const detail::ParamState& own : group.state) {
      const std::string prefix = "state." + std::to_string(number++) + '.';
      if (own.tensors.empty()) continue;
      dict[prefix + "step"] = tensor(own.step);
      for (size_t s = 0; s < own.tensors.size(); ++s)
        if (own.tensors[s].defined())
          dict[prefix + Derived::state_names()[s]] = own.tensors[s].detach();
    }
  }
  return dict;
}

template <class Derived, class Options>
void OptimizerOf<Derived, Options>::load_state_dict(const StateDict& dict) {
  NoGrad guard;
  std::vector<Group> loaded = groups_;
  size_t number = 0, used = 0;
  const auto find = [&](const std::string& name) -> const Tensor* {
    const auto found = dict.find(name);
    used += found != dict.end();
    return found == dict.end() ? nullptr : &found->second;
  };
  for (size_t g = 0; g < loaded.size(); ++g) {
    Group& group = loaded[g];
    Options::each(group.options, [&](const char* name, auto& value) {
      const std::string key = "group." + std::to_string(g) + '.' + name;
      const Tensor* given = find(key);
      if (given == nullptr)
        throw Error(TN_INVALID_ARGUMENT, "[optim] the state has no \"" + key + '"');
      detail::load_option(*given, value);
    });
    for (size_t i = 0; i < group.params.size(); ++i) {
      const std::string prefix = "state." + std::to_string(number++) + '.';
      detail::ParamState own;
      if (const Tensor* step = find(prefix + "step")) {
        own.step = step->item<int64_t>();
        for (size_t s = 0; s < Derived::state_names().size(); ++s) {
          own.tensors.emplace_back();
          if (!Derived::needs_state(group.options, s)) continue;
          const std::string key = prefix + Derived::state_names()[s];
          const Tensor* given = find(key);
          const Tensor& param = group.params[i];
          if (given == nullptr || !std::ranges::equal(given->shape(), param.shape()))
            throw Error(TN_INVALID_ARGUMENT,
                        "[optim] \"" + key +
                            (given == nullptr ? "\" is missing"
                                              : "\" has another shape than its parameter"));
          own.tensors[s] = empty_like(param).copy_(*given);
        }
      }
      group.state[i] = std::move(own);
    }
  }
  if (used != dict.size())
    throw Error(TN_INVALID_ARGUMENT,
                "[optim] the state has " + std::to_string(dict.size() - used) +
                    " entries that this optimizer does not know: other groups, parameters or kind");
  groups_ = std::move(loaded);
  place_.leave();
}

}  // namespace tenon::optim
#endif
