// An op as a Python callable.
#pragma once

#include "object.hpp"
#include "schema.hpp"

namespace tenon::python {

// Makes the type Op; adds it and a dict of all ops of the table, `ops`, to the module.
bool add_ops(PyObject* module);
// The handle of an op the extension itself calls; `add_ops` came before.
const tn_op* require_op(const char* name);

}  // namespace tenon::python
