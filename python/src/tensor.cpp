// The type Tensor: its life, its properties, its slots.
#include "tensor.hpp"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <vector>

#include "batch.hpp"
#include "callback.hpp"
#include "op.hpp"
#include "overriding.hpp"
#include "tenon/history.h"

namespace tenon::python {

PyTypeObject* tensor_type = nullptr;

namespace {

// Objects of freed tensors, used again. The interpreter lock guards them; a build without it has none.
#ifdef Py_GIL_DISABLED
constexpr size_t kFree = 0;
#else
constexpr size_t kFree = 128;
#endif
std::array<PyObject*, kFree + 1> free_list;
size_t free_count = 0;

const tn_op *op_transpose, *op_permute;

// Tensor(2, 3) and Tensor([1, 2]), as PyTorch's scripts of old write.
PyObject* tensor_legacy(PyObject* args, PyObject* kwargs) {
  PyObject* const legacy = PyImport_ImportModule("tenon.torch.legacy");
  PyObject* const make =
      legacy == nullptr ? nullptr : PyObject_GetAttrString(legacy, "make_default");
  PyObject* const made = make == nullptr ? nullptr : PyObject_Call(make, args, kwargs);
  Py_XDECREF(make);
  Py_XDECREF(legacy);
  return made;
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  // A subclass's own arguments are its __init__'s business.
  const bool is_base = type == tensor_type;
  PyObject* const source = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : nullptr;
  const bool more =
      PyTuple_GET_SIZE(args) > 1 || (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0);
  if (source != nullptr && is_tensor(source) && !(is_base && more))
    return wrap_as(type, tn_tensor_retain(handle_of(source)));
  PyObject* const made = tensor_legacy(args, kwargs);
  if (is_base || made == nullptr) return made;
  PyObject* const of_type = wrap_as(type, tn_tensor_retain(handle_of(made)));
  Py_DECREF(made);
  return of_type;
}

void tensor_dealloc(PyObject* self) {
  auto* object = reinterpret_cast<TensorObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (object->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  auto* callbacks = static_cast<Callbacks*>(object->callbacks);
  object->callbacks = nullptr;
  tn_tensor* tensor = object->tensor;
  object->tensor = nullptr;
  PyObject* dict = object->dict;
  object->dict = nullptr;
  if (type == tensor_type) {
    // Finalizers run once in the life of an object: one that had its turn is not used again.
    if (free_count < kFree && !PyObject_GC_IsFinalized(self))
      free_list[free_count++] = self;
    else
      PyObject_GC_Del(self);
  } else {
    type->tp_free(self);
  }
  Py_DECREF(type);
  if (callbacks != nullptr) leave_callbacks(callbacks);
  Py_XDECREF(dict);
  // Last: freeing the graph may run hooks' destructors, which may run anything.
  tn_tensor_release(tensor);
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<TensorObject*>(self)->dict);
  if (const auto* list = static_cast<Callbacks*>(reinterpret_cast<TensorObject*>(self)->callbacks))
    for (Callback* callback : *list) Py_VISIT(callback->callable);
  return 0;
}

int tensor_clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<TensorObject*>(self)->dict);
  return 0;
}

// What has attributes of a program's own may be part of a circle.
int tensor_setattr(PyObject* self, PyObject* name, PyObject* value) {
  const int failed = PyObject_GenericSetAttr(self, name, value);
  if (reinterpret_cast<TensorObject*>(self)->dict != nullptr && !PyObject_GC_IsTracked(self))
    PyObject_GC_Track(self);
  return failed;
}

// Called for all of a circle before any of it is taken apart. Lets the tensor go: without a graph that needs it, its callbacks
// go with it; otherwise it lives on there with them, the circle stays whole, and this object shows the elements without history.
void tensor_finalize(PyObject* self) {
  auto* object = reinterpret_cast<TensorObject*>(self);
  if (object->callbacks == nullptr) return;
  tn_tensor* bare = nullptr;
  if (tn_status* status = tn_tensor_detach(object->tensor, &bare)) {
    tn_status_release(status);
    return;
  }
  tn_tensor* old = object->tensor;
  object->tensor = bare;
  auto* callbacks = static_cast<Callbacks*>(object->callbacks);
  object->callbacks = nullptr;
  leave_callbacks(callbacks);
  tn_tensor_release(old);
}

Py_hash_t tensor_hash(PyObject* self) { return PyBaseObject_Type.tp_hash(self); }

