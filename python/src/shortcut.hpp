// Functions of Python whose plain calls are one op.
#pragma once

#include "object.hpp"

namespace tenon::python {

// Adds the type Shortcut: Shortcut(function, op, patterns) calls op where a call fits one of the patterns, function otherwise.
bool add_shortcut(PyObject* module);

}  // namespace tenon::python
