#include "shortcut.hpp"

#include <structmember.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "overriding.hpp"

namespace tenon::python {
namespace {

// A pattern has a letter for each operand:
//   T a tensor, F a floating one, E one with elements, M one of rank 2: all of a call have one dtype      b a tensor of bools
//   n a number that keeps their dtype      l a list of tensors of one dtype      i a dimension of the first tensor, by its place or as
//   dim=, u one of size 1      x indices (i64) in the first tensor's shape but along that dimension, r a row of them
//   * the rest, one int or more
struct ShortcutObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *function, *op;
  PyObject* renames;   // other names of arguments: theirs
  vectorcallfunc run;  // the op's
  bool takes_pairs;    // two tensors of one dtype fit: tried before the patterns
  std::vector<std::string> patterns;
};

constexpr size_t kMaxOperands = 8;
PyObject* dim_name = nullptr;

// One call against one pattern.
class Match {
 public:
  bool fits(std::string_view pattern, PyObject* const* args, size_t nargs, PyObject* kwnames) {
    const bool rest = !pattern.empty() && pattern.back() == '*';
    const std::string_view each = pattern.substr(0, pattern.size() - rest);
    const size_t named = kwnames == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(kwnames));
    if (rest ? named != 0 || nargs <= each.size() : nargs + named != each.size()) return false;
    if (named > 1 || (named == 1 && ((each.back() != 'i' && each.back() != 'u') ||
                                     !is_dim(PyTuple_GET_ITEM(kwnames, 0)))))
      return false;
    for (size_t i = 0; i < each.size(); ++i)
      if (!fits(each[i], args[i])) return false;
    for (size_t i = each.size(); i < nargs; ++i)
      if (!PyLong_CheckExact(args[i])) return false;
    return true;
  }

 private:
  static bool is_dim(PyObject* name) {
    return name == dim_name || PyUnicode_Compare(name, dim_name) == 0;
  }
  bool fits(char letter, PyObject* object) {
    switch (letter) {
      case 'T':
      case 'F':
      case 'E':
      case 'M':
      case 'N': {
        if (!is_tensor(object)) return false;
        tn_tensor* x = handle_of(object);
        const bool floating = letter == 'F' || letter == 'E';
        return takes(x) && (!floating || (TN_MASK(*dtype_) & TN_MASK_FLOAT) != 0) &&
               (letter != 'E' || tn_tensor_numel(x) != 0) &&
               (letter != 'M' || tn_tensor_ndim(x) == 2) &&
               (letter != 'N' || *dtype_ != TN_DTYPE_BOOL);
      }
      case 'b':
        return is_tensor(object) && tn_tensor_dtype(handle_of(object)) == TN_DTYPE_BOOL;
      case 'n':
        return dtype_ && (PyFloat_CheckExact(object)
                              ? (TN_MASK(*dtype_) & (TN_MASK_FLOAT | TN_MASK_COMPLEX)) != 0
                              : PyLong_CheckExact(object) && *dtype_ != TN_DTYPE_BOOL);
      case 'l':
        return fits_list(object);
      case 'i':
        return fits_dim(object);
      case 'u':
        return fits_dim(object) && tn_tensor_shape(first_)[dim_] == 1;
      case 'x':
      case 'r':
        return is_tensor(object) && fits_indices(handle_of(object), letter == 'r');
      default:
        return false;
    }
  }
  // Of the dtype of the others; the first is the one that dimensions are of.
  bool takes(tn_tensor* x) {
    if (first_ == nullptr) first_ = x;
    const tn_dtype dtype = tn_tensor_dtype(x);
    if (!dtype_) dtype_ = dtype;
    return *dtype_ == dtype;
  }
  bool fits_list(PyObject* object) {
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return false;
    PyObject** items = PySequence_Fast_ITEMS(object);
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!is_tensor(items[i]) || !takes(handle_of(items[i]))) return false;
      // What PyTorch leaves out of a concatenation.
      if (tn_tensor_ndim(handle_of(items[i])) == 1 && tn_tensor_numel(handle_of(items[i])) == 0)
        return false;
    }
    return count > 0;
  }
  bool fits_dim(PyObject* object) {
    if (first_ == nullptr || !PyLong_CheckExact(object) || tn_tensor_numel(first_) == 0)
      return false;
    int overflow = 0;
    const long dim = PyLong_AsLongAndOverflow(object, &overflow);
    const long rank = static_cast<long>(tn_tensor_ndim(first_));
    dim_ = dim < 0 ? dim + rank : dim;
    return overflow == 0 && dim >= -rank && dim < rank;
  }
  bool fits_indices(tn_tensor* index, bool row) const {
    const uint32_t rank = tn_tensor_ndim(index);
    if (tn_tensor_dtype(index) != TN_DTYPE_I64 || tn_tensor_numel(index) == 0) return false;
    if (row) return rank == 1;
    if (first_ == nullptr || rank != tn_tensor_ndim(first_)) return false;
    for (uint32_t d = 0; d < rank; ++d)
      if (d != dim_ && tn_tensor_shape(index)[d] != tn_tensor_shape(first_)[d]) return false;
    return true;
  }

  std::optional<tn_dtype> dtype_;
  tn_tensor* first_ = nullptr;
  long dim_ = 0;
};

