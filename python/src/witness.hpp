// Which tensors with gradients a piece of code uses, and others in their place; tenon.torch.utils.checkpoint asks.
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

void add_witness(nanobind::module_& module);

}  // namespace tenon::python
