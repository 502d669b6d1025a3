// The parts the type Tensor is put together from, one file each.
#pragma once

#include "object.hpp"

namespace tenon::python {

// Makes the type and adds it to the module.
bool add_tensor_type(PyObject* module);
// Shapes are of this subclass of tuple from here on; None: plain tuples.
PyObject* set_shape_type(PyObject*, PyObject* type);

// arithmetic.cpp: finds the handles the operators call.
bool find_operators();
PyObject* tensor_add(PyObject*, PyObject*);
PyObject* tensor_sub(PyObject*, PyObject*);
PyObject* tensor_mul(PyObject*, PyObject*);
PyObject* tensor_div(PyObject*, PyObject*);
PyObject* tensor_floor_divide(PyObject*, PyObject*);
PyObject* tensor_remainder(PyObject*, PyObject*);
PyObject* tensor_pow(PyObject*, PyObject*, PyObject*);
PyObject* tensor_matmul(PyObject*, PyObject*);
PyObject* tensor_and(PyObject*, PyObject*);
PyObject* tensor_or(PyObject*, PyObject*);
PyObject* tensor_xor(PyObject*, PyObject*);
PyObject* tensor_lshift(PyObject*, PyObject*);
PyObject* tensor_rshift(PyObject*, PyObject*);
PyObject* tensor_neg(PyObject*);
PyObject* tensor_abs(PyObject*);
PyObject* tensor_invert(PyObject*);
PyObject* tensor_pos(PyObject*);
PyObject* tensor_iadd(PyObject*, PyObject*);
PyObject* tensor_isub(PyObject*, PyObject*);
PyObject* tensor_imul(PyObject*, PyObject*);
PyObject* tensor_idiv(PyObject*, PyObject*);
PyObject* tensor_ifloor_divide(PyObject*, PyObject*);
PyObject* tensor_iremainder(PyObject*, PyObject*);
PyObject* tensor_ipow(PyObject*, PyObject*, PyObject*);
PyObject* tensor_imatmul(PyObject*, PyObject*);
PyObject* tensor_iand(PyObject*, PyObject*);
PyObject* tensor_ior(PyObject*, PyObject*);
PyObject* tensor_ixor(PyObject*, PyObject*);
PyObject* tensor_ilshift(PyObject*, PyObject*);
PyObject* tensor_irshift(PyObject*, PyObject*);
// Whether a tensor on the host has an element that is 0; False for others.
PyObject* tensor_has_zero(PyObject*, PyObject* x);
PyObject* tensor_set_mixed(PyObject*, PyObject* args);
PyObject* tensor_compare(PyObject*, PyObject*, int);

// index.cpp
PyObject* tensor_get_item(PyObject*, PyObject*);
int tensor_set_item(PyObject*, PyObject*, PyObject*);
PyObject* tensor_get_at(PyObject*, Py_ssize_t);
Py_ssize_t tensor_length(PyObject*);

// elements.cpp
PyObject* tensor_item(PyObject*, PyObject*);
PyObject* tensor_tolist(PyObject*, PyObject*);
PyObject* tensor_float(PyObject*);
PyObject* tensor_int(PyObject*);
PyObject* tensor_index(PyObject*);
PyObject* tensor_complex(PyObject*, PyObject*);
int tensor_bool(PyObject*);
PyObject* tensor_repr(PyObject*);
PyObject* tensor_str(PyObject*);
PyObject* tensor_format(PyObject*, PyObject*);
PyObject* from_data(PyObject* module, PyObject* args);
PyObject* make_empty(PyObject* module, PyObject* args);
PyObject* from_bytes(PyObject* module, PyObject* args);
PyObject* tensor_tobytes(PyObject*, PyObject*);

// exchange.cpp
int tensor_get_buffer(PyObject*, Py_buffer*, int);
void tensor_release_buffer(PyObject*, Py_buffer*);
PyObject* from_buffer(PyObject* module, PyObject* args);
PyObject* read_as(PyObject* module, PyObject* args);

// dlpack.cpp
PyObject* tensor_to_capsule(PyObject*, PyObject* args);
PyObject* from_capsule(PyObject* module, PyObject* args);
PyObject* dlpack_device(PyObject* module, PyObject* device);
PyObject* dlpack_queue(PyObject* module, PyObject* args);
PyObject* dlpack_precede(PyObject* module, PyObject* args);

// gradient.cpp
PyObject* tensor_backward(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
PyObject* tensor_detach(PyObject*, PyObject*);
PyObject* tensor_set_requires_grad(PyObject*, PyObject* const*, Py_ssize_t);
PyObject* tensor_add_hook(PyObject*, PyObject*);
PyObject* tensor_add_step_hook(PyObject*, PyObject*);
PyObject* tensor_remove_hook(PyObject*, PyObject*);
PyObject* tensor_get_grad(PyObject*, void*);
int tensor_set_grad(PyObject*, PyObject*, void*);

}  // namespace tenon::python
