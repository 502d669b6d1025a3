// Elements as Python numbers: item, tolist, bool(x), repr.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "batch.hpp"
#include "guard.hpp"
#include "tenon/graph.h"
#include "tensor.hpp"

namespace tenon::python {
namespace {

PyObject* number_of(DType dtype, const void* element) {
  return visit(dtype, [&]<class T>(T value) -> PyObject* {
    std::memcpy(&value, element, sizeof(T));
    if constexpr (std::is_same_v<T, bool>)
      return PyBool_FromLong(value);
    else if constexpr (!std::is_arithmetic_v<T> && std::is_convertible_v<T, float>)
      return PyFloat_FromDouble(static_cast<float>(value));
    else if constexpr (std::is_floating_point_v<T>)
      return PyFloat_FromDouble(value);
    else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>)
      return PyComplex_FromDoubles(value.real(), value.imag());
    else if constexpr (std::is_unsigned_v<T>)
      return PyLong_FromUnsignedLongLong(value);
    else
      return PyLong_FromLongLong(value);
  });
}

// Whether a function of this package asks, and not the program.
bool asked_by_library() {
  PyFrameObject* const frame = PyEval_GetFrame();
  if (frame == nullptr) return false;
  const Ref globals(PyFrame_GetGlobals(frame));
  PyObject* const module = PyDict_GetItemString(globals.get(), "__name__");
  if (module == nullptr || !PyUnicode_Check(module)) return false;
  const char* const text = PyUnicode_AsUTF8(module);
  if (text == nullptr) PyErr_Clear();
  return text != nullptr && std::string_view(text).starts_with("tenon.");
}

// For a tensor that has not one element. Where the library asks, the program gave a tensor in place of a number.
PyObject* refuse_element(const tn_tensor* x, std::string_view name) {
  std::string text = "[";
  text += name;
  text += name == "bool" ? "] the truth of a tensor of " : "] a tensor of ";
  text += std::to_string(tn_tensor_numel(x));
  text +=
      name == "bool" ? " elements is ambiguous: use any() or all()" : " elements is not one number";
  if (!asked_by_library())
    return guarded([&]() -> PyObject* { throw Error(TN_INVALID_ARGUMENT, text); });
  return raise_as("ArgumentTypeError", text);
}

PyObject* only_element(PyObject* self, const char* name) {
  tn_tensor* x = handle_of(self);
  if (!Batch::check_readable(x, name)) return nullptr;
  if (tn_tensor_numel(x) != 1) return refuse_element(x, name);
  const tn_dtype dtype = tn_tensor_dtype(x);
  alignas(16) unsigned char bytes[16];
  tn_trace_read(x);
  tn_status* status = tn_tensor_to_host(x, bytes, tn_dtype_size(dtype));
  return status == nullptr ? number_of(static_cast<DType>(dtype), bytes) : raise_status(status);
}

PyObject* nested(DType dtype, const unsigned char*& at, const int64_t* shape, uint32_t ndim) {
  const uint64_t step = size_of(dtype);
  if (ndim == 0) {
    PyObject* number = number_of(dtype, at);
    at += step;
    return number;
  }
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(shape[0]));
  for (int64_t i = 0; list != nullptr && i < shape[0]; ++i) {
    PyObject* entry = nested(dtype, at, shape + 1, ndim - 1);
    if (entry == nullptr)
      Py_CLEAR(list);
    else
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), entry);
  }
  return list;
}

// Digits behind the last point of the element that ends before `end`; -1: it has none.
int64_t decimals_before(const std::string& text, size_t end) {
  const size_t start = text.find_last_of(" \n[", end - 1) + 1;
  const std::string_view element = std::string_view(text).substr(start, end - start);
  const size_t point = element.rfind('.');
  if (point == element.npos || element == "..." || element.find('e') != element.npos) return -1;
  const size_t last = element.find_first_not_of("0123456789", point + 1);
  return static_cast<int64_t>((last == element.npos ? element.size() : last) - point - 1);
}

// NumPy's repr has commas where its str has none: behind the zeros it leaves blank. Lines move under "tensor(".
std::string with_commas(const std::string& plain, bool is_complex) {
  const auto ends = [&](size_t i) {
    const size_t next = plain.find_first_not_of(' ', i);
    if (i == 0 || next == i || next == plain.npos || plain[next] == ']')
      return plain[i] == '\n' && plain[i - 1] != '\n';
    if (plain[i] != ' ' || plain[i - 1] == ' ' || plain[i - 1] == '[' || plain[i - 1] == '\n')
      return false;
    return !is_complex || plain[i - 1] == 'j' || (plain[next] != '+' && plain[next] != '-') ||
           plain[i - 1] == ']';
  };
  int64_t decimals = 0;
  for (size_t i = 1; i < plain.size(); ++i)
    if (plain[i - 1] != ']' && (plain[i] == ' ' || plain[i] == ']') && plain[i - 1] != ' ')
      decimals = std::max(decimals, decimals_before(plain, i));
  std::string text;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (ends(i)) {
      const int64_t own = plain[i - 1] == ']' ? -1 : decimals_before(plain, i);
      for (int64_t blank = own < 0 ? 0 : decimals - own; blank > 0 && plain[i] == ' '; --blank, ++i)
        text += ' ';
      text += ',';
    }
    text += plain[i];
    if (plain[i] == '\n' && i + 1 < plain.size() && plain[i + 1] != '\n') text += "       ";
  }
  return text;
}

}  // namespace

