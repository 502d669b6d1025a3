// Trees of tensors apart and together again; python/tenon/_trees.py tells what that is, and does what is not written here.
#include "trees.hpp"

namespace tenon::python {
namespace {

// Of _trees.py: what marks a tensor's place, and the functions for other values than these.
PyObject *leaf = nullptr, *other_shape = nullptr, *other_value = nullptr;

class Recursion {
 public:
  Recursion() : good_(Py_EnterRecursiveCall(" in a tree of tensors") == 0) {}
  ~Recursion() {
    if (good_) Py_LeaveRecursiveCall();
  }
  explicit operator bool() const { return good_; }

 private:
  bool good_;
};

// make(part) of each part of a tuple, in a new one.
template <class Make>
Ref each(PyObject* parts, Make&& make) {
  const Py_ssize_t count = PyTuple_GET_SIZE(parts);
  Ref made(PyTuple_New(count));
  for (Py_ssize_t i = 0; made && i < count; ++i) {
    PyObject* one = make(PyTuple_GET_ITEM(parts, i));
    if (one == nullptr) return Ref();
    PyTuple_SET_ITEM(made.get(), i, one);
  }
  return made;
}

PyObject* shape(PyObject* value, PyObject* tensors);

Ref shapes(PyObject* values, PyObject* tensors) {
  return values == nullptr ? Ref()
                           : each(values, [&](PyObject* one) { return shape(one, tensors); });
}

// The keys or values of a dict, in a tuple.
Ref tuple_of(PyObject* list) {
  const Ref owned(list);
  return Ref(list == nullptr ? nullptr : PyList_AsTuple(list));
}

PyObject* shape(PyObject* value, PyObject* tensors) {
  PyTypeObject* const type = Py_TYPE(value);
  auto* const kind = reinterpret_cast<PyObject*>(type);
  if (is_tensor(value)) {
    if (PyList_Append(tensors, value) < 0) return nullptr;
    Py_INCREF(leaf);
    return leaf;
  }
  // Each of these equals only itself.
  if (value == Py_None || type == &PyBool_Type || type == &PyLong_Type || type == &PyUnicode_Type)
    return PyTuple_Pack(4, Py_None, value, kind, Py_None);
  if (type == &PyFloat_Type) {  // 0.0 equals -0.0
    const Ref text(PyObject_Repr(value));
    return text ? PyTuple_Pack(4, Py_None, value, kind, text.get()) : nullptr;
  }
  const Recursion deeper;
  if (!deeper) return nullptr;
  if (PyTuple_Check(value)) {
    const Ref parts = shapes(value, tensors);
    return parts ? PyTuple_Pack(2, kind, parts.get()) : nullptr;
  }
  if (PyList_Check(value)) {
    const Ref list(PyList_AsTuple(value)), parts = shapes(list.get(), tensors);
    return parts ? PyTuple_Pack(2, kind, parts.get()) : nullptr;
  }
  if (type == &PyDict_Type) {
    const Ref keys = tuple_of(PyDict_Keys(value)), values = tuple_of(PyDict_Values(value)),
              parts = shapes(values.get(), tensors);
    return keys && parts ? PyTuple_Pack(3, kind, keys.get(), parts.get()) : nullptr;
  }
  return PyObject_CallFunctionObjArgs(other_shape, value, tensors, nullptr);
}

// Whether `shape` could say what a value is made of, at this level.
bool is_made(PyObject* shape) {
  if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) < 2) return false;
  PyObject *const kind = PyTuple_GET_ITEM(shape, 0), *const parts = PyTuple_GET_ITEM(shape, 1);
  if (kind == reinterpret_cast<PyObject*>(&PyDict_Type))
    return PyTuple_GET_SIZE(shape) == 3 && PyTuple_Check(parts) &&
           PyTuple_Check(PyTuple_GET_ITEM(shape, 2)) &&
           PyTuple_GET_SIZE(parts) == PyTuple_GET_SIZE(PyTuple_GET_ITEM(shape, 2));
  const bool listed = kind == reinterpret_cast<PyObject*>(&PyTuple_Type) ||
                      kind == reinterpret_cast<PyObject*>(&PyList_Type);
  return !listed || PyTuple_Check(parts);
}

PyObject* value_of(PyObject* shape, PyObject* tensors) {
  if (shape != leaf && !is_made(shape)) {
    PyErr_SetString(PyExc_TypeError, "no shape of a tree");
    return nullptr;
  }
  if (shape == leaf) {
    PyObject* next = PyIter_Next(tensors);
    if (next == nullptr && PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_StopIteration);
    return next;
  }
  const Recursion deeper;
  if (!deeper) return nullptr;
  const auto values = [&](Py_ssize_t at) {
    return each(PyTuple_GET_ITEM(shape, at), [&](PyObject* one) { return value_of(one, tensors); });
  };
  PyObject* const kind = PyTuple_GET_ITEM(shape, 0);
  if (kind == Py_None) {
    PyObject* const value = PyTuple_GET_ITEM(shape, 1);
    Py_INCREF(value);
    return value;
  }
  if (kind == reinterpret_cast<PyObject*>(&PyTuple_Type)) return values(1).release();
  if (kind == reinterpret_cast<PyObject*>(&PyList_Type)) {
    const Ref made = values(1);
    return made ? PySequence_List(made.get()) : nullptr;
  }
  if (kind != reinterpret_cast<PyObject*>(&PyDict_Type))
    return PyObject_CallFunctionObjArgs(other_value, shape, tensors, nullptr);
  const Ref made = values(2);
  Ref dict(made ? PyDict_New() : nullptr);
  PyObject* const keys = PyTuple_GET_ITEM(shape, 1);
  for (Py_ssize_t i = 0; dict && i < PyTuple_GET_SIZE(keys); ++i)
    if (PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(keys, i), PyTuple_GET_ITEM(made.get(), i)) < 0)
      return nullptr;
  return dict.release();
}

}  // namespace

PyObject* set_trees(PyObject*, PyObject* args) {
  if (!PyArg_ParseTuple(args, "OOO", &leaf, &other_shape, &other_value)) return nullptr;
  for (PyObject* one : {leaf, other_shape, other_value}) Py_INCREF(one);
  Py_RETURN_NONE;
}

PyObject* tree_shape(PyObject*, PyObject* args) {
  PyObject *value = nullptr, *tensors = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &value, &PyList_Type, &tensors)) return nullptr;
  return shape(value, tensors);
}

PyObject* tree_value(PyObject*, PyObject* args) {
  PyObject *of = nullptr, *tensors = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &of, &tensors)) return nullptr;
  if (PyIter_Check(tensors)) return value_of(of, tensors);
  PyErr_SetString(PyExc_TypeError, "an iterator is wanted");
  return nullptr;
}

}  // namespace tenon::python
