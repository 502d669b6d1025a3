#include "callback.hpp"

#include <memory>

namespace tenon::python {
namespace {

void delete_unused(Callback* callback) {
  if (callback->owners == 0 && !callback->in_core) delete callback;
}

}  // namespace

Callback* make_callback(PyObject* callable) {
  auto* callback = new Callback{callable};
  return callback;
}

void own_callback(PyObject* tensor, Callback* callback) {
  auto* object = reinterpret_cast<TensorObject*>(tensor);
  auto* list = static_cast<Callbacks*>(object->callbacks);
  if (list == nullptr) {
    auto made = std::make_unique<Callbacks>();
    made->push_back(callback);
    object->callbacks = made.release();
  } else {
    list->push_back(callback);
  }
  ++callback->owners;
  Py_INCREF(callback->callable);
  // Only a tensor with callbacks can be part of a circle.
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

void leave_callbacks(Callbacks* callbacks) {
  const std::unique_ptr<Callbacks> list(callbacks);
  for (Callback* callback : *list) {
    PyObject* callable = callback->callable;
    if (--callback->owners == 0 && callback->in_core) {
      callback->by_core = true;  // takes over the reference
      continue;
    }
    delete_unused(callback);
    Py_XDECREF(callable);
  }
}

void drop_callback(void* context) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  auto* callback = static_cast<Callback*>(context);
  callback->in_core = false;
  PyObject* callable = callback->by_core ? callback->callable : nullptr;
  delete_unused(callback);
  Py_XDECREF(callable);
  PyGILState_Release(state);
}

}  // namespace tenon::python
