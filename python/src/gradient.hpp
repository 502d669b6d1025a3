// Functions of the module for gradients; tenon/autograd.py gives them their public form.
#pragma once

#include "object.hpp"

namespace tenon::python {

PyObject* gradient(PyObject* module, PyObject* args);
PyObject* backward(PyObject* module, PyObject* args);
PyObject* record_function(PyObject* module, PyObject* args);
PyObject* set_modes(PyObject* module, PyObject* args);
PyObject* restore_modes(PyObject* module, PyObject* modes);
PyObject* count_anomaly_scopes(PyObject* module, PyObject* change);
PyObject* get_modes(PyObject* module, PyObject*);
PyObject* after_backward(PyObject* module, PyObject* callable);
PyObject* accumulate(PyObject* module, PyObject* callable);

}  // namespace tenon::python
