#include "callback.hpp"

#include <algorithm>
#include <memory>

namespace tenon::python {
namespace {

void delete_unused(Callback* callback) {
  if (callback->owners == 0 && !callback->in_core) delete callback;
}

// One owner less.
void let_go(Callback* callback) {
  PyObject* callable = callback->callable;
  if (--callback->owners == 0 && callback->in_core) {
    callback->by_core = true;  // takes over the reference
    return;
  }
  delete_unused(callback);
  Py_XDECREF(callable);
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
  for (Callback* callback : *list) let_go(callback);
}

void disown_hook(PyObject* tensor, uint64_t hook) {
  auto* list = static_cast<Callbacks*>(reinterpret_cast<TensorObject*>(tensor)->callbacks);
  if (list == nullptr) return;
  const auto found = std::find_if(list->begin(), list->end(),
                                  [hook](const Callback* each) { return each->hook == hook; });
  if (found == list->end()) return;
  Callback* callback = *found;
  list->erase(found);
  let_go(callback);  // last: it may run anything
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
