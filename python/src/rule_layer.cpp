#include "rule_layer.hpp"

#include <string>
#include <vector>

#include "op.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

PyObject* tuple_of(const int64_t* ints, uint32_t count) {
  PyObject* tuple = PyTuple_New(count);
  for (uint32_t i = 0; tuple != nullptr && i < count; ++i)
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(ints[i]));
  return tuple;
}

}  // namespace

nb::object checked_object(PyObject* object) {
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

tn_tensor* checked_tensor(nb::handle x, const char* where) {
  if (is_tensor(x.ptr())) return handle_of(x.ptr());
  PyErr_Format(PyExc_TypeError, "[%s] wants a Tensor, not %.200s", where,
               Py_TYPE(x.ptr())->tp_name);
  throw nb::python_error();
}

RuleLayer::RuleLayer(const char* where, nb::object rule, const nb::list& always)
    : CallLayer(this), where_(where), rule_(std::move(rule)) {
  for (const nb::handle name : always) always_.insert(require_op(nb::str(name).c_str()));
  table_.call = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs,
                   tn_tensor** outs, uint32_t nouts, uint32_t* done) {
    return static_cast<RuleLayer*>(self)->call(op, args, nargs, nullptr, outs, nouts, done);
  };
  table_.call_into = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs,
                        tn_tensor* const* outs, uint32_t nouts, uint32_t* done) {
    return static_cast<RuleLayer*>(self)->call(op, args, nargs, outs, nullptr, nouts, done);
  };
}

bool RuleLayer::concerns(const tn_op* op, const tn_value* args, uint32_t nargs,
                         tn_tensor* const* written, uint32_t nouts) const {
  if (always_.count(op) != 0) return true;
  for (uint32_t i = 0; i < nargs; ++i) {
    if (args[i].tag == TN_VALUE_TENSOR && knows(args[i].as.tensor)) return true;
    for (uint32_t k = 0; args[i].tag == TN_VALUE_TENSORS && k < args[i].count; ++k)
      if (knows(args[i].as.tensors[k])) return true;
  }
  for (uint32_t k = 0; written != nullptr && k < nouts; ++k)
    if (knows(written[k])) return true;
  return false;
}

PyObject* RuleLayer::shown_value(const tn_value& value, PyObject** mark) const {
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

tn_status* RuleLayer::call(const tn_op* op, const tn_value* args, uint32_t nargs,
                           tn_tensor* const* written, tn_tensor** outs, uint32_t nouts,
                           uint32_t* done) {
  if (!concerns(op, args, nargs, written, nouts)) return nullptr;
  const Locked locked;
  const Ref values(PyList_New(nargs)), marks(PyList_New(nargs));
  const Ref targets(written == nullptr ? Py_NewRef(Py_None) : PyList_New(nouts));
  if (!values || !marks || !targets) return status_of_exception(where_);
  for (uint32_t i = 0; i < nargs; ++i) {
    PyObject* mark = nullptr;
    PyList_SET_ITEM(values.get(), i, shown_value(args[i], &mark));
    PyList_SET_ITEM(marks.get(), i, mark);
  }
  for (uint32_t k = 0; written != nullptr && k < nouts; ++k) {
    PyObject* mark = nullptr;
    PyObject* target = shown(written[k], &mark);
    PyList_SET_ITEM(targets.get(), k, Py_BuildValue("(NN)", target, mark));
  }
  const tn_str name = tn_op_name(op);
  const Ref text(PyUnicode_FromStringAndSize(name.data, static_cast<Py_ssize_t>(name.size)));
  if (PyErr_Occurred()) return status_of_exception(where_);
  PyObject* given[] = {text.get(), values.get(), marks.get(), targets.get()};
  const Ref results(PyObject_Vectorcall(rule_.ptr(), given, 4, nullptr));
  if (!results) return status_of_exception(where_);
  if (results.get() == Py_None) return nullptr;
  *done = 1;
  return written != nullptr ? nullptr : take(results.get(), outs, nouts);
}

// The results of a rule.
tn_status* RuleLayer::take(PyObject* results, tn_tensor** outs, uint32_t nouts) {
  std::vector<Tensor> found;
  const bool good = guarded<bool>(false, [&] {
    const nb::list list = nb::borrow<nb::list>(results);
    for (size_t k = 0; k < nb::len(list); ++k) found.push_back(taken(list[k]));
    return true;
  });
  if (!good) return status_of_exception(where_);
  for (uint32_t k = 0; k < nouts; ++k) outs[k] = k < found.size() ? found[k].take() : nullptr;
  return nullptr;
}

}  // namespace tenon::python
