// Code over the C++ API inside a function that Python calls.
#pragma once

#include <new>

#include "object.hpp"
#include "tenon/tenon.hpp"

namespace tenon::python {

// A Python exception is set already.
struct PythonError {};

inline Tensor tensor_of(PyObject* object) { return Tensor::share(handle_of(object)); }
inline PyObject* wrap(Tensor tensor) { return wrap(tensor.take()); }

// Runs fn() and turns what it throws into a Python exception and `failed`.
template <class Result, class Fn>
Result guarded(Result failed, Fn&& fn) {
  try {
    return fn();
  } catch (const PythonError&) {
  } catch (const Error& error) {
    raise_status(tn_status_make(error.code(), detail::to_str(error.what())));
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    if (const Ref text(text_object(error.what())); text)
      PyErr_SetObject(PyExc_RuntimeError, text.get());
  }
  return failed;
}
template <class Fn>
PyObject* guarded(Fn&& fn) {
  return guarded<PyObject*>(nullptr, fn);
}

// Elements of nested lists and tuples, numbers and arrays; `dtype` is NULL for that of the elements. A new reference.
PyObject* tensor_from_data(PyObject* data, const tn_dtype* dtype, tn_device* device);

}  // namespace tenon::python
