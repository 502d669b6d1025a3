#include "op.hpp"

#include <structmember.h>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "overriding.hpp"

namespace tenon::python {
namespace {

constexpr uint32_t kMaxResults = 8;

struct OpObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const tn_op* op;
  const Schema* schema;
  PyObject *name, *doc, *result_type;
  bool in_place;
};

PyTypeObject* op_type = nullptr;

// x.sort() gives (values, indices): a named tuple made when it is first needed.
PyObject* make_result_type(const Schema& schema) {
  const Ref collections(PyImport_ImportModule("collections"));
  if (!collections) return nullptr;
  const Ref names(PyList_New(0));
  if (!names) return nullptr;
  for (const std::string& result : schema.results) {
    const Ref name(PyUnicode_FromString(result.c_str()));
    if (!name || PyList_Append(names.get(), name.get()) < 0) return nullptr;
  }
  std::string type_name = schema.name + "_result";
  for (char& c : type_name)
    if (c == '.') c = '_';
  return PyObject_CallMethod(collections.get(), "namedtuple", "sO", type_name.c_str(), names.get());
}

PyObject* wrap_results(OpObject* self, tn_tensor** outs, uint32_t count) {
  if (self->result_type == nullptr) self->result_type = make_result_type(*self->schema);
  if (self->result_type == nullptr) {
    for (uint32_t i = 0; i < count; ++i) tn_tensor_release(outs[i]);
    return nullptr;
  }
  PyObject* items[kMaxResults + 1] = {nullptr};
  bool good = true;
  for (uint32_t i = 0; i < count; ++i) {
    items[i] = wrap(outs[i]);
    good = good && items[i] != nullptr;
  }
  PyObject* result = good ? PyObject_Vectorcall(self->result_type, items, count, nullptr) : nullptr;
  for (uint32_t i = 0; i < count; ++i) Py_XDECREF(items[i]);
  return result;
}

// An op whose last result is a list: a tuple of all results.
PyObject* call_list(OpObject* self, const Arguments& arguments) {
  uint32_t count = 0;
  std::vector<tn_tensor*> outs;
  tn_status* status = tn_op_result_count(self->op, arguments.values, arguments.count, &count);
  if (status == nullptr) {
    outs.resize(count);
    const Unlocked unlocked(arguments.elements >= kUnlockElements);
    status = tn_op_call(self->op, arguments.values, arguments.count, outs.data(), count);
  }
  if (status != nullptr) return raise_status(status);
  PyObject* results = PyTuple_New(static_cast<Py_ssize_t>(count));
  for (uint32_t k = 0; k < count; ++k) {
    if (results == nullptr) {
      tn_tensor_release(outs[k]);
    } else if (PyObject* result = wrap(outs[k])) {
      PyTuple_SET_ITEM(results, static_cast<Py_ssize_t>(k), result);
    } else {
      Py_CLEAR(results);
    }
  }
  return results;
}

PyObject* call_into(OpObject* self, Arguments& arguments, PyObject* target) {
  if (!is_tensor(target))
    return PyErr_Format(PyExc_TypeError, "[%s] out must be a Tensor, not %.200s",
                        self->schema->name.c_str(), Py_TYPE(target)->tp_name);
  if (self->schema->results.size() != 1 || self->schema->list_result)
    return PyErr_Format(
        PyExc_TypeError, "[%s] takes no out: it has %s results", self->schema->name.c_str(),
        self->schema->list_result ? "a list of"
                                  : std::to_string(self->schema->results.size()).c_str());
  tn_tensor* const outs[] = {handle_of(target)};
  tn_status* status = nullptr;
  {
    const Unlocked unlocked(arguments.elements >= kUnlockElements ||
                            tn_tensor_numel(outs[0]) >= kUnlockElements);
    status = tn_op_call_into(self->op, arguments.values, arguments.count, outs, 1);
  }
  return status != nullptr ? raise_status(status) : Py_NewRef(target);
}

// A call with a keyword that the op has not: that of PyTorch's function of its name, if that has it. An exception is set.
PyObject* call_pytorchs(OpObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref module(PyImport_ImportModule("tenon._generous"));
  const Ref function(
      module ? PyObject_CallMethod(module.get(), "pytorchs", "OO", self->name, kwnames) : nullptr);
  if (function && function.get() == Py_None) {
    PyErr_Restore(type, value, traceback);
    return nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return function ? PyObject_Vectorcall(function.get(), args, nargsf, kwnames) : nullptr;
}

// Raises what a status reports; of a call without any tensor, that there should be one.
PyObject* raise_call(tn_status* status, const Schema& schema, const Arguments& arguments) {
  const auto is_tensors = [](const tn_value& value) {
    return value.tag == TN_VALUE_TENSOR || value.tag == TN_VALUE_TENSORS;
  };
  if (schema.parameters.empty() || schema.parameters[0].kind != Kind::Tensor ||
      std::any_of(arguments.values, arguments.values + arguments.count, is_tensors))
    return raise_status(status);
  const tn_str message = tn_status_message(status);
  raise_as("ArgumentTypeError", {message.data, message.size});
  tn_status_release(status);
  return nullptr;
}

PyObject* op_call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* self = reinterpret_cast<OpObject*>(object);
  try {
    Arguments arguments;
    const Schema& schema = *self->schema;
    const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
    if (may_override()) [[unlikely]]
      if (const Overridden by = take_over(object, args, nargs, kwnames); by.taken) return by.result;
    if (!arguments.parse(schema, args, nargs, kwnames)) {
      if (const Overridden by = take_over_unread(object, args, nargs, kwnames); by.taken)
        return by.result;
      return !self->in_place && has_unknown_name(schema, kwnames)
                 ? call_pytorchs(self, args, nargsf, kwnames)
                 : nullptr;
    }
    if (self->in_place) {
      if (nargs == 0)
        return PyErr_Format(PyExc_TypeError, "[%s] in place: the tensor comes first",
                            schema.name.c_str());
      return call_into(self, arguments, args[0]);
    }
    if (arguments.out != nullptr && arguments.out != Py_None)
      return call_into(self, arguments, arguments.out);
    if (schema.list_result) return call_list(self, arguments);
    const uint32_t nouts = static_cast<uint32_t>(schema.results.size());
    tn_tensor* outs[kMaxResults];
    tn_status* status = nullptr;
    {
      // Without an operand nothing tells how much there is to do.
      const bool creates = schema.parameters.empty() || schema.parameters[0].kind != Kind::Tensor;
      const Unlocked unlocked(creates || arguments.elements >= kUnlockElements);
      status = tn_op_call(self->op, arguments.values, arguments.count, outs, nouts);
    }
    if (status != nullptr) return raise_call(status, schema, arguments);
    if (nouts == 1) return wrap(outs[0]);
    if (nouts == 0) Py_RETURN_NONE;
    return wrap_results(self, outs, nouts);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

void op_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<OpObject*>(object);
  PyTypeObject* type = Py_TYPE(object);
  delete self->schema;
  Py_XDECREF(self->name);
  Py_XDECREF(self->doc);
  Py_XDECREF(self->result_type);
  PyObject_Free(object);
  Py_DECREF(type);
}
PyObject* op_get(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self)
                                                    : PyMethod_New(self, instance);
}
PyObject* op_repr(PyObject* self) {
  const auto* op = reinterpret_cast<OpObject*>(self);
  return PyUnicode_FromFormat("<op %s%s>", op->schema->text.c_str(),
                              op->in_place ? ", in place" : "");
}
PyObject* op_get_schema(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<OpObject*>(self)->schema->text.c_str());
}
PyObject* op_get_differentiable(PyObject* self, void*) {
  return PyBool_FromLong(tn_op_is_differentiable(reinterpret_cast<OpObject*>(self)->op));
}
PyObject* op_get_parameters(PyObject* self, void*) {
  const Schema& schema = *reinterpret_cast<OpObject*>(self)->schema;
  PyObject* list = PyTuple_New(static_cast<Py_ssize_t>(schema.parameters.size()));
  for (size_t i = 0; list != nullptr && i < schema.parameters.size(); ++i) {
    const Parameter& p = schema.parameters[i];
    const std::string type = p.text.substr(0, p.text.find(' '));
    PyObject* item = Py_BuildValue(
        "(OsN)", p.name, type.c_str(),
        p.has_default ? PyUnicode_FromString(p.default_text.c_str()) : Py_NewRef(Py_None));
    if (item == nullptr)
      Py_CLEAR(list);
    else
      PyTuple_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
  }
  return list;
}
PyObject* op_get_results(PyObject* self, void*) {
  const Schema& schema = *reinterpret_cast<OpObject*>(self)->schema;
  PyObject* list = PyTuple_New(static_cast<Py_ssize_t>(schema.results.size()));
  for (size_t i = 0; list != nullptr && i < schema.results.size(); ++i)
    PyTuple_SET_ITEM(list, static_cast<Py_ssize_t>(i),
                     PyUnicode_FromString(schema.results[i].c_str()));
  return list;
}
// From Python, when somebody asks: texts and signatures are no part of the import.
PyObject* op_ask(PyObject* self, const char* function) {
  const Ref module(PyImport_ImportModule("tenon._signature"));
  return module ? PyObject_CallMethod(module.get(), function, "O", self) : nullptr;
}
PyObject* op_get_signature(PyObject* self, void*) { return op_ask(self, "signature"); }
PyObject* op_get_text(PyObject* self, void* which) {
  const auto* op = reinterpret_cast<OpObject*>(self);
  PyObject* text = which != nullptr ? op->doc : op->name;
  if (text == nullptr) return op_ask(self, "docstring");
  return Py_NewRef(text);
}
int op_set_doc(PyObject* self, PyObject* text, void*) {
  auto* op = reinterpret_cast<OpObject*>(self);
  Py_XDECREF(std::exchange(op->doc, Py_XNewRef(text)));
  return 0;
}
PyObject* op_get_module(PyObject*, void*) { return PyUnicode_FromString("tenon"); }
// By its name: the ops of the process that loads it are meant.
PyObject* op_reduce(PyObject* self, PyObject*) {
  const Ref module(PyImport_ImportModule("tenon._devices"));
  const Ref find(module ? PyObject_GetAttrString(module.get(), "_op") : nullptr);
  const auto* op = reinterpret_cast<OpObject*>(self);
  return find ? Py_BuildValue("O(sO)", find.get(), op->schema->name.c_str(),
                              op->in_place ? Py_True : Py_False)
              : nullptr;
}

