// x[…] and x[…] = …, as PyTorch has them: as NumPy, except that integers beside tensors pick first, that uint8 is a mask, and that a
// list of lists, tensors or slices is a tuple.
#include <algorithm>

#include "batch.hpp"
#include "guard.hpp"
#include "overriding.hpp"
#include "tangents.hpp"
#include "tenon/graph.h"
#include "tensor.hpp"

namespace tenon::python {
namespace {

int64_t integer_of(PyObject* object) {
  const Ref index(PyNumber_Index(object));
  if (!index) throw PythonError();
  const int64_t value = PyLong_AsLongLong(index.get());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw Error(TN_OUT_OF_RANGE, "[index] an index beyond 64 bits");
  }
  return value;
}

Slice::Bound bound_of(PyObject* object) {
  if (object == Py_None) return None;
  if (!PyIndex_Check(object)) {
    PyErr_Format(PyExc_TypeError, "[index] a slice is of integers, not %.200s",
                 Py_TYPE(object)->tp_name);
    throw PythonError();
  }
  const Ref index(PyNumber_Index(object));
  if (!index) throw PythonError();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow != 0)
    return overflow > 0 ? INT64_MAX : INT64_MIN + 1;  // as Python's own slices: beyond the end
  return static_cast<int64_t>(value);
}

Index index_of(PyObject* object) {
  if (is_tensor(object)) return tensor_of(object);
  if (object == Py_None) return None;
  if (object == Py_Ellipsis) return Ellipsis;
  if (PySlice_Check(object)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(object);
    Slice out(bound_of(slice->start), bound_of(slice->stop));
    out.step = bound_of(slice->step).value.value_or(1);
    return out;
  }
  if (PyBool_Check(object)) return tensor(object == Py_True);
  if (PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object)) {
    const Ref items(PySequence_List(object));
    const Ref made(items ? tensor_from_data(items.get(), nullptr, nullptr) : nullptr);
    if (!made) throw PythonError();
    const Tensor list = tensor_of(made.get());
    return list.numel() == 0 ? list.to(DType::I64) : list;  // x[[]] picks nothing
  }
  if (PyIndex_Check(object) && !PyObject_CheckBuffer(object)) return integer_of(object);
  double parts[2];
  tn_value number{};
  const int found = to_number(object, number, parts);  // NumPy's integers export a buffer
  if (found < 0) throw PythonError();
  if (found > 0 && number.tag == TN_VALUE_INT) return number.as.i;
  if (found > 0 && number.tag == TN_VALUE_BOOL) return tensor(number.as.i != 0);
  if (PyObject_CheckBuffer(object) && !PyBytes_Check(object) && !PyByteArray_Check(object)) {
    // An array, as NumPy's shuffles are. What is no index, the selection itself refuses.
    const Ref args(PyTuple_Pack(1, object));
    const Ref made(args ? from_buffer(nullptr, args.get()) : nullptr);
    if (!made) throw PythonError();
    if (is_tensor(made.get())) return tensor_of(made.get());
  }
  raise_as("IndexTypeError",
           std::string("[index] an index is an integer, a slice, None, Ellipsis, or a tensor of "
                       "integers or bools, not ") +
               Py_TYPE(object)->tp_name);
  throw PythonError();
}

void warn(const char* text) {
  if (PyErr_WarnEx(PyExc_UserWarning, text, 1) != 0) throw PythonError();
}

// A tensor of one integer as this integer, so that x[i] is a view. As a tensor it stays where its value is not known yet.
Index number_at(const Tensor& index) {
  if (tn_trace_active() != 0 || Batch::behind(index.get()) != index.get()) return index;
  const Tensor wide = index.dtype() == DType::I64 ? index : index.to(DType::I64);
  int64_t value = 0;
  tn_status* status = tn_tensor_to_host(wide.get(), &value, sizeof value);
  if (status == nullptr) return value;
  tn_status_release(status);  // such as while a graph is captured
  return index;
}

Index checked(Index index) {
  if (index.kind() != Index::Kind::Tensor) return index;
  const Tensor& tensor = index.tensor();
  const DType dtype = tensor.dtype();
  if (is_floating(dtype) || is_complex(dtype))
    throw Error(TN_OUT_OF_RANGE,
                "[index] tensors used as indices must be of integers or bools, not " +
                    std::string(name_of(dtype)));
  if (dtype == DType::U8) {
    if (tensor.ndim() > 0)
      warn(
          "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
          "instead: it is a mask, and no list of positions.");
    return tensor.to(DType::Bool);
  }
  return dtype != DType::Bool && tensor.ndim() == 0 ? number_at(tensor) : index;
}

bool picks(const Index& index) { return index.kind() == Index::Kind::Tensor; }

