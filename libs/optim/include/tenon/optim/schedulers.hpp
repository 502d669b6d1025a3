// Learning-rate schedules. Call step() after each epoch or batch, depending on what the schedule counts.
#ifndef TENON_OPTIM_SCHEDULERS_HPP
#define TENON_OPTIM_SCHEDULERS_HPP

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "tenon/optim/optimizer.hpp"

namespace tenon::optim {

using SchedulerState = std::map<std::string, double>;

namespace detail {
inline double state_at(const char* where, const SchedulerState& state, const std::string& key) {
  const auto found = state.find(key);
  if (found == state.end()) nn::detail::refuse(where, "the state has no \"" + key + '"');
  return found->second;
}
}  // namespace detail

// Sets each group's rate as a function of the number of steps and of its rate before any schedule.
class LRScheduler {
 public:
  virtual ~LRScheduler() = default;
  void step() { set(last_epoch_ + 1); }
  // Number of steps taken.
  int64_t last_epoch() const { return last_epoch_; }
  // The rates of all groups.
  std::vector<double> get_last_lr() const {
    std::vector<double> rates;
    for (size_t g = 0; g < base_lrs_.size(); ++g) rates.push_back(optimizer_.lr(g));
    return rates;
  }
  virtual SchedulerState state_dict() const {
    SchedulerState state{{"last_epoch", static_cast<double>(last_epoch_)}};
    for (size_t g = 0; g < base_lrs_.size(); ++g)
      state["base_lrs." + std::to_string(g)] = base_lrs_[g];
    return state;
  }
  virtual void load_state_dict(const SchedulerState& state) {
    std::vector<double> bases;
    for (size_t g = 0; g < base_lrs_.size(); ++g)
      bases.push_back(detail::state_at(name_, state, "base_lrs." + std::to_string(g)));
    const double epoch = detail::state_at(name_, state, "last_epoch");
    base_lrs_ = std::move(bases);
    set(static_cast<int64_t>(epoch));
  }

 protected:
  LRScheduler(const char* name, Optimizer& optimizer) : name_(name), optimizer_(optimizer) {
    for (size_t g = 0; g < optimizer.group_count(); ++g)
      base_lrs_.push_back(optimizer.initial_lr(g));
  }
  // The rate after `epoch` steps for a group that began with `base`.
  virtual double rate(double base, int64_t epoch) const = 0;
  // Also for constructors, if the initial rate differs.
  virtual void set(int64_t epoch) {
    last_epoch_ = epoch;
    for (size_t g = 0; g < base_lrs_.size(); ++g) optimizer_.set_lr(g, rate(base_lrs_[g], epoch));
  }
  int64_t check_least(const char* argument, int64_t value, int64_t least) const {
    return nn::detail::check_least(name_, argument, value, least);
  }

  const char* name_;

 private:
  friend class SequentialLR;
  Optimizer& optimizer_;
  std::vector<double> base_lrs_;
  int64_t last_epoch_ = 0;
};

// Multiplies by gamma every `step_size` steps.
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1)
      : LRScheduler("StepLR", optimizer),
        step_size_(check_least("step_size", step_size, 1)),
        gamma_(gamma) {}

 private:
  double rate(double base, int64_t epoch) const override {
    const int64_t falls = epoch / step_size_;
    return base * std::pow(gamma_, static_cast<double>(falls));
  }
  int64_t step_size_;
  double gamma_;
};

// Multiplies by gamma at each milestone.
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1)
      : LRScheduler("MultiStepLR", optimizer), milestones_(std::move(milestones)), gamma_(gamma) {}

 private:
  double rate(double base, int64_t epoch) const override {
    return base * std::pow(gamma_, static_cast<double>(std::ranges::count_if(
                                       milestones_, [&](int64_t m) { return m <= epoch; })));
  }
  std::vector<int64_t> milestones_;
  double gamma_;
};

// Multiplies by gamma at every step.
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma)
      : LRScheduler("ExponentialLR", optimizer), gamma_(gamma) {}

 private:
  double rate(double base, int64_t epoch) const override {
    return base * std::pow(gamma_, static_cast<double>(epoch));
  }
  double gamma_;
};

// Half a cosine from the initial rate to `eta_min` in `T_max` steps, and back.
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0)
      : LRScheduler("CosineAnnealingLR", optimizer),
        T_max_(check_least("T_max", T_max, 1)),
        eta_min_(eta_min) {}

 private:
  double rate(double base, int64_t epoch) const override {
    const double phase =
        std::numbers::pi * static_cast<double>(epoch) / static_cast<double>(T_max_);
    return eta_min_ + (base - eta_min_) * (1 + std::cos(phase)) / 2;
  }
  int64_t T_max_;
  double eta_min_;
};

