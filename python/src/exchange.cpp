// Memory seen in other ways: the buffer protocol, bytes, another dtype.
#include <dlpack/dlpack.h>

#include <algorithm>
#include <memory>
#include <string>

#include "batch.hpp"
#include "guard.hpp"
#include "tenon/reinterpret.h"
#include "tensor.hpp"

namespace tenon::python {
namespace {

// Format characters of the buffer protocol by dtype; NULL: it has none.
constexpr const char* kFormats[TN_DTYPE_COUNT] = {"?", "B",  "H",  "I",     "Q",     "b",
                                                  "h", "i",  "q",  "e",     nullptr, "f",
                                                  "d", "Zf", "Zd", nullptr, nullptr};

bool dtype_of_format(const char* format, Py_ssize_t itemsize, tn_dtype& out) {
  if (format == nullptr) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const std::string_view text(format);
  for (tn_dtype dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype) {
    if (kFormats[dtype] == nullptr || text != kFormats[dtype]) continue;
    out = dtype;
    return static_cast<Py_ssize_t>(tn_dtype_size(dtype)) == itemsize;
  }
  // 'l', 'n' and their kin: integers of the machine's width.
  if (text.size() == 1 && (std::string_view("ilqn").find(text[0]) != text.npos ||
                           std::string_view("ILQN").find(text[0]) != text.npos)) {
    const bool is_signed = text[0] >= 'a';
    if (itemsize == 8)
      out = is_signed ? TN_DTYPE_I64 : TN_DTYPE_U64;
    else if (itemsize == 4)
      out = is_signed ? TN_DTYPE_I32 : TN_DTYPE_U32;
    else
      return false;
    return true;
  }
  return false;
}

struct BufferShape {
  Py_ssize_t shape[TN_MAX_DIMS], strides[TN_MAX_DIMS];
};

// Storage may be freed on any thread, with or without the interpreter lock.
void release_buffer(void* context) {
  auto* view = static_cast<Py_buffer*>(context);
  if (!Py_IsInitialized()) return;  // the interpreter took its objects with it
  const PyGILState_STATE state = PyGILState_Ensure();
  PyBuffer_Release(view);
  PyGILState_Release(state);
  delete view;
}

PyObject* share_buffer(Py_buffer& view, tn_dtype dtype) {
  int64_t shape[TN_MAX_DIMS], strides[TN_MAX_DIMS];
  for (int i = 0; i < view.ndim; ++i) {
    shape[i] = view.shape[i];
    strides[i] = view.strides[i] / view.itemsize;
  }
  auto owned = std::make_unique<Py_buffer>(view);
  tn_tensor* out = nullptr;
  detail::check(tn_tensor_wrap_host(view.buf, dtype, static_cast<uint32_t>(view.ndim), shape,
                                    strides, release_buffer, owned.get(), &out));
  static_cast<void>(owned.release());
  view.obj = nullptr;  // the storage has the reference now
  return wrap(out);
}

// Bytes of others count as true unless they are 0.
PyObject* copy_buffer(Py_buffer& view, tn_dtype dtype) {
  int64_t shape[TN_MAX_DIMS];
  for (int i = 0; i < view.ndim; ++i) shape[i] = view.shape[i];
  Tensor out = empty(std::span<const int64_t>(shape, static_cast<size_t>(view.ndim)),
                     static_cast<DType>(dtype));
  if (view.len > 0 && PyBuffer_ToContiguous(tn_tensor_data(out.get()), &view, view.len, 'C') < 0)
    throw PythonError();
  if (dtype == TN_DTYPE_BOOL) {
    auto* const bytes = static_cast<uint8_t*>(tn_tensor_data(out.get()));
    std::transform(bytes, bytes + view.len, bytes, [](uint8_t byte) { return byte != 0; });
  }
  return wrap(std::move(out));
}

// NULL where the bytes are no bools, which only a copy can mend.
PyObject* try_share_buffer(Py_buffer& view, tn_dtype dtype, bool may_copy) {
  try {
    return share_buffer(view, dtype);
  } catch (const Error&) {
    if (dtype != TN_DTYPE_BOOL || !may_copy) throw;
    return nullptr;
  }
}

bool can_share(const Py_buffer& view) {
  if (view.readonly || view.suboffsets != nullptr) return false;
  if (reinterpret_cast<uintptr_t>(view.buf) % static_cast<uintptr_t>(view.itemsize) != 0)
    return false;
  for (int i = 0; i < view.ndim; ++i)
    if (view.strides[i] % view.itemsize != 0) return false;
  return true;
}

// The flag that DLPack hands over; memory of other devices has none.
bool is_read_only(tn_tensor* x) {
  DLManagedTensorVersioned* managed = nullptr;
  if (tn_status* status = tn_tensor_to_dlpack(x, &managed)) {
    tn_status_release(status);
    return false;
  }
  const bool read_only = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  managed->deleter(managed);
  return read_only;
}

}  // namespace

int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  if (!Batch::check_readable(handle_of(self), "buffer")) return -1;
  tn_tensor* x = handle_of(self);
  const tn_dtype dtype = tn_tensor_dtype(x);
  const char* problem = nullptr;
  if (kFormats[dtype] == nullptr)
    problem = dtype == TN_DTYPE_BF16
                  ? "the buffer protocol has no code for bfloat16: cast it first"
                  : "the buffer protocol has no code for 8-bit floats: cast them first";
  else if (tn_tensor_requires_grad(x))
    problem = "a tensor that requires a gradient: use detach()";
  else if (tn_tensor_data(x) == nullptr && tn_tensor_numel(x) != 0)
    problem = "the host cannot address its memory: use cpu()";
  const bool read_only = problem == nullptr && is_read_only(x);
  if (read_only && (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE)
    problem = "its memory is read-only: use copy()";
  const bool contiguous = tn_tensor_is_contiguous(x) != 0;
  const bool wants_row_major = (flags & PyBUF_STRIDES) != PyBUF_STRIDES ||
                               (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                               (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
  if (problem == nullptr && wants_row_major && !contiguous)
    problem = "its elements are not contiguous";
  if (problem == nullptr && (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS &&
      tn_tensor_ndim(x) > 1)
    problem = "its elements are row-major";
  auto* dims = problem == nullptr ? new (std::nothrow) BufferShape : nullptr;
  if (dims == nullptr) {
    PyErr_Format(PyExc_BufferError, "[buffer] %s", problem != nullptr ? problem : "out of memory");
    return -1;
  }
  const Py_ssize_t size = static_cast<Py_ssize_t>(tn_dtype_size(dtype));
  const uint32_t ndim = tn_tensor_ndim(x);
  for (uint32_t i = 0; i < ndim; ++i) {
    dims->shape[i] = static_cast<Py_ssize_t>(tn_tensor_shape(x)[i]);
    dims->strides[i] = static_cast<Py_ssize_t>(tn_tensor_strides(x)[i]) * size;
  }
  view->obj = Py_NewRef(self);
  view->buf = tn_tensor_data(x);
  view->len = static_cast<Py_ssize_t>(tn_tensor_numel(x)) * size;
  view->readonly = read_only;
  view->itemsize = size;
  view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(kFormats[dtype]) : nullptr;
  view->ndim = static_cast<int>(ndim);
  view->shape = dims->shape;
  view->strides = dims->strides;
  view->suboffsets = nullptr;
  view->internal = dims;
  return 0;
}

void tensor_release_buffer(PyObject*, Py_buffer* view) {
  delete static_cast<BufferShape*>(view->internal);
}

// _from_buffer(object, copy): copy True: always, False: never (ValueError), None: where it must. None for what has no buffer
// or an element that no dtype holds.
PyObject* from_buffer(PyObject*, PyObject* args) {
  PyObject *object = nullptr, *copy = Py_None;
  if (!PyArg_ParseTuple(args, "O|O:from_buffer", &object, &copy)) return nullptr;
  Py_buffer view;
  // One that can be written is shared; others are copied.
  if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS_RO) < 0) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
  }
  PyObject* made = guarded([&]() -> PyObject* {
    tn_dtype dtype = 0;
    if (view.ndim > TN_MAX_DIMS)
      throw Error(TN_INVALID_ARGUMENT, "[asarray] " + std::to_string(view.ndim) +
                                           " dimensions; there are at most " +
                                           std::to_string(TN_MAX_DIMS));
    if (!dtype_of_format(view.format, view.itemsize, dtype)) Py_RETURN_NONE;
    if (copy != Py_True && can_share(view))
      if (PyObject* shared = try_share_buffer(view, dtype, copy == Py_None)) return shared;
    if (copy == Py_False)
      throw Error(
          TN_INVALID_ARGUMENT,
          "[asarray] copy=False, but the array is read-only or its strides are no whole elements");
    return copy_buffer(view, dtype);
  });
  if (view.obj != nullptr) PyBuffer_Release(&view);
  return made;
}

// _from_bytes(bytes, dtype, shape): what a pickle holds.
PyObject* from_bytes(PyObject*, PyObject* args) {
  Py_buffer bytes;
  PyObject *dtype_given = nullptr, *shape_given = nullptr;
  if (!PyArg_ParseTuple(args, "y*OO!:from_bytes", &bytes, &dtype_given, &PyTuple_Type,
                        &shape_given)) {
    // A tensor that shows no buffer is a wrong argument, like a number.
    if (PyErr_ExceptionMatches(PyExc_BufferError))
      PyErr_SetString(PyExc_TypeError, "[from_bytes] needs bytes");
    return nullptr;
  }
  tn_dtype dtype = 0;
  int64_t shape[TN_MAX_DIMS];
  const Py_ssize_t ndim = PyTuple_GET_SIZE(shape_given);
  bool good = to_dtype(dtype_given, dtype);
  if (!good && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "[from_bytes] not a dtype");
  if (good && ndim > TN_MAX_DIMS) {
    PyErr_Format(PyExc_ValueError, "[from_bytes] %zd dimensions; there are at most %d", ndim,
                 TN_MAX_DIMS);
    good = false;
  }
  for (Py_ssize_t i = 0; good && i < ndim; ++i) {
    shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape_given, i));
    good = shape[i] != -1 || !PyErr_Occurred();
  }
  if (!good && PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    PyErr_SetString(PyExc_ValueError, "[from_bytes] a size beyond 64 bits");
  }
  tn_tensor* out = nullptr;
  tn_status* status = nullptr;
  if (good)
    status = tn_tensor_from_host(bytes.buf, static_cast<uint64_t>(bytes.len), dtype,
                                 static_cast<uint32_t>(ndim), shape, nullptr, &out);
  PyBuffer_Release(&bytes);
  if (!good) return nullptr;
  return status == nullptr ? wrap(out) : raise_status(status);
}

