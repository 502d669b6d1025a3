// Reading and writing files, by the libraries that C++ has for them.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

void add_files(nanobind::module_& module);

}  // namespace tenon::python
