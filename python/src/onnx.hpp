// ONNX models; tenon/onnx.py makes it a module.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

void add_onnx(nanobind::module_& module);

}  // namespace tenon::python
