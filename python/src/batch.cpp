#include "batch.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "op.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

// Levels of this thread, the newest last.
std::vector<Batch*>& active() {
  static thread_local std::vector<Batch*> of_this_thread;
  return of_this_thread;
}

PyObject* tuple_of(const int64_t* ints, uint32_t count) {
  PyObject* tuple = PyTuple_New(count);
  for (uint32_t i = 0; tuple != nullptr && i < count; ++i)
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(ints[i]));
  return tuple;
}

nb::object checked(PyObject* object) {
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

tn_tensor* checked_tensor(nb::handle x) {
  if (is_tensor(x.ptr())) return handle_of(x.ptr());
  PyErr_Format(PyExc_TypeError, "[vmap] wants a Tensor, not %.200s", Py_TYPE(x.ptr())->tp_name);
  throw nb::python_error();
}

}  // namespace

Batch::Batch(nb::object rule, const nb::list& draws) : CallLayer(this), rule_(std::move(rule)) {
  for (const nb::handle name : draws) draws_.insert(require_op(nb::str(name).c_str()));
  table_.call = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs,
                   tn_tensor** outs, uint32_t nouts, uint32_t* done) {
    return static_cast<Batch*>(self)->call(op, args, nargs, nullptr, outs, nouts, done);
  };
  table_.call_into = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs,
                        tn_tensor* const* outs, uint32_t nouts, uint32_t* done) {
    return static_cast<Batch*>(self)->call(op, args, nargs, outs, nullptr, nouts, done);
  };
}

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
  const Tensor batch = Tensor::share(checked_tensor(whole));
  return checked(guarded([&] { return wrap(stand_for(batch)); }));
}

nb::object Batch::whole(nb::handle x) const {
  const auto found = entries_.find(checked_tensor(x));
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

bool Batch::concerns(const tn_op* op, const tn_value* args, uint32_t nargs,
                     tn_tensor* const* written, uint32_t nouts) const {
  if (draws_.count(op) != 0) return true;
  for (uint32_t i = 0; i < nargs; ++i) {
    if (args[i].tag == TN_VALUE_TENSOR && knows(args[i].as.tensor)) return true;
    for (uint32_t k = 0; args[i].tag == TN_VALUE_TENSORS && k < args[i].count; ++k)
      if (knows(args[i].as.tensors[k])) return true;
  }
  for (uint32_t k = 0; written != nullptr && k < nouts; ++k)
    if (knows(written[k])) return true;
  return false;
}

PyObject* Batch::shown(tn_tensor* x, PyObject** mark) const {
  const auto found = entries_.find(x);
  *mark = Py_NewRef(found == entries_.end() ? Py_False : Py_True);
  if (x == nullptr) return Py_NewRef(Py_None);
  return wrap(tn_tensor_retain(found == entries_.end() ? x : found->second.whole.get()));
}

PyObject* Batch::shown(const tn_value& value, PyObject** mark) const {
  if (value.tag == TN_VALUE_TENSOR) return shown(value.as.tensor, mark);
  if (value.tag == TN_VALUE_TENSORS) {
    PyObject* list = PyList_New(value.count);
    *mark = PyList_New(value.count);
    for (uint32_t k = 0; list != nullptr && *mark != nullptr && k < value.count; ++k) {
      PyObject* one = nullptr;
      PyList_SET_ITEM(list, k, shown(value.as.tensors[k], &one));
      PyList_SET_ITEM(*mark, k, one);
    }
    return list;
  }
  *mark = Py_NewRef(Py_False);
  switch (value.tag) {
    case TN_VALUE_BOOL:
      return PyBool_FromLong(value.as.i != 0);
    case TN_VALUE_INT:
      return PyLong_FromLongLong(value.as.i);
    case TN_VALUE_FLOAT:
      return PyFloat_FromDouble(value.as.f);
    case TN_VALUE_COMPLEX:
      return PyComplex_FromDoubles(value.as.floats[0], value.as.floats[1]);
    case TN_VALUE_STR:
      return PyUnicode_FromStringAndSize(value.as.str, value.count);
    case TN_VALUE_INTS:
      return tuple_of(value.as.ints, value.count);
    case TN_VALUE_DTYPE:
      return dtype_object(static_cast<tn_dtype>(value.as.i));
    case TN_VALUE_DEVICE:
      return device_object(value.as.device);
    case TN_VALUE_GENERATOR:
      return nb::cast(Generator::share(value.as.generator)).release().ptr();
    default:
      return Py_NewRef(Py_None);
  }
}

tn_status* Batch::call(const tn_op* op, const tn_value* args, uint32_t nargs,
                       tn_tensor* const* written, tn_tensor** outs, uint32_t nouts,
                       uint32_t* done) {
  if (!concerns(op, args, nargs, written, nouts)) return nullptr;
  const Locked locked;
  const Ref values(PyList_New(nargs)), marks(PyList_New(nargs));
  const Ref targets(written == nullptr ? Py_NewRef(Py_None) : PyList_New(nouts));
  if (!values || !marks || !targets) return status_of_exception("vmap");
  for (uint32_t i = 0; i < nargs; ++i) {
    PyObject* mark = nullptr;
    PyList_SET_ITEM(values.get(), i, shown(args[i], &mark));
    PyList_SET_ITEM(marks.get(), i, mark);
  }
  for (uint32_t k = 0; written != nullptr && k < nouts; ++k) {
    PyObject* mark = nullptr;
    PyObject* target = shown(written[k], &mark);
    PyList_SET_ITEM(targets.get(), k, Py_BuildValue("(NN)", target, mark));
  }
  const tn_str name = tn_op_name(op);
  const Ref text(PyUnicode_FromStringAndSize(name.data, static_cast<Py_ssize_t>(name.size)));
  if (PyErr_Occurred()) return status_of_exception("vmap");
  PyObject* given[] = {text.get(), values.get(), marks.get(), targets.get()};
  const Ref results(PyObject_Vectorcall(rule_.ptr(), given, 4, nullptr));
  if (!results) return status_of_exception("vmap");
  if (results.get() == Py_None) return nullptr;
  *done = 1;
  return written != nullptr ? nullptr : take(results.get(), outs, nouts);
}

// The results of a rule, entries for those that are batches.
tn_status* Batch::take(PyObject* results, tn_tensor** outs, uint32_t nouts) {
  const nb::list list = nb::borrow<nb::list>(results);
  std::vector<Tensor> found;
  const bool good = guarded<bool>(false, [&] {
    for (size_t k = 0; k < nb::len(list); ++k) {
      const Tensor y = Tensor::share(checked_tensor(nb::object(list[k][0])));
      found.push_back(nb::cast<bool>(list[k][1]) ? stand_for(y) : y);
    }
    return true;
  });
  if (!good) return status_of_exception("vmap");
  for (uint32_t k = 0; k < nouts; ++k) outs[k] = k < found.size() ? found[k].take() : nullptr;
  return nullptr;
}

PyObject* detached_entry(PyObject* x) {
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
    return checked(wrap(tn_tensor_retain(Batch::behind(checked_tensor(x)))));
  });
}

}  // namespace tenon::python