// Lists and tensors of the host are indices on every device.
Index beside(Index index, const Tensor& x) {
  if (!picks(index) || index.tensor().device() == x.device() || tn_trace_active() != 0 ||
      !index.tensor().device().id().starts_with("cpu"))
    return index;
  return index.tensor().to(x.device());
}

// Whether a list stands for a tuple of indices: PyTorch asks as NumPy once did.
bool stands_for_tuple(PyObject* object) {
  if (!PyList_Check(object) || PyList_GET_SIZE(object) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) {
    PyObject* item = PyList_GET_ITEM(object, i);
    if (is_tensor(item) || PySlice_Check(item) || item == Py_Ellipsis || item == Py_None ||
        PySequence_Check(item))
      return true;
  }
  return false;
}

// A mask has the sizes of the dimensions that it spans; one with a size of 0 picks nothing, whatever they are.
void check_mask(const Tensor& mask, const Tensor& x, int64_t first, std::vector<Index>& out) {
  const int64_t rank = mask.ndim();
  bool fits = true;
  for (int64_t d = 0; d < rank && first + d < x.ndim(); ++d) {
    if (mask.shape(d) == x.shape(first + d)) continue;
    if (mask.shape(d) != 0)
      throw Error(TN_OUT_OF_RANGE, "[index] a mask of size " + std::to_string(mask.shape(d)) +
                                       " in dim " + std::to_string(first + d) +
                                       " does not fit size " + std::to_string(x.shape(first + d)));
    fits = false;
  }
  if (fits)
    out.emplace_back(mask);
  else
    out.insert(out.end(), static_cast<size_t>(rank), Index(empty({0}, DType::I64)));
}

void check_masks(std::vector<Index>& indices, const Tensor& x) {
  int64_t consumed = 0, dim = 0;
  for (const Index& index : indices) consumed += detail::consumed_dims(index);
  std::vector<Index> out;
  out.reserve(indices.size());
  for (Index& index : indices) {
    const int64_t spans = detail::consumed_dims(index);
    if (picks(index) && index.tensor().dtype() == DType::Bool)
      check_mask(index.tensor(), x, dim, out);
    else
      out.push_back(std::move(index));
    dim += out.back().kind() == Index::Kind::Rest ? x.ndim() - consumed : spans;
  }
  indices = std::move(out);
}

std::vector<Index> key_of(const Tensor& x, PyObject* object) {
  std::vector<Index> indices;
  const bool is_list = stands_for_tuple(object);
  if (is_list)
    warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated: use x[tuple(seq)] "
        "instead of x[seq], which is read as this, or x[torch.tensor(seq)].");
  if (is_list || PyTuple_Check(object)) {
    const Ref items(PySequence_Tuple(object));
    if (!items) throw PythonError();
    const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
    indices.reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i)
      indices.push_back(checked(index_of(PyTuple_GET_ITEM(items.get(), i))));
  } else {
    indices.push_back(checked(index_of(object)));
  }
  if (std::ranges::any_of(indices, picks)) {
    for (Index& index : indices) index = beside(std::move(index), x);
    check_masks(indices, x);
  }
  return indices;
}

Tensor values_of(const Tensor& x, PyObject* object) {
  if (is_tensor(object)) return tensor_of(object);
  double parts[2];
  tn_value number{};
  const int found = to_number(object, number, parts);
  if (found < 0) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw PythonError();
    PyErr_Clear();
    throw Error(TN_INVALID_ARGUMENT, "[index] an integer beyond 64 bits is assigned");
  }
  if (found > 0) {
    // A number of a higher kind than the tensor would lose what it says.
    if (number.tag == TN_VALUE_COMPLEX && !is_complex(x.dtype()))
      throw Error(TN_INVALID_ARGUMENT, "[index] a complex number does not fit a tensor of " +
                                           std::string(name_of(x.dtype())));
    const tn_value args[] = {detail::value(IntList(std::span<const int64_t>())), number,
                             detail::value(x.dtype()), detail::value(x.device())};
    return detail::call(detail::op_full, args, 4);
  }
  if (PyList_Check(object) || PyTuple_Check(object)) {
    const Ref made(tensor_from_data(object, nullptr, nullptr));
    if (!made) throw PythonError();
    return tensor_of(made.get());
  }
  PyErr_Format(PyExc_TypeError,
               "[index] what is assigned must be a Tensor, a number or nested lists, not %.200s%s",
               Py_TYPE(object)->tp_name,
               PyObject_CheckBuffer(object) ? ": make it a tensor with tenon.asarray(...)" : "");
  throw PythonError();
}

// Values without dimensions of size 1 in front of what is written to, which NumPy and PyTorch ignore.
Tensor without_leading_ones(Tensor values, const detail::ResolvedIndex& where) {
  const int64_t ndim = where.picks.empty() ? where.view.ndim() : 1;
  while (values.ndim() > ndim && values.shape()[0] == 1) values = values.squeeze(0);
  return values;
}

