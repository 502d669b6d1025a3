// Tensors from nested lists of numbers.
#include <algorithm>
#include <string>

#include "guard.hpp"
#include "tenon/ext/draft/device.h"
#include "tensor.hpp"

namespace tenon::python {
namespace {

enum class Level : uint8_t { Nothing, Bool, Int, Float, Complex };

// Finds shape and kind, then fills: two passes over the lists, none over copies of them.
struct Nested {
  std::vector<int64_t> shape;
  Level level = Level::Nothing;
  bool wide = false;        // an integer that only u64 holds
  tn_dtype of_tensors = 0;  // the common dtype of tensors among the entries
  bool has_tensors = false;

  static bool is_list(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

  [[noreturn]] static void fail(const std::string& text) {
    throw Error(TN_INVALID_ARGUMENT, "[tensor] " + text);
  }

  void find_shape(PyObject* data) {
    for (PyObject* at = data; is_list(at);) {
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(at);
      shape.push_back(n);
      if (shape.size() > TN_MAX_DIMS)
        fail("lists nested deeper than " + std::to_string(TN_MAX_DIMS));
      if (n == 0) break;
      at = PySequence_Fast_GET_ITEM(at, 0);
    }
  }

  void scan(PyObject* data, size_t depth) {
    if (depth == shape.size()) {
      scan_number(data);
      return;
    }
    if (!is_list(data) || PySequence_Fast_GET_SIZE(data) != shape[depth])
      fail("nested lists of different lengths: dimension " + std::to_string(depth) + " has " +
           std::to_string(shape[depth]) + " entries in the first");
    for (int64_t i = 0; i < shape[depth]; ++i) scan(PySequence_Fast_GET_ITEM(data, i), depth + 1);
  }

  void scan_number(PyObject* data) {
    if (PyFloat_CheckExact(data)) {
      level = std::max(level, Level::Float);
      return;
    }
    if (is_list(data)) fail("nested lists of different depths");
    if (is_tensor(data)) {
      tn_tensor* x = handle_of(data);
      if (tn_tensor_numel(x) != 1) fail("a list of tensors of several elements: use tenon.stack");
      const tn_dtype dtype = tn_tensor_dtype(x);
      if (has_tensors)
        detail::check(tn_dtype_promote(of_tensors, dtype, &of_tensors));
      else
        of_tensors = dtype;
      has_tensors = true;
      return;
    }
    double parts[2];
    tn_value number{};
    const int found = to_number(data, number, parts);
    if (found < 0) {
      if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw PythonError();
      PyErr_Clear();
      if (PyLong_AsUnsignedLongLong(data) == ~0ull && PyErr_Occurred()) {
        PyErr_Clear();
        fail("an integer beyond 64 bits");
      }
      wide = true;
      number.tag = TN_VALUE_INT;
    } else if (found == 0) {
      PyErr_Format(
          PyExc_TypeError, "[tensor] an element must be a number, not %.200s%s",
          Py_TYPE(data)->tp_name,
          PyObject_CheckBuffer(data) ? ": give the array itself, or tenon.stack of tensors" : "");
      throw PythonError();
    }
    level = std::max(level, number.tag == TN_VALUE_BOOL    ? Level::Bool
                            : number.tag == TN_VALUE_INT   ? Level::Int
                            : number.tag == TN_VALUE_FLOAT ? Level::Float
                                                           : Level::Complex);
  }

  DType natural() const {
    DType dtype = DType::F32;
    switch (level) {
      case Level::Bool:
        dtype = DType::Bool;
        break;
      case Level::Int:
        dtype = wide ? DType::U64 : DType::I64;
        break;
      case Level::Complex:
        dtype = DType::C64;
        break;
      case Level::Nothing:
      case Level::Float:
        break;
    }
    if (!has_tensors) return dtype;
    return level == Level::Nothing ? static_cast<DType>(of_tensors)
                                   : promote(dtype, static_cast<DType>(of_tensors));
  }

  template <class T>
  static void store(PyObject* data, T* to) {
    double parts[2];
    tn_value number{};
    Ref held;
    if (is_tensor(data)) {
      held = Ref(PyObject_CallMethod(data, "item", nullptr));
      if (!held) throw PythonError();
      data = held.get();
    }
    if (to_number(data, number, parts) <= 0) {
      PyErr_Clear();
      number.tag = TN_VALUE_INT;  // between 2^63 and 2^64: the bits are what u64 wants
      number.as.i = static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(data));
    }
    constexpr bool is_complex_type =
        std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
    if constexpr (is_complex_type) {
      using Part = typename T::value_type;
      if (number.tag == TN_VALUE_COMPLEX)
        *to = T(static_cast<Part>(parts[0]), static_cast<Part>(parts[1]));
      else
        *to = T(static_cast<Part>(number.tag == TN_VALUE_FLOAT ? number.as.f
                                                               : static_cast<double>(number.as.i)));
    } else if (number.tag == TN_VALUE_COMPLEX) {
      fail("a complex number does not fit a real dtype");
    } else if constexpr (std::is_same_v<T, bool>) {
      *to = number.tag == TN_VALUE_FLOAT ? number.as.f != 0 : number.as.i != 0;
    } else if constexpr (std::is_integral_v<T>) {
      if (number.tag == TN_VALUE_FLOAT) {
        if (!(number.as.f > -9.3e18 && number.as.f < 1.85e19))
          fail(std::to_string(number.as.f) + " does not fit an integer dtype");
        *to = number.as.f < 0 ? static_cast<T>(static_cast<int64_t>(number.as.f))
                              : static_cast<T>(static_cast<uint64_t>(number.as.f));
      } else {
        *to = static_cast<T>(number.as.i);
        if (sizeof(T) < 8 && static_cast<int64_t>(*to) != number.as.i)
          fail(std::to_string(number.as.i) + " does not fit " + std::string(name_of(dtype_of<T>)));
      }
    } else {
      const double value =
          number.tag == TN_VALUE_FLOAT ? number.as.f : static_cast<double>(number.as.i);
      if constexpr (std::is_floating_point_v<T>)
        *to = static_cast<T>(value);
      else
        *to = T(static_cast<float>(value));
    }
  }