// From `start_factor` to `end_factor` times the rate in `total_iters` steps: a warm-up.
class LinearLR : public LRScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1.0,
                    int64_t total_iters = 5)
      : LRScheduler("LinearLR", optimizer),
        start_(start_factor),
        end_(nn::detail::check_part(name_, "end_factor", end_factor)),
        length_(check_least("total_iters", total_iters, 1)) {
    if (!(start_ > 0 && start_ <= 1))
      nn::detail::refuse(name_, "start_factor", nn::detail::text_of(start_),
                         "must be above 0 and at most 1");
    set(0);
  }

 private:
  double rate(double base, int64_t epoch) const override {
    const double done =
        static_cast<double>(std::min(epoch, length_)) / static_cast<double>(length_);
    return base * (start_ + (end_ - start_) * done);
  }
  double start_, end_;
  int64_t length_;
};

// Multiplies the initial rate by lr_lambda(steps).
class LambdaLR : public LRScheduler {
 public:
  LambdaLR(Optimizer& optimizer, std::function<double(int64_t)> lr_lambda)
      : LRScheduler("LambdaLR", optimizer), lambda_(std::move(lr_lambda)) {
    set(0);
  }

 private:
  double rate(double base, int64_t epoch) const override { return base * lambda_(epoch); }
  std::function<double(int64_t)> lambda_;
};

struct OneCycleLROptions {
  double pct_start = 0.3;         // share of the steps in which the rate rises
  double div_factor = 25;         // begins at max_lr / div_factor
  double final_div_factor = 1e4;  // ends at the initial rate / final_div_factor
};

// Rises to `max_lr` and then falls far below the initial rate, along cosines (Smith & Topin 2018).
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, double max_lr, int64_t total_steps,
             OneCycleLROptions options = {})
      : LRScheduler("OneCycleLR", optimizer),
        max_lr_(max_lr),
        length_(check_least("total_steps", total_steps, 2)),
        options_(options) {
    if (!(options.pct_start > 0 && options.pct_start < 1))
      nn::detail::refuse(name_, "pct_start", nn::detail::text_of(options.pct_start),
                         "must be between 0 and 1");
    nn::detail::check_positive(name_, "div_factor", options.div_factor);
    nn::detail::check_positive(name_, "final_div_factor", options.final_div_factor);
    set(0);
  }

 private:
  double rate(double, int64_t epoch) const override {
    const double first = max_lr_ / options_.div_factor, last = first / options_.final_div_factor;
    const double total = static_cast<double>(length_ - 1);
    const double top = std::max(options_.pct_start * static_cast<double>(length_) - 1, 1e-9);
    const double at = std::min(static_cast<double>(epoch), total);
    return at <= top ? between(first, max_lr_, at / top)
                     : between(max_lr_, last, (at - top) / (total - top));
  }
  static double between(double from, double to, double part) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2;
  }
  double max_lr_;
  int64_t length_;
  OneCycleLROptions options_;
};

// Runs one schedule after another, each from its start. Schedule i + 1 takes over at milestones[i], such as CosineAnnealingLR after a
// LinearLR warm-up. The schedules must outlive this.
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<std::reference_wrapper<LRScheduler>> schedulers,
               std::vector<int64_t> milestones)
      : LRScheduler("SequentialLR", optimizer),
        schedulers_(std::move(schedulers)),
        milestones_(std::move(milestones)) {
    if (schedulers_.empty() || milestones_.size() + 1 != schedulers_.size())
      nn::detail::refuse(name_, "schedulers are " + std::to_string(schedulers_.size()) +
                                    " and milestones " + std::to_string(milestones_.size()) +
                                    ": give one milestone less than schedulers");
    for (size_t i = 0; i < milestones_.size(); ++i)
      if (milestones_[i] <= (i == 0 ? 0 : milestones_[i - 1]))
        nn::detail::refuse(name_, "milestones", nn::detail::text_of(milestones_),
                           "must rise from above 0");
    for (const LRScheduler& scheduler : schedulers_)
      if (&scheduler.optimizer_ != &optimizer)
        nn::detail::refuse(name_, "a scheduler is of another optimizer");
    set(0);
  }
  SchedulerState state_dict() const override {
    SchedulerState state = LRScheduler::state_dict();
    for (size_t i = 0; i < schedulers_.size(); ++i)
      for (const auto& [key, value] : schedulers_[i].get().state_dict())
        state[prefix(i) + key] = value;
    return state;
  }
  void load_state_dict(const SchedulerState& state) override {
    for (size_t i = 0; i < schedulers_.size(); ++i) {
      SchedulerState own;
      for (const auto& [key, value] : state)
        if (key.starts_with(prefix(i))) own[key.substr(prefix(i).size())] = value;
      schedulers_[i].get().load_state_dict(own);
    }
    LRScheduler::load_state_dict(state);
  }

 private:
  static std::string prefix(size_t i) { return "schedulers." + std::to_string(i) + '.'; }
  double rate(double base, int64_t) const override { return base; }
  void set(int64_t epoch) override {
    last_epoch_ = epoch;
    const auto past = std::ranges::upper_bound(milestones_, epoch) - milestones_.begin();
    schedulers_[static_cast<size_t>(past)].get().set(
        past == 0 ? epoch : epoch - milestones_[static_cast<size_t>(past) - 1]);
  }
  std::vector<std::reference_wrapper<LRScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

