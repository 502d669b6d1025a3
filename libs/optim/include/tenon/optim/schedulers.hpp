// Schedules of the learning rate. Call step() after each epoch, or batch, as the schedule counts.
#ifndef TENON_OPTIM_SCHEDULERS_HPP
#define TENON_OPTIM_SCHEDULERS_HPP

#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/optim/optimizer.hpp"

namespace tenon::optim {

// Sets the rate of every group as a function of the number of steps and the rate it began with.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  void step() { set(steps_ + 1); }
  int64_t steps() const { return steps_; }
  std::map<std::string, double> state_dict() const {
    std::map<std::string, double> state{{"steps", static_cast<double>(steps_)}};
    for (size_t g = 0; g < base_.size(); ++g) state["base." + std::to_string(g)] = base_[g];
    return state;
  }
  void load_state_dict(const std::map<std::string, double>& state) {
    for (size_t g = 0; g < base_.size(); ++g) base_[g] = at(state, "base." + std::to_string(g));
    set(static_cast<int64_t>(at(state, "steps")));
  }

 protected:
  explicit Scheduler(Optimizer& optimizer) : optimizer_(optimizer) {
    for (size_t g = 0; g < optimizer.group_count(); ++g) base_.push_back(optimizer.lr(g));
  }
  // The rate after `steps` steps of a group that began with `base`.
  virtual double rate(double base, int64_t steps) const = 0;
  // For constructors: rates that differ from the beginning.
  void set(int64_t steps) {
    steps_ = steps;
    for (size_t g = 0; g < base_.size(); ++g) optimizer_.set_lr(g, rate(base_[g], steps));
  }
  static void require(bool condition, const char* message) {
    if (!condition) throw Error(TN_INVALID_ARGUMENT, std::string("[scheduler] ") + message);
  }

 private:
  static double at(const std::map<std::string, double>& state, const std::string& key) {
    const auto found = state.find(key);
    if (found == state.end())
      throw Error(TN_INVALID_ARGUMENT, "[scheduler] the state lacks \"" + key + '"');
    return found->second;
  }
  Optimizer& optimizer_;
  std::vector<double> base_;
  int64_t steps_ = 0;
};

// Times gamma every `period` steps.
class StepLR : public Scheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t period, double gamma = 0.1)
      : Scheduler(optimizer), period_(period), gamma_(gamma) {
    require(period > 0, "period must be positive");
  }

 private:
  double rate(double base, int64_t steps) const override {
    const int64_t falls = steps / period_;
    return base * std::pow(gamma_, static_cast<double>(falls));
  }
  int64_t period_;
  double gamma_;
};

// Times gamma at each milestone.
class MultiStepLR : public Scheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1)
      : Scheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {}

 private:
  double rate(double base, int64_t steps) const override {
    return base * std::pow(gamma_, static_cast<double>(std::ranges::count_if(
                                       milestones_, [&](int64_t m) { return m <= steps; })));
  }
  std::vector<int64_t> milestones_;
  double gamma_;
};

// Times gamma every step.
class ExponentialLR : public Scheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma) : Scheduler(optimizer), gamma_(gamma) {}

 private:
  double rate(double base, int64_t steps) const override {
    return base * std::pow(gamma_, static_cast<double>(steps));
  }
  double gamma_;
};

// Half a cosine from the first rate to `low` over `period` steps, and back.
class CosineAnnealingLR : public Scheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t period, double low = 0)
      : Scheduler(optimizer), period_(period), low_(low) {
    require(period > 0, "period must be positive");
  }

 private:
  double rate(double base, int64_t steps) const override {
    const double phase =
        std::numbers::pi * static_cast<double>(steps) / static_cast<double>(period_);
    return low_ + (base - low_) * (1 + std::cos(phase)) / 2;
  }
  int64_t period_;
  double low_;
};

// From `start` times the rate to `end` times it in `steps` steps: a warm-up.
class LinearLR : public Scheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, double start = 1.0 / 3, double end = 1, int64_t steps = 5)
      : Scheduler(optimizer), start_(start), end_(end), length_(steps) {
    require(steps > 0, "steps must be positive");
    set(0);
  }

 private:
  double rate(double base, int64_t steps) const override {
    const double done =
        static_cast<double>(std::min(steps, length_)) / static_cast<double>(length_);
    return base * (start_ + (end_ - start_) * done);
  }
  double start_, end_;
  int64_t length_;
};