PyObject* tensor_item(PyObject* self, PyObject* args) {
  if (PyTuple_GET_SIZE(args) == 0) return only_element(self, "item");
  const Ref element(
      PyObject_GetItem(self, PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : args));
  return element ? only_element(element.get(), "item") : nullptr;
}

PyObject* tensor_tolist(PyObject* self, PyObject*) {
  if (!Batch::check_readable(handle_of(self), "tolist")) return nullptr;
  tn_trace_read(handle_of(self));
  return guarded([&]() -> PyObject* {
    const Tensor x = tensor_of(self);
    // Python's memory: more than there is becomes its MemoryError.
    const Ref bytes(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(x.nbytes())));
    if (!bytes) return nullptr;
    x.to_host(PyBytes_AS_STRING(bytes.get()), x.nbytes());
    const auto* at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get()));
    return nested(x.dtype(), at, x.shape().data(), static_cast<uint32_t>(x.ndim()));
  });
}

PyObject* tensor_tobytes(PyObject* self, PyObject*) {
  if (!Batch::check_readable(handle_of(self), "tobytes")) return nullptr;
  tn_trace_read(handle_of(self));
  return guarded([&]() -> PyObject* {
    const Tensor x = tensor_of(self);
    Ref bytes(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(x.nbytes())));
    if (!bytes) return nullptr;
    char* to = PyBytes_AS_STRING(bytes.get());
    const Unlocked unlocked(x.numel() >= kUnlockElements);
    x.to_host(to, x.nbytes());
    return bytes.release();
  });
}

PyObject* tensor_float(PyObject* self) {
  const Ref number(only_element(self, "float"));
  if (!number) return nullptr;
  if (PyComplex_Check(number.get()))
    return PyErr_Format(PyExc_TypeError, "[float] of a complex tensor: take real() first");
  return PyNumber_Float(number.get());
}

PyObject* tensor_int(PyObject* self) {
  const Ref number(only_element(self, "int"));
  if (!number) return nullptr;
  if (PyComplex_Check(number.get()))
    return PyErr_Format(PyExc_TypeError, "[int] of a complex tensor: take real() first");
  if (PyFloat_Check(number.get()) && !std::isfinite(PyFloat_AS_DOUBLE(number.get())))
    return PyErr_Format(PyExc_ValueError, "[int] %R is no integer", number.get());
  return PyNumber_Long(number.get());
}

PyObject* tensor_index(PyObject* self) {
  const uint64_t integers = TN_MASK_INT | TN_MASK_BOOL;
  tn_tensor* x = handle_of(self);
  if (!(TN_MASK(tn_tensor_dtype(x)) & integers) || tn_tensor_numel(x) != 1)
    return PyErr_Format(PyExc_TypeError, "only an integer tensor of one element is an index");
  const Ref number(only_element(self, "index"));
  return number ? PyNumber_Long(number.get()) : nullptr;
}

PyObject* tensor_complex(PyObject* self, PyObject*) {
  const Ref number(only_element(self, "complex"));
  if (!number) return nullptr;
  const Py_complex value = PyComplex_AsCComplex(number.get());
  return PyErr_Occurred() ? nullptr : PyComplex_FromCComplex(value);
}

int tensor_bool(PyObject* self) {
  const Ref number(only_element(self, "bool"));
  return number ? PyObject_IsTrue(number.get()) : -1;
}

PyObject* tensor_str(PyObject* self) {
  if (PyObject* text = Batch::text_of(self)) return text;
  return guarded([&]() -> PyObject* {
    const std::string text = to_string(tensor_of(self));
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

// tensor([[1., 2.],
//         [3., 4.]], dtype=float64): what is not the default is told.
PyObject* tensor_repr(PyObject* self) {
  if (PyObject* text = Batch::text_of(self)) return text;
  return guarded([&]() -> PyObject* {
    const Tensor x = tensor_of(self);
    std::string text = "tensor(" + with_commas(to_string(x), is_complex(x.dtype()));
    const DType dtype = x.dtype();
    if ((dtype != DType::F32 && dtype != DType::I64 && dtype != DType::Bool) || x.numel() == 0) {
      const Ref object(dtype_object(static_cast<tn_dtype>(dtype)));
      const Ref name(object ? PyObject_Str(object.get()) : nullptr);
      if (!name) return nullptr;
      text += std::string(", dtype=") + PyUnicode_AsUTF8(name.get());
    }
    if (x.numel() == 0 && x.ndim() != 1) {
      text += ", shape=(";
      for (const int64_t size : x.shape()) text += std::to_string(size) + ", ";
      text.resize(text.size() - 2);
      text += ")";
    }
    if (!x.device().id().starts_with("cpu"))
      text += ", device='" + std::string(x.device().id()) + "'";
    if (x.requires_grad())
      text += x.is_leaf() ? ", requires_grad=True" : ", grad_fn=" + std::string(x.grad_fn_name());
    text += ")";
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

// f"{loss:.3f}" of one element, f"{x}" of any.
PyObject* tensor_format(PyObject* self, PyObject* how) {
  if (!PyUnicode_Check(how))
    return PyErr_Format(PyExc_TypeError, "[format] how must be a str, not %.200s",
                        Py_TYPE(how)->tp_name);
  if (PyUnicode_Check(how) && PyUnicode_GET_LENGTH(how) == 0) return PyObject_Str(self);
  const Ref number(only_element(self, "format"));
  return number ? PyObject_Format(number.get(), how) : nullptr;
}

}  // namespace tenon::python
