// Python callables that the core calls: hooks, and the backward of a function.
//
// The core's reference is one that Python's collector cannot see, so a callable that leads back to its tensor would live for
// ever. While a Python object of the tensor lives, it is the owner, which the collector sees; when the last such object goes,
// the core becomes the owner.
#pragma once

#include <vector>

#include "object.hpp"

namespace tenon::python {

// Guarded by the interpreter lock.
struct Callback {
  PyObject* callable;
  uint64_t hook = 0;    // its number, where it is a tensor's hook
  uint32_t owners = 0;  // objects of Python; each has a reference. With none the core has one
  bool in_core = true;
  bool by_core = false;  // the core owns the callable
};
using Callbacks = std::vector<Callback*>;

// A callback that the core holds and nobody owns yet. Throws std::bad_alloc.
Callback* make_callback(PyObject* callable);
// Makes a tensor's object an owner. Throws std::bad_alloc.
void own_callback(PyObject* tensor, Callback* callback);
// Takes a hook that the core has removed out of an object's callbacks.
void disown_hook(PyObject* tensor, uint64_t hook);
// The object goes away: others own its callbacks, or the core does.
void leave_callbacks(Callbacks* callbacks);
// What the core calls when it needs a callback no longer: destroy() of a hook or function.
void drop_callback(void* callback);

}  // namespace tenon::python
