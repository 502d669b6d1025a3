// PyTorch's protocol for types of a program's own: functions of torch that are given one call its __torch_function__.
#pragma once

#include "object.hpp"

namespace tenon::python {

// The method by which a type that is no Tensor computes functions itself, of the first arguments or the first entry of a list among
// them. A new reference; NULL, without an exception: there is none.
PyObject* overriding(PyObject* const* args, size_t nargs);
// method(function, types, args, kwargs).
PyObject* call_overriding(PyObject* function, PyObject* method, PyObject* const* args, size_t nargs,
                          PyObject* kwnames);

}  // namespace tenon::python