// op(x, …, (1, 2)) of x, …, 1, 2
PyObject* call_with_rest(PyObject* op, PyObject* const* args, size_t fixed, size_t nargs) {
  PyObject* given[kMaxOperands];
  PyObject* rest = PyTuple_New(static_cast<Py_ssize_t>(nargs - fixed));
  if (rest == nullptr) return nullptr;
  for (size_t i = fixed; i < nargs; ++i)
    PyTuple_SET_ITEM(rest, static_cast<Py_ssize_t>(i - fixed), Py_NewRef(args[i]));
  std::copy_n(args, fixed, given);
  given[fixed] = rest;
  PyObject* result = PyObject_Vectorcall(op, given, fixed + 1, nullptr);
  Py_DECREF(rest);
  return result;
}

// The function with arguments by its own names.
PyObject* call_renamed(const ShortcutObject* self, PyObject* const* args, size_t nargsf,
                       PyObject* kwnames) {
  const Py_ssize_t count = PyTuple_GET_SIZE(kwnames);
  const Ref names(PyTuple_New(count));
  if (!names) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* given = PyTuple_GET_ITEM(kwnames, i);
    PyObject* own = PyDict_GetItemWithError(self->renames, given);
    if (own == nullptr && PyErr_Occurred() != nullptr) return nullptr;
    PyTuple_SET_ITEM(names.get(), i, Py_NewRef(own == nullptr ? given : own));
  }
  return PyObject_Vectorcall(self->function, args, nargsf, names.get());
}

// Of a call that failed: a TypeError in place of the error if an argument is of a kind that the function does not take, which
// tenon.torch._kinds tells from its name.
PyObject* judged(PyObject* result, const ShortcutObject* self, PyObject* const* args, size_t nargs,
                 PyObject* kwnames) {
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) ||
      !PyErr_ExceptionMatches(PyExc_Exception))
    return result;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  const size_t named = kwnames == nullptr ? 0 : static_cast<size_t>(PyTuple_GET_SIZE(kwnames));
  const Ref given(PyTuple_New(static_cast<Py_ssize_t>(nargs + named)));
  for (size_t i = 0; given && i < nargs + named; ++i)
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), Py_NewRef(args[i]));
  const Ref module(given ? PyImport_ImportModule("tenon.torch._kinds") : nullptr);
  const Ref better(module ? PyObject_CallMethod(module.get(), "judged", "OOOO", self->function,
                                                value, given.get(), kwnames ? kwnames : Py_None)
                          : nullptr);
  if (better && better.get() != Py_None) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(better.get())), better.get());
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return nullptr;
  }
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return nullptr;
}

bool is_pair(PyObject* const* args) {
  return is_tensor(args[0]) && is_tensor(args[1]) &&
         tn_tensor_dtype(handle_of(args[0])) == tn_tensor_dtype(handle_of(args[1]));
}

PyObject* shortcut_call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const auto* self = reinterpret_cast<ShortcutObject*>(object);
  const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  if (may_override()) [[unlikely]]
    if (const Overridden by = take_over(object, args, nargs, kwnames); by.taken) return by.result;
  if (self->takes_pairs && nargs == 2 && kwnames == nullptr && is_pair(args))
    return self->run(self->op, args, nargsf, nullptr);
  for (const std::string& pattern : self->patterns) {
    if (!Match().fits(pattern, args, nargs, kwnames)) continue;
    if (pattern.back() == '*') return call_with_rest(self->op, args, pattern.size() - 1, nargs);
    return self->run(self->op, args, nargsf, kwnames);
  }
  // Methods, which have neither an op nor other names, know what to do with types that are no Tensors.
  if (self->op != Py_None || PyDict_GET_SIZE(self->renames) != 0)
    if (const Overridden by = take_over_unread(object, args, nargs, kwnames); by.taken)
      return by.result;
  if (kwnames != nullptr && PyDict_GET_SIZE(self->renames) != 0)
    return judged(call_renamed(self, args, nargsf, kwnames), self, args, nargs, kwnames);
  return judged(PyObject_Vectorcall(self->function, args, nargsf, kwnames), self, args, nargs,
                kwnames);
}

