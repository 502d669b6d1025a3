// vmap's side of the calls: which tensors stand for one entry of a batch, and the calls that take them.
#pragma once

#include <unordered_map>

#include "rule_layer.hpp"

namespace tenon::python {

// One level of vmap on one thread. Its entries are tensors of one entry's shape and dtype in the place of a whole batch, whose first
// dimension counts the entries; what they hold is that of the first one, and nobody shall read it. Calls that take entries are
// computed by `rule` on the wholes; what it calls itself is seen by the levels below.
class Batch : public RuleLayer {
 public:
  // Pairs and marks tell whether a tensor is a batch. `draws`: ops that the rule is always asked for.
  Batch(nanobind::object rule, const nanobind::list& draws);
  ~Batch() override { leave(); }
  void enter();
  void leave();

  // A tensor that stands for the entries of a batch as long as this level lives.
  nanobind::object entry(nanobind::handle whole);
  // The batch that an entry stands for; None for any other tensor.
  nanobind::object whole(nanobind::handle x) const;

  // Whether a level is active on this thread.
  static bool any_active();
  // The tensor itself, or what is behind an entry of the levels of this thread: the batch of all of them.
  static tn_tensor* behind(tn_tensor* x);
  // False, with an exception set, for an entry: it has no elements of its own.
  static bool check_readable(tn_tensor* x, const char* where);
  // How an entry prints; NULL, without an exception, for other tensors.
  static PyObject* text_of(PyObject* tensor);

 private:
  struct Entry {
    Tensor example, whole;
  };
  bool knows(const tn_tensor* x) const override { return entries_.count(x) != 0; }
  PyObject* shown(tn_tensor* x, PyObject** mark) const override;
  Tensor taken(nanobind::handle pair) override;
  Tensor stand_for(const Tensor& whole);

  std::unordered_map<const tn_tensor*, Entry> entries_;
};

// x.detach() where a level is active.
PyObject* detached_entry(PyObject* x);

void add_batch(nanobind::module_& module);

}  // namespace tenon::python
