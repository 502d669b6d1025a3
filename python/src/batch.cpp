#include "batch.hpp"

#include <algorithm>
#include <vector>

#include "tangents.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

// Levels of this thread, the newest last.
std::vector<Batch*>& active() {
  static thread_local std::vector<Batch*> of_this_thread;
  return of_this_thread;
}

}  // namespace

Batch::Batch(nb::object rule, const nb::list& draws) : RuleLayer("vmap", std::move(rule), draws) {}

void Batch::enter() {
  CallLayer::enter();
  active().push_back(this);
}

void Batch::leave() {
  CallLayer::leave();
  std::erase(active(), this);
}

Tensor Batch::stand_for(const Tensor& whole) {
  const NoGrad unrecorded;
  Tensor example = select(whole, 0, 0);
  entries_[example.get()] = {example, whole};
  return example;
}

nb::object Batch::entry(nb::handle whole) {
  const Tensor batch = Tensor::share(checked_tensor(whole, "vmap"));
  return checked_object(guarded([&] { return wrap(stand_for(batch)); }));
}

nb::object Batch::whole(nb::handle x) const {
  const auto found = entries_.find(checked_tensor(x, "vmap"));
  return found == entries_.end() ? nb::none() : nb::steal(wrap(found->second.whole));
}

bool Batch::any_active() { return !active().empty(); }

tn_tensor* Batch::behind(tn_tensor* x) {
  for (auto level = active().rbegin(); level != active().rend(); ++level) {
    const auto found = (*level)->entries_.find(x);
    if (found != (*level)->entries_.end()) x = found->second.whole.get();
  }
  return x;
}

bool Batch::check_readable(tn_tensor* x, const char* where) {
  if (!any_active() || behind(x) == x) return true;
  PyErr_Format(PyExc_RuntimeError,
               "[%s] inside vmap a tensor stands for the entries of a batch and has no elements of "
               "its own to read: "
               "choose between results with where(), or return the tensor and read it outside",
               where);
  return false;
}

PyObject* Batch::text_of(PyObject* tensor) {
  if (!any_active() || behind(handle_of(tensor)) == handle_of(tensor)) return nullptr;
  const Ref whole(wrap(tn_tensor_retain(behind(handle_of(tensor)))));
  return whole ? PyUnicode_FromFormat("entries of a batch(%R)", whole.get()) : nullptr;
}

PyObject* Batch::shown(tn_tensor* x, PyObject** mark) const {
  const auto found = entries_.find(x);
  *mark = Py_NewRef(found == entries_.end() ? Py_False : Py_True);
  if (x == nullptr) return Py_NewRef(Py_None);
  return wrap(tn_tensor_retain(found == entries_.end() ? x : found->second.whole.get()));
}

Tensor Batch::taken(nb::handle pair) {
  const Tensor y = Tensor::share(checked_tensor(pair[0], "vmap"));
  return nb::cast<bool>(pair[1]) ? stand_for(y) : y;
}

PyObject* detached_entry(PyObject* x) {
  const Tangents::AllOff without_tangents;
  return guarded([&] {
    const NoGrad unrecorded;
    return wrap(alias(tensor_of(x)));
  });
}

void add_batch(nb::module_& m) {
  nb::class_<Batch>(m, "_Batch")
      .def(nb::init<nb::object, nb::list>())
      .def("enter", &Batch::enter)
      .def("leave", &Batch::leave)
      .def("entry", &Batch::entry)
      .def("whole", &Batch::whole);
  m.def("_inside_vmap", Batch::any_active);
  // The tensor, or the batch behind an entry: for checks of all elements.
  m.def("_behind", [](nb::handle x) {
    return checked_object(wrap(tn_tensor_retain(Batch::behind(checked_tensor(x, "vmap")))));
  });
}

}  // namespace tenon::python
