// The Python object of a tensor, errors, and calls: what every file of the extension leans on.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <string_view>

#include "tenon/autograd.h"
#include "tenon/tensor.h"

namespace tenon::python {

// One reference to a tensor. No type of its own in nanobind: its instances go through a table of all instances, which costs
// more than the op on a small tensor.
struct TensorObject {
  PyObject_HEAD tn_tensor* tensor;
  PyObject* weakrefs;
  void* callbacks;  // see callback.hpp; NULL for nearly all
  PyObject* dict;   // attributes that a program has set; NULL for nearly all
};

extern PyTypeObject* tensor_type;  // set once, at import

inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type || PyType_IsSubtype(Py_TYPE(object), tensor_type);
}
inline tn_tensor* handle_of(PyObject* tensor) {
  return reinterpret_cast<TensorObject*>(tensor)->tensor;
}
// Takes over the reference, also where it fails; NULL becomes None.
PyObject* wrap(tn_tensor* tensor);
// The same for an instance of a subclass.
PyObject* wrap_as(PyTypeObject* type, tn_tensor* tensor);

// Scopes of anomaly mode that are open in any thread. In one, wrap() shows each result to tenon.autograd, which notes the line
// of the program that made it, and raise_status() asks there for the line of the op that failed.
extern int anomaly_scopes;
void note_line(PyObject* tensor);

// What the core or a plugin says, whose bytes need not be UTF-8; those that are not become U+FFFD. A new reference.
PyObject* text_object(std::string_view text);
// Raises what a status reports, frees it and returns NULL. A Python exception that went through the core comes out as it was.
PyObject* raise_status(tn_status* status);
// Raises a class of tenon/_errors.py that no status stands for. Returns NULL.
PyObject* raise_as(const char* type_name, std::string_view text);
// Keeps the Python exception that is set for raise_status() and gives the core a status in its place.
tn_status* status_of_exception(const char* where);
bool load_error_types(PyObject* errors_module);

// Dtypes, devices and generators as Python objects. dtype_object() and device_object() give new references.
PyObject* dtype_object(tn_dtype dtype);
PyObject* device_object(tn_device* device);
// What names a dtype: ours, NumPy's, "float32", float, int, bool, complex. False, with no exception set, for anything else.
bool to_dtype(PyObject* object, tn_dtype& out);
// A device or its name. False with an exception set, or with none when the type is wrong.
bool to_device(PyObject* object, tn_device*& out);
bool to_generator(PyObject* object, tn_generator*& out);

// A number of Python or NumPy as an argument; `parts` holds a complex one. -1: an exception is set, 0: not a number.
int to_number(PyObject* object, tn_value& out, double (&parts)[2]);

// Releases the interpreter lock while work goes on that takes longer than letting go. Tensors that objects stop to show meanwhile
// live on until the last such work is done.
class Unlocked {
 public:
  explicit Unlocked(bool wanted) : state_(wanted ? leave() : nullptr) {}
  ~Unlocked() {
    if (state_ != nullptr) enter(state_);
  }
  // With the lock: a reference to a tensor that work without the lock may read is dropped when there is none.
  static void release_later(tn_tensor* tensor);
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  static PyThreadState* leave();
  static void enter(PyThreadState* state);
  PyThreadState* state_;
};
// Elements from which a call releases the lock.
inline constexpr int64_t kUnlockElements = 4096;

// A reference that is dropped at the end of the scope.
class Ref {
 public:
  explicit Ref(PyObject* object = nullptr) : object_(object) {}
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  Ref& operator=(Ref&& other) noexcept {
    PyObject* old = object_;
    object_ = other.release();
    Py_XDECREF(old);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

}  // namespace tenon::python
