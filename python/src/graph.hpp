// Functions as graphs of ops; tenon/graph.py makes it a module.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

void add_graph(nanobind::module_& module);
// What tells without much work whether a recorded function is still what it was; of python/src/watch.cpp.
void add_watch(nanobind::module_& module);

}  // namespace tenon::python
