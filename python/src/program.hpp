// The type that tenon.graph.Program is made from.
#pragma once

#include "object.hpp"

namespace tenon::python {

bool add_program_type(PyObject* module);

}  // namespace tenon::python
