// Functions as graphs of ops; tenon/graph.py makes it a module.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

void add_graph(nanobind::module_& module);

}  // namespace tenon::python