struct ReduceLROnPlateauOptions {
  std::string mode = "min";  // "min": smaller values are better; "max": larger ones
  double factor = 0.1;
  int64_t patience = 10;               // steps without a better value before the rate is lowered
  double threshold = 1e-4;             // how much better a value must be
  std::string threshold_mode = "rel";  // relative to the best value; "abs": absolute
  int64_t cooldown = 0;                // steps after a reduction during which nothing counts
  double min_lr = 0;
  double eps = 1e-8;  // smaller reductions are skipped
};

// Lowers the rate when a value stops improving.
class ReduceLROnPlateau {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, ReduceLROnPlateauOptions options = {})
      : optimizer_(optimizer), options_(std::move(options)) {
    nn::detail::check_one_of(kName, "mode", options_.mode, {"min", "max"});
    if (!(options_.factor > 0 && options_.factor < 1))
      nn::detail::refuse(kName, "factor", nn::detail::text_of(options_.factor),
                         "must be between 0 and 1");
    nn::detail::check_one_of(kName, "threshold_mode", options_.threshold_mode, {"rel", "abs"});
    best_ = worst();
  }
  // `metrics`: this epoch's value, such as the validation loss.
  void step(double metrics) {
    ++last_epoch_;
    if (better(metrics)) {
      best_ = metrics;
      num_bad_epochs_ = 0;
    } else {
      ++num_bad_epochs_;
    }
    if (cooldown_counter_ > 0) {
      --cooldown_counter_;
      num_bad_epochs_ = 0;
    }
    if (num_bad_epochs_ <= options_.patience) return;
    for (size_t g = 0; g < optimizer_.group_count(); ++g) {
      const double now = optimizer_.lr(g);
      const double next = std::max(now * options_.factor, options_.min_lr);
      if (now - next > options_.eps) optimizer_.set_lr(g, next);
    }
    cooldown_counter_ = options_.cooldown;
    num_bad_epochs_ = 0;
  }
  double best() const { return best_; }
  SchedulerState state_dict() const {
    return {{"best", best_},
            {"num_bad_epochs", static_cast<double>(num_bad_epochs_)},
            {"cooldown_counter", static_cast<double>(cooldown_counter_)},
            {"last_epoch", static_cast<double>(last_epoch_)}};
  }
  void load_state_dict(const SchedulerState& state) {
    const double best = detail::state_at(kName, state, "best");
    const auto at = [&](const char* key) {
      return static_cast<int64_t>(detail::state_at(kName, state, key));
    };
    const int64_t bad = at("num_bad_epochs"), left = at("cooldown_counter"),
                  epoch = at("last_epoch");
    best_ = best, num_bad_epochs_ = bad, cooldown_counter_ = left, last_epoch_ = epoch;
  }

 private:
  static constexpr const char* kName = "ReduceLROnPlateau";
  bool largest() const { return options_.mode == "max"; }
  double worst() const {
    return largest() ? -std::numeric_limits<double>::infinity()
                     : std::numeric_limits<double>::infinity();
  }
  bool better(double value) const {
    if (best_ == worst()) return value != worst() && !std::isnan(value);
    const double margin =
        options_.threshold * (options_.threshold_mode == "rel" ? std::abs(best_) : 1);
    return largest() ? value > best_ + margin : value < best_ - margin;
  }
  Optimizer& optimizer_;
  ReduceLROnPlateauOptions options_;
  double best_ = 0;
  int64_t num_bad_epochs_ = 0, cooldown_counter_ = 0, last_epoch_ = 0;
};

}  // namespace tenon::optim
#endif
