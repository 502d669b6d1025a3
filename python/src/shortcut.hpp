// Functions of Python whose plain calls are one op.
#pragma once

#include "object.hpp"

namespace tenon::python {

// Adds the type Shortcut: Shortcut(function, op, patterns, renames) calls op where a call fits one of the patterns, otherwise function,
// its arguments renamed.
bool add_shortcut(PyObject* module);

}  // namespace tenon::python
