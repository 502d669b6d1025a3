// The extension tenon._core. What users see is put together in tenon/__init__.py.
#include <nanobind/nanobind.h>

#include "arguments.hpp"
#include "autocast.hpp"
#include "batch.hpp"
#include "capture.hpp"
#include "files.hpp"
#include "gradient.hpp"
#include "graph.hpp"
#include "onnx.hpp"
#include "op.hpp"
#include "overriding.hpp"
#include "profiler.hpp"
#include "program.hpp"
#include "saved.hpp"
#include "shortcut.hpp"
#include "tangents.hpp"
#include "tensor.hpp"
#include "trees.hpp"
#include "types.hpp"
#include "witness.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

PyMethodDef functions[] = {{"_from_data", from_data, METH_VARARGS, nullptr},
                           {"_empty", make_empty, METH_VARARGS, nullptr},
                           {"_from_buffer", from_buffer, METH_VARARGS, nullptr},
                           {"_from_bytes", from_bytes, METH_VARARGS, nullptr},
                           {"_from_capsule", from_capsule, METH_VARARGS, nullptr},
                           {"_dlpack_device", dlpack_device, METH_O, nullptr},
                           {"_dlpack_queue", dlpack_queue, METH_VARARGS, nullptr},
                           {"_dlpack_precede", dlpack_precede, METH_VARARGS, nullptr},
                           {"_read_as", read_as, METH_VARARGS, nullptr},
                           {"_gradient", gradient, METH_VARARGS, nullptr},
                           {"_backward", backward, METH_VARARGS, nullptr},
                           {"_record", record_function, METH_VARARGS, nullptr},
                           {"_set_modes", set_modes, METH_VARARGS, nullptr},
                           {"_restore_modes", restore_modes, METH_O, nullptr},
                           {"_anomaly_scopes", count_anomaly_scopes, METH_O, nullptr},
                           {"_has_zero", tensor_has_zero, METH_O, nullptr},
                           {"_set_mixed", tensor_set_mixed, METH_VARARGS, nullptr},
                           {"_get_modes", get_modes, METH_NOARGS, nullptr},
                           {"_set_shape_type", set_shape_type, METH_O, nullptr},
                           {"_after_backward", after_backward, METH_O, nullptr},
                           {"_accumulate", accumulate, METH_O, nullptr},
                           {"_set_trees", set_trees, METH_VARARGS, nullptr},
                           {"_tree_shape", tree_shape, METH_VARARGS, nullptr},
                           {"_tree_value", tree_value, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

void require(bool good) {
  if (!good) throw nb::python_error();
}

void check_version() {
  uint32_t major = 0, minor = 0;
  tn_str version{};
  tn_version(&major, &minor, &version);
  const bool new_enough = TN_ABI_MINOR == 0 || minor + 1 > TN_ABI_MINOR;
  if (major == TN_ABI_MAJOR && new_enough) return;
  PyErr_Format(PyExc_ImportError,
               "libtenon has ABI %u.%u; tenon._core was built for %d.%d or a later %d.x", major,
               minor, TN_ABI_MAJOR, TN_ABI_MINOR, TN_ABI_MAJOR);
  throw nb::python_error();
}

}  // namespace
}  // namespace tenon::python

NB_MODULE(_core, m) {
  using namespace tenon::python;
  // Dtypes and devices live as long as the process.
  nb::set_leak_warnings(false);
  check_version();
  const nb::object errors = nb::module_::import_("tenon._errors");
  require(load_error_types(errors.ptr()));
  add_types(m);
  add_autocast(m);
  add_batch(m);
  add_capture(m);
  add_files(m);
  add_graph(m);
  add_onnx(m);
  add_profiler(m);
  add_saved(m);
  add_tangents(m);
  add_witness(m);
  require(add_tensor_type(m.ptr()));
  require(add_overriding(m.ptr()));
  require(add_synonyms(m.ptr()));
  require(add_ops(m.ptr()));
  require(add_program_type(m.ptr()));
  require(add_shortcut(m.ptr()));
  require(PyModule_AddFunctions(m.ptr(), functions) == 0);
  tn_str version{};
  uint32_t major = 0, minor = 0;
  tn_version(&major, &minor, &version);
  m.attr("__version__") = nb::str(version.data, version.size);
}