PyGetSetDef op_properties[] = {
    {"__name__", op_get_text, nullptr, nullptr, nullptr},
    {"__qualname__", op_get_text, nullptr, nullptr, nullptr},
    {"__module__", op_get_module, nullptr, nullptr, nullptr},
    {"__doc__", op_get_text, op_set_doc, nullptr, op_properties},
    {"__signature__", op_get_signature, nullptr, nullptr, nullptr},
    {"schema", op_get_schema, nullptr, "The op's line in the table, without its revision.",
     nullptr},
    {"parameters", op_get_parameters, nullptr,
     "(name, type, default as text or None) of each argument.", nullptr},
    {"results", op_get_results, nullptr, "Names of the results; an unnamed one is ''.", nullptr},
    {"is_differentiable", op_get_differentiable, nullptr, "Whether gradients flow through it.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr},
                            {nullptr, nullptr, 0, nullptr}};
PyType_Slot op_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                          {Py_tp_dealloc, reinterpret_cast<void*>(op_dealloc)},
                          {Py_tp_descr_get, reinterpret_cast<void*>(op_get)},
                          {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
                          {Py_tp_getset, op_properties},
                          {Py_tp_members, op_members},
                          {Py_tp_methods, op_methods},
                          {0, nullptr}};
PyType_Spec op_spec = {"tenon._core.Op", sizeof(OpObject), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                           Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                       op_slots};

PyObject* make_op(const tn_op* op, bool in_place) {
  const tn_str name = tn_op_name(op), text = tn_op_schema(op);
  try {
    auto schema =
        std::make_unique<Schema>(parse_schema({name.data, name.size}, {text.data, text.size}));
    if (schema->results.size() > kMaxResults) throw std::runtime_error("too many results");
    auto* self = PyObject_New(OpObject, op_type);
    if (self == nullptr) return nullptr;
    self->vectorcall = op_call;
    self->op = op;
    self->name = PyUnicode_FromFormat("%s%s", schema->name.c_str(), in_place ? "_" : "");
    self->doc = nullptr;
    self->result_type = nullptr;
    self->in_place = in_place;
    self->schema = schema.release();
    return reinterpret_cast<PyObject*>(self);
  } catch (const std::exception& error) {
    return PyErr_Format(PyExc_RuntimeError, "[%.*s] %s", static_cast<int>(name.size), name.data,
                        error.what());
  }
}

PyObject* find_op(PyObject*, PyObject* args) {
  const char* name = nullptr;
  Py_ssize_t size = 0;
  int in_place = 0;
  if (!PyArg_ParseTuple(args, "s#|p:op", &name, &size, &in_place)) return nullptr;
  const tn_op* op = nullptr;
  tn_status* status = tn_op_require({name, static_cast<uint64_t>(size)}, &op);
  return status != nullptr ? raise_status(status) : make_op(op, in_place != 0);
}
PyMethodDef functions[] = {{"op", find_op, METH_VARARGS,
                            "op(name, in_place=False)\n\nThe op of a name, those of plugins "
                            "included. Raises NotFoundError, which suggests the nearest."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

const tn_op* require_op(const char* name) { return tn_op_find({name, __builtin_strlen(name)}); }

bool add_ops(PyObject* module) {
  op_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&op_spec));
  if (op_type == nullptr || PyModule_AddType(module, op_type) < 0) return false;
  if (PyModule_AddFunctions(module, functions) < 0) return false;
  const Ref all(PyDict_New());
  if (!all) return false;
  for (uint32_t i = 0, n = tn_op_count(); i < n; ++i) {
    const Ref op(make_op(tn_op_at(i), false));
    if (!op || PyDict_SetItem(all.get(), reinterpret_cast<OpObject*>(op.get())->name, op.get()) < 0)
      return false;
  }
  return PyModule_AddObjectRef(module, "ops", all.get()) == 0;
}

}  // namespace tenon::python
