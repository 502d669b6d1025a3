// The part of the profiler that listens; tenon/_profiler.py shows what it heard.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

void add_profiler(nanobind::module_& module);

}  // namespace tenon::python
