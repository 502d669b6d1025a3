#include "overriding.hpp"

#include <algorithm>
#include <utility>

namespace tenon::python {

std::atomic<uint32_t> overriding_types{0};

namespace {

// Of a thread: modes that are on, and scopes in which types or modes do not count.
thread_local uint32_t modes = 0, without_types = 0, without_modes = 0;

PyObject *method_name = nullptr, *disabled = nullptr;

// The value of __torch_function__ of types that leave functions alone, as Parameter.
PyObject* leave_alone(PyObject*, PyObject*) { Py_RETURN_NOTIMPLEMENTED; }
PyMethodDef leave_alone_def = {"_disabled_torch_function", leave_alone, METH_VARARGS, nullptr};

bool is_usual(PyObject* object) {
  return Py_TYPE(object) == tensor_type || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || object == Py_None || PyBool_Check(object) ||
         PyUnicode_CheckExact(object);
}

// Whether its type computes functions itself. Before Python looks at anything: tensors alone, or whatever has the method.
bool overrides(PyObject* object, bool tensors_only) {
  if (is_usual(object) || (tensors_only && !is_tensor(object))) return false;
  PyObject* const found = _PyType_Lookup(Py_TYPE(object), method_name);
  return found != nullptr && found != disabled;
}

// Calls fn(object) for each argument and each entry of lists among them, of long lists the first few, until it returns true.
template <class Fn>
bool any_object(PyObject* const* args, size_t count, Fn&& fn) {
  constexpr Py_ssize_t kEntries = 1024;
  for (size_t i = 0; i < count; ++i) {
    if (!PyList_CheckExact(args[i]) && !PyTuple_Check(args[i])) {
      if (fn(args[i])) return true;
      continue;
    }
    for (Py_ssize_t k = 0; k < std::min(PySequence_Fast_GET_SIZE(args[i]), kEntries); ++k)
      if (fn(PySequence_Fast_GET_ITEM(args[i], k))) return true;
  }
  return false;
}

// One object of each type, those of subclasses before those of what they derive from. False: an exception is set.
bool insert(PyObject* list, PyObject* object) {
  Py_ssize_t at = 0;
  for (; at < PyList_GET_SIZE(list); ++at) {
    PyTypeObject* const other = Py_TYPE(PyList_GET_ITEM(list, at));
    if (other == Py_TYPE(object)) return true;
    if (PyType_IsSubtype(Py_TYPE(object), other)) break;
  }
  return PyList_Insert(list, at, object) == 0;
}

// The arguments that override, one of each type. NULL: an exception is set.
Ref collect(PyObject* const* args, size_t count, bool tensors_only) {
  Ref list(PyList_New(0));
  if (!list) return list;
  const bool failed = any_object(args, count, [&](PyObject* object) {
    return overrides(object, tensors_only) && !insert(list.get(), object);
  });
  return failed ? Ref() : std::move(list);
}

// tenon._overriding.dispatch(function, objects, args, kwargs)
PyObject* dispatch(PyObject* function, PyObject* objects, PyObject* const* args, size_t nargs,
                   PyObject* kwnames) {
  static PyObject* target = nullptr;
  if (target == nullptr) {
    const Ref module(PyImport_ImportModule("tenon._overriding"));
    target = module ? PyObject_GetAttrString(module.get(), "dispatch") : nullptr;
    if (target == nullptr) return nullptr;
  }
  const Ref positional(PyTuple_New(static_cast<Py_ssize_t>(nargs))), named(PyDict_New());
  if (!positional || !named) return nullptr;
  for (size_t i = 0; i < nargs; ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; kwnames != nullptr && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i),
                       args[nargs + static_cast<size_t>(i)]) < 0)
      return nullptr;
  return PyObject_CallFunctionObjArgs(target, function, objects, positional.get(), named.get(),
                                      nullptr);
}

size_t count_of(size_t nargs, PyObject* kwnames) {
  return nargs + (kwnames == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(kwnames)));
}

bool has_modes() { return modes != 0 && without_modes == 0; }

// _overriding(what, change): counts types, or this thread's modes and scopes.
PyObject* count(PyObject*, PyObject* args) {
  int what = 0, change = 0;
  if (!PyArg_ParseTuple(args, "ii:_overriding", &what, &change)) return nullptr;
  const auto by = static_cast<uint32_t>(change);
  if (what == 0 || what == 1) overriding_types += by;
  if (what == 1) modes += by;
  if (what == 2) without_types += by;
  if (what == 3) without_modes += by;
  Py_RETURN_NONE;
}
// _overriding_objects(args): those among them whose types compute functions themselves.
PyObject* objects_among(PyObject*, PyObject* args) {
  const Ref items(PySequence_Tuple(args));
  if (!items) return nullptr;
  const auto size = without_types == 0 ? static_cast<size_t>(PyTuple_GET_SIZE(items.get())) : 0;
  return collect(size == 0 ? nullptr : &PyTuple_GET_ITEM(items.get(), 0), size, false).release();
}
PyObject* modes_on(PyObject*, PyObject*) { return PyBool_FromLong(has_modes()); }
PyMethodDef functions[] = {{"_overriding", count, METH_VARARGS, nullptr},
                           {"_overriding_objects", objects_among, METH_O, nullptr},
                           {"_overriding_modes", modes_on, METH_NOARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

Overridden take_over(PyObject* function, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  const size_t count = without_types == 0 ? count_of(nargs, kwnames) : 0;
  const auto is_own = [](PyObject* object) { return overrides(object, true); };
  if (!has_modes() && !any_object(args, count, is_own)) return {};
  const Ref objects = collect(args, count, true);
  return {true, objects ? dispatch(function, objects.get(), args, nargs, kwnames) : nullptr};
}

Overridden take_over(const char* method, PyObject* self, PyObject* other) {
  PyObject* const args[] = {self, other};
  const size_t nargs = other == nullptr ? 1 : 2;
  const auto is_own = [](PyObject* object) { return overrides(object, true); };
  if (!has_modes() && (without_types != 0 || std::none_of(args, args + nargs, is_own))) return {};
  const Ref function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), method));
  return function ? take_over(function.get(), args, nargs, nullptr) : Overridden{true, nullptr};
}

Overridden take_over_property(const char* property, PyObject* self) {
  if (!has_modes() && (without_types != 0 || !overrides(self, true))) return {};
  const Ref found(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), property));
  const Ref getter(found ? PyObject_GetAttrString(found.get(), "__get__") : nullptr);
  return getter ? take_over(getter.get(), &self, 1, nullptr) : Overridden{true, nullptr};
}

Overridden take_over_unread(PyObject* function, PyObject* const* args, size_t nargs,
                            PyObject* kwnames) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);  // a look-up would clear it
  const size_t count = count_of(nargs, kwnames);
  if (!any_object(args, count, [](PyObject* object) {
        return !is_tensor(object) && overrides(object, false);
      })) {
    PyErr_Restore(type, value, traceback);
    return {};
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  const Ref objects = collect(args, count, false);
  return {true, objects ? dispatch(function, objects.get(), args, nargs, kwnames) : nullptr};
}

bool add_overriding(PyObject* module) {
  method_name = PyUnicode_InternFromString("__torch_function__");
  disabled = PyCFunction_New(&leave_alone_def, nullptr);
  return method_name != nullptr && disabled != nullptr &&
         PyModule_AddObjectRef(module, leave_alone_def.ml_name, disabled) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace tenon::python
