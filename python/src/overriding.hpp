// PyTorch's protocol for types of a program's own: functions that are given one call its __torch_function__.
#pragma once

#include <atomic>

#include "object.hpp"

namespace tenon::python {

// How many subclasses of Tensor and modes may take over calls, in all threads. In nearly every program 0, and nothing else is looked at.
extern std::atomic<uint32_t> overriding_types;
inline bool may_override() { return overriding_types.load(std::memory_order_relaxed) != 0; }

// What a call that is taken over returns: a new reference, or NULL with an exception set.
struct Overridden {
  bool taken = false;
  PyObject* result = nullptr;
};
// Gives the call to a mode that is on, or to the types of its arguments and of the entries of lists among them. After
// may_override(). `function` is what they are told was called.
Overridden take_over(PyObject* function, PyObject* const* args, size_t nargs, PyObject* kwnames);
// The same for a method of Tensor, by name, of one or two arguments; the second may be NULL.
Overridden take_over(const char* method, PyObject* self, PyObject* other);
// The same for a property, whose getter is the function.
Overridden take_over_property(const char* property, PyObject* self);
// The same to types that are no Tensors, where the function cannot read its arguments; the exception that tells so goes.
Overridden take_over_unread(PyObject* function, PyObject* const* args, size_t nargs,
                            PyObject* kwnames);
bool add_overriding(PyObject* module);

}  // namespace tenon::python
