// What ops keep for their gradients goes through Python: hooks of a program, and tangents of forward mode.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

// Looks again whether calls of this thread need the core's hooks.
void choose_saved_hooks();

void add_saved(nanobind::module_& module);

}  // namespace tenon::python
