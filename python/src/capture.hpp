// Recording of graphs; tenon/_capture.py makes it a context and a function.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

void add_capture(nanobind::module_& module);

}  // namespace tenon::python
