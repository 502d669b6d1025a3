// Trees of tensors: what python/tenon/_trees.py does for the most frequent kinds of values.
#pragma once

#include "object.hpp"

namespace tenon::python {

// (LEAF, shape_of other values, rebuilt of other shapes): once, before the others.
PyObject* set_trees(PyObject* module, PyObject* args);
PyObject* tree_shape(PyObject* module, PyObject* args);
PyObject* tree_value(PyObject* module, PyObject* args);

}  // namespace tenon::python