// _read_as(x, dtype, shape, strides, offset): the memory of x from its first element on, in elements of another dtype; the offset
// counts bytes. Without history.
PyObject* read_as(PyObject*, PyObject* args) {
  PyObject *x = nullptr, *dtype_given = nullptr, *shape = nullptr, *strides = nullptr;
  long long offset = 0;
  if (!PyArg_ParseTuple(args, "OOO!O!L:_read_as", &x, &dtype_given, &PyTuple_Type, &shape,
                        &PyTuple_Type, &strides, &offset))
    return nullptr;
  tn_dtype dtype = 0;
  if (!is_tensor(x) || !to_dtype(dtype_given, dtype)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "[view] takes a tensor and a dtype");
    return nullptr;
  }
  if (!Batch::check_readable(handle_of(x), "view")) return nullptr;
  const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
  if (ndim != PyTuple_GET_SIZE(strides) || ndim > TN_MAX_DIMS)
    return PyErr_Format(PyExc_ValueError, "[view] %zd sizes and %zd strides; there are at most %d",
                        ndim, PyTuple_GET_SIZE(strides), TN_MAX_DIMS);
  int64_t sizes[TN_MAX_DIMS], steps[TN_MAX_DIMS];
  for (Py_ssize_t i = 0; i < ndim; ++i) {
    sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    steps[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, i));
  }
  if (PyErr_Occurred()) return nullptr;
  tn_tensor* out = nullptr;
  tn_status* status = tn_tensor_reinterpret(handle_of(x), dtype, static_cast<uint32_t>(ndim), sizes,
                                            steps, offset, &out);
  return status == nullptr ? wrap(out) : raise_status(status);
}

}  // namespace tenon::python
