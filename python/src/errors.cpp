// Statuses of the core as Python exceptions, and back.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "object.hpp"

namespace tenon::python {
namespace {

// By code; tenon/_errors.py has the classes.
constexpr std::array<const char*, 15> kNames{"Error",
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
                                             "CancelledError",
                                             "TimeoutError",
                                             "PeerLostError"};
std::array<PyObject*, kNames.size()> types;

// The exception that a Python callback raised under a call of this thread.
struct Pending {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
};
thread_local Pending pending;

}  // namespace

int anomaly_scopes = 0;

void note_line(PyObject* tensor) {
  tn_tensor* x = handle_of(tensor);
  if (!tn_tensor_requires_grad(x) || tn_tensor_is_leaf(x) || !(tn_mode_get() & TN_MODE_ANOMALY))
    return;
  const Ref autograd(PyImport_ImportModule("tenon.autograd"));
  const Ref done(autograd ? PyObject_CallMethod(autograd.get(), "_note_line", "O", tensor)
                          : nullptr);
  PyErr_Clear();  // a line that is not known is no reason to fail
}

namespace {
Ref with_line(Ref text) {
  const Ref autograd(PyImport_ImportModule("tenon.autograd"));
  Ref longer(autograd && text ? PyObject_CallMethod(autograd.get(), "_with_line", "O", text.get())
                              : nullptr);
  PyErr_Clear();
  return longer ? std::move(longer) : std::move(text);
}
}  // namespace

bool load_error_types(PyObject* errors_module) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    types[i] = PyObject_GetAttrString(errors_module, kNames[i]);
    if (types[i] == nullptr) return false;
  }
  return true;
}

PyObject* text_object(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
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
  Ref text(text_object({message.data, message.size}));
  if (anomaly_scopes > 0) text = with_line(std::move(text));
  if (text) PyErr_SetObject(types[code < types.size() ? code : TN_INTERNAL], text.get());
  tn_status_release(status);
  return nullptr;
}

PyObject* raise_as(const char* type_name, std::string_view text) {
  const Ref errors(PyImport_ImportModule("tenon._errors"));
  const Ref type(errors ? PyObject_GetAttrString(errors.get(), type_name) : nullptr);
  const Ref shown(type ? text_object(text) : nullptr);
  if (shown) PyErr_SetObject(type.get(), shown.get());
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
