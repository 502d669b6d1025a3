#include "overriding.hpp"

#include <algorithm>

namespace tenon::python {

PyObject* overriding(PyObject* const* args, size_t nargs) {
  for (size_t i = 0; i < std::min<size_t>(nargs, 4); ++i) {
    PyObject* item = args[i];
    const bool list = PyList_CheckExact(item) || PyTuple_CheckExact(item);
    if (list && PySequence_Fast_GET_SIZE(item) > 0) item = PySequence_Fast_GET_ITEM(item, 0);
    if (is_tensor(item) || (list && item == args[i])) continue;
    if (PyLong_CheckExact(item) || PyFloat_CheckExact(item) || item == Py_None) continue;
    PyObject* found =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(item)), "__torch_function__");
    if (found != nullptr) return found;
    PyErr_Clear();
  }
  return nullptr;
}

PyObject* call_overriding(PyObject* object, PyObject* method, PyObject* const* args, size_t nargs,
                          PyObject* kwnames) {
  const Ref positional(PyTuple_New(static_cast<Py_ssize_t>(nargs))), named(PyDict_New());
  if (!positional || !named) return nullptr;
  for (size_t i = 0; i < nargs; ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; kwnames != nullptr && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i),
                       args[nargs + static_cast<size_t>(i)]) < 0)
      return nullptr;
  const Ref types(PyTuple_New(0));
  return types ? PyObject_CallFunctionObjArgs(method, object, types.get(), positional.get(),
                                              named.get(), nullptr)
               : nullptr;
}

}  // namespace tenon::python