PyObject* int_tuple(const int64_t* items, uint32_t count) {
  PyObject* tuple = PyTuple_New(count);
  for (uint32_t i = 0; tuple != nullptr && i < count; ++i) {
    PyObject* item = PyLong_FromLongLong(items[i]);
    if (item == nullptr)
      Py_CLEAR(tuple);
    else
      PyTuple_SET_ITEM(tuple, i, item);
  }
  return tuple;
}

// A subclass of tuple that shapes are of, once PyTorch's vocabulary asks for one.
PyTypeObject* shape_type = nullptr;

PyObject* get_shape(PyObject* self, void*) {
  PyObject* sizes = int_tuple(tn_tensor_shape(handle_of(self)), tn_tensor_ndim(handle_of(self)));
  if (shape_type == nullptr || sizes == nullptr) return sizes;
  const Ref plain(sizes), arguments(PyTuple_Pack(1, sizes));
  return arguments ? PyTuple_Type.tp_new(shape_type, arguments.get(), nullptr) : nullptr;
}
PyObject* get_strides(PyObject* self, void*) {
  return int_tuple(tn_tensor_strides(handle_of(self)), tn_tensor_ndim(handle_of(self)));
}
PyObject* get_ndim(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(tn_tensor_ndim(handle_of(self)));
}
PyObject* get_size(PyObject* self, void*) {
  return PyLong_FromLongLong(tn_tensor_numel(handle_of(self)));
}
PyObject* get_itemsize(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(tn_dtype_size(tn_tensor_dtype(handle_of(self))));
}
PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(tn_dtype_size(tn_tensor_dtype(handle_of(self))) *
                                     static_cast<uint64_t>(tn_tensor_numel(handle_of(self))));
}
PyObject* get_dtype(PyObject* self, void*) {
  return dtype_object(tn_tensor_dtype(handle_of(self)));
}
PyObject* get_device(PyObject* self, void*) {
  return device_object(tn_tensor_device(handle_of(self)));
}
PyObject* get_requires_grad(PyObject* self, void*) {
  return PyBool_FromLong(tn_tensor_requires_grad(Batch::behind(handle_of(self))));
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !PyBool_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "requires_grad is True or False");
    return -1;
  }
  tn_status* status = tn_tensor_set_requires_grad(Batch::behind(handle_of(self)), value == Py_True);
  return status == nullptr ? 0 : (raise_status(status), -1);
}
PyObject* get_is_leaf(PyObject* self, void*) {
  return PyBool_FromLong(tn_tensor_is_leaf(handle_of(self)));
}
PyObject* get_grad_fn(PyObject* self, void*) {
  const tn_str name = tn_tensor_grad_fn_name(handle_of(self));
  if (name.size == 0) Py_RETURN_NONE;
  return PyUnicode_FromStringAndSize(name.data, static_cast<Py_ssize_t>(name.size));
}
PyObject* get_version(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(tn_tensor_version(handle_of(self)));
}
PyObject* get_data_ptr(PyObject* self, void*) {
  void* data = tn_tensor_data(handle_of(self));
  if (data == nullptr) Py_RETURN_NONE;
  return PyLong_FromVoidPtr(data);
}

