// The side of the calls that forward mode sees: which tensors have a tangent, and the calls that take them.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "rule_layer.hpp"

namespace tenon::python {

// One level of forward-mode differentiation on one thread: a tensor may have a tangent, its derivative in a direction. Tensors are
// themselves, and their tangents are known by their handles as long as the level lives. Calls that take tensors with a tangent are
// computed by `rule`, which gives results with theirs.
class Tangents : public RuleLayer {
 public:
  // Marks are tangents, or None; pairs are (result, its tangent or None).
  explicit Tangents(nanobind::object rule);
  ~Tangents() override { leave(); }
  void enter();
  void leave();
  // While it is off, calls pass.
  bool set_on(bool on) { return std::exchange(on_, on); }

  // Gives a tensor a tangent; None takes it away.
  void set(nanobind::handle x, nanobind::handle tangent);
  nanobind::object get(nanobind::handle x) const;

  // Where a part of x is about to get elements with a tangent and x has none, it gets one of zeros, whose parts are written with it.
  static void prepare_write(const Tensor& x, const Tensor& values);

  // The levels of this thread that are entered, the oldest first.
  static const std::vector<Tangents*>& active();
  // Whether one of these has a tangent.
  static bool any_of(std::span<tn_tensor* const> tensors);
  // While it lives, the levels that are entered are off.
  class AllOff {
   public:
    AllOff() {
      for (Tangents* level : active()) before_.push_back(level->set_on(false));
    }
    ~AllOff() {
      for (size_t i = 0; i < before_.size(); ++i) active()[i]->set_on(before_[i]);
    }
    AllOff(const AllOff&) = delete;

   private:
    std::vector<bool> before_;
  };
  // What a tensor has at the active levels, or will have when the call is over that makes it, for a later tensor with its elements.
  class Noted {
   public:
    explicit Noted(tn_tensor* x);
    // At those levels that are still active on this thread.
    void give(const Tensor& x) const;

   private:
    const tn_tensor* x_;
    std::vector<uint64_t> levels_;  // their numbers; they hold x
  };

 private:
  struct Known {
    Tensor x, tangent;  // held: its address stays its own. No tangent: it may get one
  };
  bool knows(const tn_tensor* x) const override { return on_ && tangent_of(x) != nullptr; }
  // NULL where it has none.
  const Tensor* tangent_of(const tn_tensor* x) const;
  PyObject* shown(tn_tensor* x, PyObject** mark) const override;
  Tensor taken(nanobind::handle pair) override;

  uint64_t number_;
  bool on_ = true;
  std::unordered_map<const tn_tensor*, Known> known_;
};

void add_tangents(nanobind::module_& module);

}  // namespace tenon::python