// Where a mask picks single elements, and nothing needs their positions for a gradient.
bool only_masks(const Tensor& x, const std::vector<Index>& indices) {
  if (indices.size() != 1 || !picks(indices[0]) || (x.requires_grad() && is_grad_enabled()))
    return false;
  const Tensor& mask = indices[0].tensor();
  return mask.dtype() == DType::Bool && mask.ndim() == x.ndim() && x.ndim() > 0 &&
         mask.device() == x.device();
}

// One value where one mask picks: a fill, whose size does not depend on elements, so graphs record it.
bool fill_masked(const Tensor& x, const std::vector<Index>& indices, const Tensor& value) {
  if (value.numel() != 1 || value.ndim() > 1 || std::ranges::count_if(indices, picks) != 1)
    return false;
  int64_t consumed = 0, ahead = 0;
  for (const Index& index : indices) consumed += detail::consumed_dims(index);
  Tensor mask;
  std::vector<Index> others;
  for (const Index& index : indices) {
    if (picks(index)) {
      mask = index.tensor();
      if (mask.dtype() != DType::Bool || mask.ndim() == 0 || mask.device() != x.device())
        return false;
      others.insert(others.end(), static_cast<size_t>(mask.ndim()), Index(Slice()));
      continue;
    }
    if (!mask.defined()) ahead += index.kind() == Index::Kind::Rest ? x.ndim() - consumed : 1;
    others.push_back(index);
  }
  Tensor view = detail::resolve_index(x, others).view;
  while (ahead + mask.ndim() < view.ndim()) mask = mask.unsqueeze(-1);
  const Unlocked unlocked(view.numel() >= kUnlockElements);
  view.masked_fill_(mask, value.ndim() == 0 ? value : value.reshape(IntList()));
  return true;
}

}  // namespace

PyObject* tensor_get_item(PyObject* self, PyObject* key) {
  if (may_override()) [[unlikely]]
    if (const Overridden by = take_over("__getitem__", self, key); by.taken) return by.result;
  return guarded([&]() -> PyObject* {
    tn_tensor* x = handle_of(self);
    if (PyLong_CheckExact(key) && tn_tensor_ndim(x) > 0)
      return wrap(select(tensor_of(self), 0, integer_of(key)));
    const std::vector<Index> indices = key_of(tensor_of(self), key);
    Tensor out = only_masks(tensor_of(self), indices)
                     ? masked_select(tensor_of(self), indices[0].tensor())
                     : tensor_of(self).at(indices);
    // A view of its own even where nothing was picked: x[...] = and x[:] mean other objects.
    return wrap(out.get() == x ? alias(out) : std::move(out));
  });
}

namespace {
Overridden take_over_item(PyObject* self, PyObject* key, PyObject* values) {
  PyObject* const args[] = {self, key, values};
  const Ref function(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__setitem__"));
  return function ? take_over(function.get(), args, 3, nullptr) : Overridden{true, nullptr};
}
}  // namespace

int tensor_set_item(PyObject* self, PyObject* key, PyObject* values) {
  if (values == nullptr) {
    PyErr_SetString(PyExc_TypeError, "[index] elements of a tensor cannot be deleted");
    return -1;
  }
  if (may_override()) [[unlikely]] {
    const Overridden by = take_over_item(self, key, values);
    if (by.taken) return Ref(by.result) ? 0 : -1;
  }
  return guarded<int>(-1, [&] {
    const Tensor x = tensor_of(self);
    const std::vector<Index> indices = key_of(x, key);
    const Tensor from = values_of(x, values);
    Tangents::prepare_write(x, from);
    if (fill_masked(x, indices, from)) return 0;
    const detail::ResolvedIndex where = detail::resolve_index(x, indices);
    const Unlocked unlocked(where.view.numel() >= kUnlockElements);
    detail::put(x, where, without_leading_ones(from, where), false);
    return 0;
  });
}

Py_ssize_t tensor_length(PyObject* self) {
  tn_tensor* x = handle_of(self);
  if (tn_tensor_ndim(x) == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a tensor of rank 0");
    return -1;
  }
  return static_cast<Py_ssize_t>(tn_tensor_shape(x)[0]);
}

PyObject* tensor_get_at(PyObject* self, Py_ssize_t index) {
  tn_tensor* x = handle_of(self);
  if (tn_tensor_ndim(x) == 0)
    return PyErr_Format(PyExc_TypeError, "iteration over a tensor of rank 0");
  if (index >= tn_tensor_shape(x)[0])
    return PyErr_Format(PyExc_IndexError, "index %zd out of range", index);
  return guarded([&] { return wrap(select(tensor_of(self), 0, index)); });
}

}  // namespace tenon::python
