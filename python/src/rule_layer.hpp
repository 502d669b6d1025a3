// Layers whose calls Python computes, by a rule for each op: vmap's batches, and tangents.
#pragma once

#include <unordered_set>

#include "call_layer.hpp"
#include "guard.hpp"

namespace tenon::python {

// It sees the calls that take tensors it knows, and those of some ops in any case. The rule is given what the layer shows of each
// tensor, with a mark; what it calls itself is seen by the layers below.
class RuleLayer : public CallLayer {
 public:
  virtual ~RuleLayer() { leave(); }

 protected:
  // rule(op, args, marks, targets or None) -> list of pairs, one for each result, True where it wrote into the targets, which are
  // pairs (tensor, mark), or None: nothing is done. `where`: what errors name.
  RuleLayer(const char* where, nanobind::object rule, const nanobind::list& always);
  virtual bool knows(const tn_tensor* x) const = 0;
  // What a rule is given for a tensor, which may be NULL, and its mark; new references.
  virtual PyObject* shown(tn_tensor* x, PyObject** mark) const = 0;
  // What the call gives for a pair of the rule's.
  virtual Tensor taken(nanobind::handle pair) = 0;

 private:
  tn_status* call(const tn_op* op, const tn_value* args, uint32_t nargs, tn_tensor* const* written,
                  tn_tensor** outs, uint32_t nouts, uint32_t* done);
  bool concerns(const tn_op* op, const tn_value* args, uint32_t nargs, tn_tensor* const* written,
                uint32_t nouts) const;
  PyObject* shown_value(const tn_value& value, PyObject** mark) const;
  tn_status* take(PyObject* results, tn_tensor** outs, uint32_t nouts);

  const char* where_;
  nanobind::object rule_;
  std::unordered_set<const tn_op*> always_;
};

// The tensor of a Python object, and the object of a new reference or the exception that is set. Throw nanobind::python_error.
tn_tensor* checked_tensor(nanobind::handle x, const char* where);
nanobind::object checked_object(PyObject* object);

}  // namespace tenon::python
