// Autocast of this thread; tenon/torch/amp makes it a context.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

void add_autocast(nanobind::module_& module);

}  // namespace tenon::python
