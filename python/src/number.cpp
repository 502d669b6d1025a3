// Numbers of Python and NumPy as arguments.
#include <complex>

#include "object.hpp"

namespace tenon::python {
namespace {

// numpy.generic, looked up only in a process that has loaded NumPy.
bool is_numpy_scalar(PyObject* object) {
  static PyObject* generic = nullptr;
  if (generic == nullptr) {
    PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
    if (numpy == nullptr) return false;
    generic = PyObject_GetAttrString(numpy, "generic");
    if (generic == nullptr) {  // NumPy is being imported
      PyErr_Clear();
      return false;
    }
  }
  return PyObject_IsInstance(object, generic) == 1;
}

int from_long(PyObject* object, tn_value& out) {
  out.tag = TN_VALUE_INT;
  out.as.i = PyLong_AsLongLong(object);
  return out.as.i == -1 && PyErr_Occurred() ? -1 : 1;
}

int from_complex(Py_complex number, tn_value& out, double (&parts)[2]) {
  parts[0] = number.real;
  parts[1] = number.imag;
  out.tag = TN_VALUE_COMPLEX;
  out.count = 2;
  out.as.floats = parts;
  return 1;
}

// Its item(): a bool, an int, a float or a complex of Python.
int from_numpy(PyObject* object, tn_value& out, double (&parts)[2]) {
  const Ref item(PyObject_CallMethod(object, "item", nullptr));
  if (!item) return -1;
  if (PyBool_Check(item.get()) || PyLong_CheckExact(item.get()) || PyFloat_CheckExact(item.get()) ||
      PyComplex_CheckExact(item.get()))
    return to_number(item.get(), out, parts);
  return 0;
}

}  // namespace

int to_number(PyObject* object, tn_value& out, double (&parts)[2]) {
  out.count = 0;
  if (PyFloat_Check(object)) {  // numpy.float64 is one, too
    out.tag = TN_VALUE_FLOAT;
    out.as.f = PyFloat_AS_DOUBLE(object);
    return 1;
  }
  if (PyLong_CheckExact(object)) return from_long(object, out);
  if (PyBool_Check(object)) {
    out.tag = TN_VALUE_BOOL;
    out.as.i = object == Py_True;
    return 1;
  }
  if (PyLong_Check(object)) return from_long(object, out);
  if (PyComplex_Check(object)) return from_complex(PyComplex_AsCComplex(object), out, parts);
  if (is_tensor(object) || PyUnicode_Check(object) || PyTuple_Check(object) || PyList_Check(object))
    return 0;
  return is_numpy_scalar(object) ? from_numpy(object, out, parts) : 0;
}

}  // namespace tenon::python