struct OneCycleOptions {
  double warm_up = 0.3;        // part of the steps in which the rate rises
  double start_divisor = 25;   // begins at highest / start_divisor
  double final_divisor = 1e4;  // ends at the beginning / final_divisor
};

// Rises to `highest` and falls far below the beginning, both along cosines (Smith & Topin 2018).
class OneCycleLR : public Scheduler {
 public:
  OneCycleLR(Optimizer& optimizer, double highest, int64_t steps, OneCycleOptions options = {})
      : Scheduler(optimizer), highest_(highest), length_(steps), options_(options) {
    require(steps > 1, "steps must be more than one");
    require(options.warm_up > 0 && options.warm_up < 1, "warm_up must lie between 0 and 1");
    set(0);
  }

 private:
  double rate(double, int64_t steps) const override {
    const double first = highest_ / options_.start_divisor, last = first / options_.final_divisor;
    const double total = static_cast<double>(length_ - 1);
    const double top = std::max(options_.warm_up * static_cast<double>(length_) - 1, 1e-9);
    const double at = std::min(static_cast<double>(steps), total);
    return at <= top ? between(first, highest_, at / top)
                     : between(highest_, last, (at - top) / (total - top));
  }
  static double between(double from, double to, double part) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2;
  }
  double highest_;
  int64_t length_;
  OneCycleOptions options_;
};

struct PlateauOptions {
  double factor = 0.1;
  int64_t patience = 10;    // steps without a better value before the rate falls
  double threshold = 1e-4;  // how much better, relative to the best
  int64_t cooldown = 0;     // steps after a fall in which nothing is counted
  double lowest = 0;
  bool maximise = false;  // the value is better when larger
};

// Lowers the rate when a value stops getting better.
class ReduceOnPlateau {
 public:
  explicit ReduceOnPlateau(Optimizer& optimizer, PlateauOptions options = {})
      : optimizer_(optimizer), options_(options) {
    if (!(options.factor > 0 && options.factor < 1))
      throw Error(TN_INVALID_ARGUMENT, "[scheduler] factor must lie between 0 and 1");
    best_ = worst();
  }
  // `value` is what this epoch came to, such as the validation loss.
  void step(double value) {
    if (better(value)) {
      best_ = value;
      bad_ = 0;
    } else {
      ++bad_;
    }
    if (cooling_ > 0) {
      --cooling_;
      bad_ = 0;
    }
    if (bad_ <= options_.patience) return;
    for (size_t g = 0; g < optimizer_.group_count(); ++g)
      optimizer_.set_lr(g, std::max(optimizer_.lr(g) * options_.factor, options_.lowest));
    cooling_ = options_.cooldown;
    bad_ = 0;
  }
  double best() const { return best_; }
  std::map<std::string, double> state_dict() const {
    return {{"best", best_},
            {"bad", static_cast<double>(bad_)},
            {"cooling", static_cast<double>(cooling_)}};
  }
  void load_state_dict(const std::map<std::string, double>& state) {
    for (const char* key : {"best", "bad", "cooling"})
      if (!state.contains(key))
        throw Error(TN_INVALID_ARGUMENT, std::string("[scheduler] the state lacks \"") + key + '"');
    best_ = state.at("best");
    bad_ = static_cast<int64_t>(state.at("bad"));
    cooling_ = static_cast<int64_t>(state.at("cooling"));
  }

 private:
  double worst() const {
    return options_.maximise ? -std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::infinity();
  }
  bool better(double value) const {
    if (best_ == worst()) return value != worst() && !std::isnan(value);
    const double margin = options_.threshold * std::abs(best_);
    return options_.maximise ? value > best_ + margin : value < best_ - margin;
  }
  Optimizer& optimizer_;
  PlateauOptions options_;
  double best_ = 0;
  int64_t bad_ = 0, cooling_ = 0;
};

}  // namespace tenon::optim
#endif