PyObject* call(const tn_op* op, const tn_value* args, uint32_t count) {
  tn_tensor* out = nullptr;
  tn_status* status = tn_op_call(op, args, count, &out, 1);
  return status == nullptr ? wrap(out) : raise_status(status);
}
tn_value value_of(tn_tensor* tensor) {
  tn_value value{};
  value.tag = TN_VALUE_TENSOR;
  value.as.tensor = tensor;
  return value;
}
PyObject* get_transposed(PyObject* self, void*) {
  if (may_override()) [[unlikely]]
    if (const Overridden by = take_over_property("T", self); by.taken) return by.result;
  tn_tensor* x = handle_of(self);
  const uint32_t ndim = tn_tensor_ndim(x);
  int64_t dims[TN_MAX_DIMS];
  for (uint32_t i = 0; i < ndim; ++i) dims[i] = ndim - 1 - i;
  tn_value args[2] = {value_of(x), {}};
  args[1].tag = TN_VALUE_INTS;
  args[1].count = ndim;
  args[1].as.ints = dims;
  return call(op_permute, args, 2);
}
PyObject* get_matrix_transposed(PyObject* self, void*) {
  if (may_override()) [[unlikely]]
    if (const Overridden by = take_over_property("mT", self); by.taken) return by.result;
  tn_tensor* x = handle_of(self);
  if (tn_tensor_ndim(x) < 2)
    return PyErr_Format(PyExc_ValueError, "[mT] needs at least 2 dimensions, the tensor has %u",
                        tn_tensor_ndim(x));
  tn_value args[3] = {value_of(x), {}, {}};
  args[1].tag = args[2].tag = TN_VALUE_INT;
  args[1].as.i = -2;
  args[2].as.i = -1;
  return call(op_transpose, args, 3);
}
PyObject* storage_offset(PyObject* self, PyObject*) {
  const tn_view* view = tn_tensor_view(handle_of(self));
  return PyLong_FromLongLong(view->offset / static_cast<int64_t>(tn_dtype_size(view->dtype)));
}
// Where its first element is: tensors of a device that agree in the first number are views of one memory, and the second tells how many
// bytes lie between them. On the host that is all memory, since tensors of other libraries share it without a common storage.
PyObject* place(PyObject* self, PyObject*) {
  const tn_view* view = tn_tensor_view(handle_of(self));
  if (void* data = tn_tensor_data(handle_of(self)))
    return Py_BuildValue("KK", 0ULL,
                         static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(data)));
  return Py_BuildValue("KL",
                       static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(view->buffer)),
                       static_cast<long long>(view->offset));
}
PyObject* is_contiguous(PyObject* self, PyObject*) {
  return PyBool_FromLong(tn_tensor_is_contiguous(handle_of(self)));
}
PyObject* shares_memory(PyObject* self, PyObject* other) {
  if (!is_tensor(other))
    return PyErr_Format(PyExc_TypeError, "shares_memory wants a Tensor, not %.200s",
                        Py_TYPE(other)->tp_name);
  return PyBool_FromLong(tn_tensor_shares_storage(handle_of(self), handle_of(other)));
}
// The step that made the tensor, as (id, which of its results it is).
PyObject* get_step(PyObject* self, PyObject*) {
  tn_step step{};
  step.struct_size = sizeof step;
  if (tn_status* status = tn_tensor_step(handle_of(self), &step, nullptr, 0))
    return raise_status(status);
  return Py_BuildValue("KI", static_cast<unsigned long long>(step.id), step.result);
}
// Tensors that stand in the history for this one and for the operands of its step, None where no gradient flows.
PyObject* get_places(PyObject* self, PyObject*) {
  tn_step step{};
  step.struct_size = sizeof step;
  if (tn_status* status = tn_tensor_step(handle_of(self), &step, nullptr, 0))
    return raise_status(status);
  std::vector<tn_tensor*> places(1 + step.operands);
  if (tn_status* status = tn_tensor_step(handle_of(self), &step, places.data(), 1 + step.operands))
    return raise_status(status);
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(places.size()));
  for (size_t i = 0; i < places.size(); ++i) {
    PyObject* place = tuple == nullptr ? nullptr : wrap(places[i]);
    if (place != nullptr)
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), place);
    else if (tuple == nullptr)
      tn_tensor_release(places[i]);
    else
      Py_CLEAR(tuple);
  }
  return tuple;
}
// Number `index` of what the step that made the tensor keeps, as (name, entry in a list, tensor); None beyond the last.
PyObject* get_saved(PyObject* self, PyObject* index) {
  const uint64_t number = PyLong_AsUnsignedLongLong(index);
  if (PyErr_Occurred() != nullptr && !PyErr_ExceptionMatches(PyExc_OverflowError)) return nullptr;
  if (PyErr_Occurred() != nullptr || number > UINT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "_saved wants a place, from 0");
    return nullptr;
  }
  tn_saved saved{};
  saved.struct_size = sizeof saved;
  if (tn_status* status = tn_tensor_saved(handle_of(self), static_cast<uint32_t>(number), &saved))
    return raise_status(status);
  if (saved.tensor == nullptr) Py_RETURN_NONE;
  PyObject* name = text_object({saved.name.data, saved.name.size});
  return Py_BuildValue("NIN", name, saved.entry, wrap(saved.tensor));
}
// From here on this object stands for the tensor of `other`, which gets what this one stood for, with its hooks.
PyObject* tensor_become(PyObject* self, PyObject* other) {
  if (!is_tensor(other))
    return PyErr_Format(PyExc_TypeError, "_become wants a Tensor, not %.200s",
                        Py_TYPE(other)->tp_name);
  auto *x = reinterpret_cast<TensorObject*>(self), *y = reinterpret_cast<TensorObject*>(other);
  std::swap(x->tensor, y->tensor);
  std::swap(x->callbacks, y->callbacks);
  Unlocked::release_later(tn_tensor_retain(y->tensor));
  Py_RETURN_NONE;
}