  template <class T>
  void fill(PyObject* data, size_t depth, T*& to) {
    if (depth == shape.size()) {
      if constexpr (std::is_floating_point_v<T>) {
        if (PyFloat_CheckExact(data)) {
          *to++ = static_cast<T>(PyFloat_AS_DOUBLE(data));
          return;
        }
      }
      store(data, to++);
      return;
    }
    // An item() of an entry may have run anything: the lists must still be what was scanned.
    if (!is_list(data) || PySequence_Fast_GET_SIZE(data) != shape[depth])
      fail("the lists changed while they were read");
    for (int64_t i = 0; i < shape[depth]; ++i) {
      PyObject* entry = PySequence_Fast_GET_ITEM(data, i);
      const Ref held(Py_NewRef(entry));
      fill(entry, depth + 1, to);
    }
  }
};

// dtype and device of a creation, either may be None.
bool read_options(const char* name, PyObject* dtype, PyObject* device, tn_dtype& code,
                  tn_device*& place) {
  if (dtype != Py_None && !to_dtype(dtype, code)) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "[%s] dtype must be a dtype, not %.200s", name,
                   Py_TYPE(dtype)->tp_name);
    return false;
  }
  if (device != Py_None && !to_device(device, place)) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "[%s] device must be a device or its name, not %.200s", name,
                   Py_TYPE(device)->tp_name);
    return false;
  }
  return true;
}

}  // namespace

PyObject* tensor_from_data(PyObject* data, const tn_dtype* wanted, tn_device* device) {
  return guarded([&]() -> PyObject* {
    Nested nested;
    nested.find_shape(data);
    nested.scan(data, 0);
    const DType dtype = wanted != nullptr ? static_cast<DType>(*wanted) : nested.natural();
    Tensor host = empty(std::span<const int64_t>(nested.shape), dtype);
    visit(dtype, [&]<class T>(T) {
      T* to = host.data<T>();
      if (host.numel() > 0) nested.fill(data, 0, to);
    });
    return wrap(device == nullptr ? std::move(host) : host.to(Device(device)));
  });
}

// _from_data(data, dtype or None, device or None)
PyObject* from_data(PyObject*, PyObject* args) {
  PyObject *data = nullptr, *dtype = Py_None, *device = Py_None;
  if (!PyArg_ParseTuple(args, "O|OO:tensor", &data, &dtype, &device)) return nullptr;
  tn_dtype wanted = 0;
  tn_device* place = nullptr;
  if (!read_options("tensor", dtype, device, wanted, place)) return nullptr;
  return tensor_from_data(data, dtype == Py_None ? nullptr : &wanted, place);
}

// _empty(shape, dtype or None, device or None)
PyObject* make_empty(PyObject*, PyObject* args) {
  PyObject *shape = nullptr, *dtype = Py_None, *device = Py_None;
  if (!PyArg_ParseTuple(args, "O|OO:empty", &shape, &dtype, &device)) return nullptr;
  tn_dtype code = TN_DTYPE_F32;
  tn_device* place = nullptr;
  if (!read_options("empty", dtype, device, code, place)) return nullptr;
  const Ref sizes(PyIndex_Check(shape)                          ? PyTuple_Pack(1, shape)
                  : PyTuple_Check(shape) || PyList_Check(shape) ? PySequence_Tuple(shape)
                                                                : nullptr);
  if (!sizes) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "[empty] shape must be integers, not %.200s",
                   Py_TYPE(shape)->tp_name);
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    std::vector<int64_t> list;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes.get()); ++i) {
      const Ref size(PyNumber_Index(PyTuple_GET_ITEM(sizes.get(), i)));
      if (!size) throw PythonError();
      list.push_back(PyLong_AsLongLong(size.get()));
      if (list.back() == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        throw Error(TN_INVALID_ARGUMENT, "[empty] a size beyond 64 bits");
      }
    }
    // In a trace what no device is given for is recorded, too, so that it may be written to.
    if (place == nullptr) place = tn_device_redirected();
    return wrap(empty(std::span<const int64_t>(list), static_cast<DType>(code), Device(place)));
  });
}

}  // namespace tenon::python
