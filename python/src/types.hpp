// What nanobind binds: dtypes, devices, generators, plugins.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

void add_types(nanobind::module_& module);

}  // namespace tenon::python
