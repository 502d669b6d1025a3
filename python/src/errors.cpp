// Statuses of the core as Python exceptions, and back.
#include <array>

#include "object.hpp"

namespace tenon::python {
namespace {

// By code; tenon/_errors.py has the classes.
constexpr std::array<const char*, 13> kNames{"Error",
                                             "InvalidArgumentError",
                                             "OutOfRangeError",
                                             "NotFoundError",
                                             "AlreadyExistsError",
                                             "UnimplementedError",
                                             "OutOfMemoryError",
                                             "PreconditionError",
                                             "DeviceLostError",
                                             "IoError",
                                             "DataLossError",
                                             "InternalError",
                                             "CancelledError"};
std::array<PyObject*, kNames.size()> types;

// The exception that a Python callback raised under a call of this thread.
struct Pending {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
};
thread_local Pending pending;

}  // namespace

bool load_error_types(PyObject* errors_module) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    types[i] = PyObject_GetAttrString(errors_module, kNames[i]);
    if (types[i] == nullptr) return false;
  }
  return true;
}

PyObject* raise_status(tn_status* status) {
  if (pending.type != nullptr) {
    PyErr_Restore(pending.type, pending.value, pending.traceback);
    pending = {};
    tn_status_release(status);
    return nullptr;
  }
  const uint32_t code = tn_status_code(status);
  const tn_str message = tn_status_message(status);
  const Ref text(
      PyUnicode_DecodeUTF8(message.data, static_cast<Py_ssize_t>(message.size), "replace"));
  if (text) PyErr_SetObject(types[code < types.size() ? code : TN_INTERNAL], text.get());
  tn_status_release(status);
  return nullptr;
}

tn_status* status_of_exception(const char* where) {
  Py_XDECREF(pending.type);
  Py_XDECREF(pending.value);
  Py_XDECREF(pending.traceback);
  PyErr_Fetch(&pending.type, &pending.value, &pending.traceback);
  return tn_status_make(TN_CANCELLED, {where, static_cast<uint64_t>(__builtin_strlen(where))});
}

}  // namespace tenon::python
