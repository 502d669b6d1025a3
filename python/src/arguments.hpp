// Python objects as arguments of an op.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "object.hpp"
#include "schema.hpp"

namespace tenon::python {

// The arguments of one call and what they point at. Lives on the stack of the call; long lists go to the heap.
struct Arguments {
  tn_value values[kMaxParameters];
  uint32_t count = 0;       // up to the last one that was given
  PyObject* out = nullptr;  // the keyword `out`, borrowed
  int64_t elements = 0;  // of the largest operand; decides whether the interpreter lock is released

  // Fills itself from a vectorcall. False: an exception is set.
  bool parse(const Schema& schema, PyObject* const* args, size_t nargs, PyObject* kwnames);

 private:
  bool convert(const Schema& schema, size_t index, PyObject* object);
  bool convert_ints(const Schema& schema, size_t index, PyObject* const* items, size_t count);
  bool convert_int_list(const Schema& schema, size_t index, PyObject* object);
  bool convert_tensor(const Schema& schema, size_t index, PyObject* object);
  bool convert_tensors(const Schema& schema, size_t index, PyObject* object);
  bool convert_float(const Schema& schema, size_t index, PyObject* object);
  bool convert_int(const Schema& schema, size_t index, PyObject* object);
  void note(tn_tensor* tensor) {
    const int64_t n = tn_tensor_numel(tensor);
    if (n > elements) elements = n;
  }
  template <class T>
  T* room(size_t count, T* fixed, size_t capacity, size_t& used,
          std::vector<std::unique_ptr<T[]>>& more) {
    if (used + count <= capacity) return fixed + std::exchange(used, used + count);
    more.push_back(std::make_unique<T[]>(count));
    return more.back().get();
  }

  static constexpr size_t kInts = 48, kTensors = 24, kComplex = 4;
  int64_t ints_[kInts];
  tn_tensor* tensors_[kTensors];
  double complex_[kComplex][2];
  size_t ints_used_ = 0, tensors_used_ = 0, complex_used_ = 0;
  std::vector<std::unique_ptr<int64_t[]>> more_ints_;
  std::vector<std::unique_ptr<tn_tensor*[]>> more_tensors_;
  std::vector<Ref> held_;
};

// Whether a keyword of a call is the name of no argument.
bool has_unknown_name(const Schema& schema, PyObject* kwnames);

// Adds `synonyms` to the module: what else arguments are called, for functions of Python.
bool add_synonyms(PyObject* module);

// "[sum] argument dims (int[]? dims): …; sum(Tensor x, …)". Sets a TypeError and returns false.
bool refuse(const Schema& schema, size_t index, PyObject* object, const char* hint = "");

}  // namespace tenon::python