PyObject* has_hooks(PyObject* self, PyObject*) {
  const auto* hooks = static_cast<Callbacks*>(reinterpret_cast<TensorObject*>(self)->callbacks);
  return PyBool_FromLong(
      hooks != nullptr &&
      std::any_of(hooks->begin(), hooks->end(), [](auto* each) { return each->hook != 0; }));
}

// The very same elements in the same order, whatever the history.
PyObject* same_elements(PyObject* self, PyObject* other) {
  if (!is_tensor(other)) Py_RETURN_FALSE;
  const tn_tensor *x = handle_of(self), *y = handle_of(other);
  const tn_view *a = tn_tensor_view(x), *b = tn_tensor_view(y);
  return PyBool_FromLong(tn_tensor_shares_storage(x, y) && a->data == b->data &&
                         a->offset == b->offset && a->dtype == b->dtype && a->ndim == b->ndim &&
                         std::equal(a->shape, a->shape + a->ndim, b->shape) &&
                         std::equal(a->strides, a->strides + a->ndim, b->strides));
}

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict,
     "Attributes that a program has set; they belong to this Python object.", nullptr},
    {"shape", get_shape, nullptr, "Sizes of the dimensions.", nullptr},
    {"strides", get_strides, nullptr, "Strides in elements.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"dtype", get_dtype, nullptr, "Element type.", nullptr},
    {"device", get_device, nullptr, "Where the elements lie.", nullptr},
    {"T", get_transposed, nullptr, "The dimensions in reversed order; a view.", nullptr},
    {"mT", get_matrix_transposed, nullptr, "The last two dimensions exchanged; a view.", nullptr},
    {"grad", tensor_get_grad, tensor_set_grad, "The accumulated gradient of a leaf, or None.",
     nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether gradients flow to it.",
     nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no recorded op made it.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "Name of the op that made it, or None.", nullptr},
    {"version", get_version, nullptr, "How often its storage was written in place.", nullptr},
    {"data_ptr", get_data_ptr, nullptr, "Address of the first element, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"item", tensor_item, METH_VARARGS,
     "item(*index)\n\nThe only element, or the one at an index, as a Python number."},
    {"tolist", tensor_tolist, METH_NOARGS, "tolist()\n\nNested lists of Python numbers."},
    {"tobytes", tensor_tobytes, METH_NOARGS, "tobytes()\n\nThe elements, row-major."},
    {"storage_offset", storage_offset, METH_NOARGS,
     "storage_offset()\n\nElements from the start of its memory to its first one."},
    {"_place", place, METH_NOARGS, nullptr},
    {"is_contiguous", is_contiguous, METH_NOARGS,
     "is_contiguous()\n\nWhether it is row-major without gaps."},
    {"shares_memory", shares_memory, METH_O,
     "shares_memory(other)\n\nWhether both have one storage."},
    {"backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_backward)),
     METH_FASTCALL | METH_KEYWORDS,
     "backward(gradient=None, retain_graph=False, create_graph=False)\n\nAccumulates gradients "
     "into the leaves."},
    {"detach", tensor_detach, METH_NOARGS, "detach()\n\nThe same elements without history."},
    {"requires_grad_",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_set_requires_grad)),
     METH_FASTCALL, "requires_grad_(on=True)\n\nAsks for gradients, and returns the tensor."},
    {"_same_elements", same_elements, METH_O, nullptr},
    {"_step", get_step, METH_NOARGS, nullptr},
    {"_places", get_places, METH_NOARGS, nullptr},
    {"_saved", get_saved, METH_O, nullptr},
    {"_become", tensor_become, METH_O, nullptr},
    {"_has_hooks", has_hooks, METH_NOARGS, nullptr},
    {"_add_hook", tensor_add_hook, METH_O, nullptr},
    {"_add_step_hook", tensor_add_step_hook, METH_O, nullptr},
    {"_remove_hook", tensor_remove_hook, METH_O, nullptr},
    {"_to_capsule", tensor_to_capsule, METH_VARARGS, nullptr},
    {"__complex__", tensor_complex, METH_NOARGS, nullptr},
    {"__format__", tensor_format, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

#define SLOT(slot, function) \
  { Py_##slot, reinterpret_cast<void*>(function) }
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A strided n-dimensional array on a device, with gradients.")},
    SLOT(tp_new, tensor_new),
    SLOT(tp_dealloc, tensor_dealloc),
    SLOT(tp_hash, tensor_hash),
    SLOT(tp_repr, tensor_repr),
    SLOT(tp_str, tensor_str),
    SLOT(tp_richcompare, tensor_compare),
    SLOT(tp_setattro, tensor_setattr),
    SLOT(tp_traverse, tensor_traverse),
    SLOT(tp_clear, tensor_clear),
    SLOT(tp_finalize, tensor_finalize),
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    SLOT(nb_add, tensor_add),
    SLOT(nb_subtract, tensor_sub),
    SLOT(nb_multiply, tensor_mul),
    SLOT(nb_true_divide, tensor_div),
    SLOT(nb_floor_divide, tensor_floor_divide),
    SLOT(nb_remainder, tensor_remainder),
    SLOT(nb_power, tensor_pow),
    SLOT(nb_matrix_multiply, tensor_matmul),
    SLOT(nb_and, tensor_and),
    SLOT(nb_or, tensor_or),
    SLOT(nb_xor, tensor_xor),
    SLOT(nb_lshift, tensor_lshift),
    SLOT(nb_rshift, tensor_rshift),
    SLOT(nb_negative, tensor_neg),
    SLOT(nb_positive, tensor_pos),
    SLOT(nb_absolute, tensor_abs),
    SLOT(nb_invert, tensor_invert),
    SLOT(nb_inplace_add, tensor_iadd),
    SLOT(nb_inplace_subtract, tensor_isub),
    SLOT(nb_inplace_multiply, tensor_imul),
    SLOT(nb_inplace_true_divide, tensor_idiv),
    SLOT(nb_inplace_floor_divide, tensor_ifloor_divide),
    SLOT(nb_inplace_remainder, tensor_iremainder),
    SLOT(nb_inplace_power, tensor_ipow),
    SLOT(nb_inplace_matrix_multiply, tensor_imatmul),
    SLOT(nb_inplace_and, tensor_iand),
    SLOT(nb_inplace_or, tensor_ior),
    SLOT(nb_inplace_xor, tensor_ixor),
    SLOT(nb_inplace_lshift, tensor_ilshift),
    SLOT(nb_inplace_rshift, tensor_irshift),
    SLOT(nb_bool, tensor_bool),
    SLOT(nb_int, tensor_int),
    SLOT(nb_float, tensor_float),
    SLOT(nb_index, tensor_index),
    SLOT(mp_subscript, tensor_get_item),
    SLOT(mp_ass_subscript, tensor_set_item),
    SLOT(mp_length, tensor_length),
    SLOT(sq_length, tensor_length),
    SLOT(sq_item, tensor_get_at),
    SLOT(bf_getbuffer, tensor_get_buffer),
    SLOT(bf_releasebuffer, tensor_release_buffer),
    {0, nullptr}};
#undef SLOT
PyType_Spec spec = {
    "tenon.Tensor", sizeof(TensorObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_SEQUENCE, slots};

}  // namespace

PyObject* wrap(tn_tensor* tensor) {
  if (tensor == nullptr) Py_RETURN_NONE;
  PyObject* self;
  if (free_count > 0) [[likely]] {
    self = free_list[--free_count];
    PyObject_Init(self, tensor_type);
  } else {
    self = reinterpret_cast<PyObject*>(PyObject_GC_New(TensorObject, tensor_type));
    if (self == nullptr) {
      tn_tensor_release(tensor);
      return nullptr;
    }
  }
  reinterpret_cast<TensorObject*>(self)->tensor = tensor;
  reinterpret_cast<TensorObject*>(self)->weakrefs = nullptr;
  reinterpret_cast<TensorObject*>(self)->callbacks = nullptr;
  reinterpret_cast<TensorObject*>(self)->dict = nullptr;
  if (anomaly_scopes > 0) [[unlikely]]
    note_line(self);
  return self;
}

PyObject* wrap_as(PyTypeObject* type, tn_tensor* tensor) {
  if (type == tensor_type) return wrap(tensor);
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr)
    tn_tensor_release(tensor);
  else
    reinterpret_cast<TensorObject*>(self)->tensor = tensor;
  return self;
}

PyObject* set_shape_type(PyObject*, PyObject* type) {
  if (type != Py_None && (!PyType_Check(type) ||
                          !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &PyTuple_Type)))
    return PyErr_Format(PyExc_TypeError, "[shape] not a subclass of tuple: %R", type);
  auto* const before = reinterpret_cast<PyObject*>(shape_type);
  shape_type = type == Py_None ? nullptr : reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

bool add_tensor_type(PyObject* module) {
  if (!find_operators()) return false;
  op_transpose = require_op("transpose");
  op_permute = require_op("permute");
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return tensor_type != nullptr && PyModule_AddType(module, tensor_type) == 0;
}

}  // namespace tenon::python