PyObject* shortcut_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function = nullptr, *op = nullptr, *patterns = nullptr, *renames = nullptr;
  if (!PyArg_ParseTuple(args, "OOUO!:Shortcut", &function, &op, &patterns, &PyDict_Type, &renames))
    return nullptr;
  const char* text = PyUnicode_AsUTF8(patterns);
  if (text == nullptr) return nullptr;
  auto* self = reinterpret_cast<ShortcutObject*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  new (&self->patterns) std::vector<std::string>();
  self->vectorcall = shortcut_call;
  self->function = Py_NewRef(function);
  self->op = Py_NewRef(op);
  self->renames = Py_NewRef(renames);
  self->run = PyVectorcall_Function(op);
  std::string_view left = text;
  while (!left.empty()) {
    const size_t end = std::min(left.find(' '), left.size());
    if (end > 0 && end < kMaxOperands) self->patterns.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  self->takes_pairs = !self->patterns.empty() && self->patterns.front() == "TT";
  if (!self->patterns.empty() && self->run == nullptr) {
    PyErr_SetString(PyExc_TypeError, "[Shortcut] patterns are of an op");
    Py_DECREF(self);
    return nullptr;
  }
  return reinterpret_cast<PyObject*>(self);
}
int shortcut_traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<ShortcutObject*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->function);
  Py_VISIT(self->op);
  Py_VISIT(self->renames);
  return 0;
}
int shortcut_clear(PyObject* object) {
  auto* self = reinterpret_cast<ShortcutObject*>(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->op);
  Py_CLEAR(self->renames);
  return 0;
}
void shortcut_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  shortcut_clear(object);
  using Patterns = std::vector<std::string>;
  reinterpret_cast<ShortcutObject*>(object)->patterns.~Patterns();
  type->tp_free(object);
  Py_DECREF(type);
}
PyObject* shortcut_get(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self)
                                                    : PyMethod_New(self, instance);
}
// What is asked of it is asked of the function: name, signature, documentation.
PyObject* shortcut_getattr(PyObject* object, PyObject* name) {
  auto* self = reinterpret_cast<ShortcutObject*>(object);
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  const std::string_view asked = text;
  for (const std::string_view own :
       {"__class__", "__wrapped__", "__get__", "__call__", "__reduce__", "__reduce_ex__"})
    if (asked == own) return PyObject_GenericGetAttr(object, name);
  return PyObject_GetAttr(self->function, name);
}
int shortcut_setattr(PyObject* object, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(reinterpret_cast<ShortcutObject*>(object)->function, name, value);
}
PyObject* shortcut_repr(PyObject* object) {
  return PyObject_Repr(reinterpret_cast<ShortcutObject*>(object)->function);
}
// Pickled by name, as functions are.
PyObject* shortcut_reduce(PyObject* object, PyObject*) {
  return PyObject_GetAttrString(reinterpret_cast<ShortcutObject*>(object)->function,
                                "__qualname__");
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ShortcutObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyObject* shortcut_wrapped(PyObject* object, void*) {
  return Py_NewRef(reinterpret_cast<ShortcutObject*>(object)->function);
}

PyGetSetDef properties[] = {{"__wrapped__", shortcut_wrapped, nullptr, "The function.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", shortcut_reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_new, reinterpret_cast<void*>(shortcut_new)},
                       {Py_tp_traverse, reinterpret_cast<void*>(shortcut_traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(shortcut_clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(shortcut_dealloc)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(shortcut_get)},
                       {Py_tp_getattro, reinterpret_cast<void*>(shortcut_getattr)},
                       {Py_tp_setattro, reinterpret_cast<void*>(shortcut_setattr)},
                       {Py_tp_repr, reinterpret_cast<void*>(shortcut_repr)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"tenon._core.Shortcut", sizeof(ShortcutObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_METHOD_DESCRIPTOR,
                    slots};

}  // namespace

bool add_shortcut(PyObject* module) {
  dim_name = PyUnicode_InternFromString("dim");
  const Ref type(PyType_FromSpec(&spec));
  return dim_name != nullptr && type &&
         PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) == 0;
}

}  // namespace tenon::python
