// The call of a recorded program. Where tensors alone come and go, it leads to the core at once; what else arguments may be is the business
// of Program._call.
#include "program.hpp"

#include <structmember.h>

#include <array>

#include "batch.hpp"
#include "bound.hpp"
#include "tangents.hpp"
#include "tenon/graph.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

constexpr uint32_t kMostTensors = 32;  // of inputs, and of results

struct ProgramObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  tn_program* program;  // NULL: _call runs it
  uint32_t inputs, results;
  bool brief;  // a run takes less than to let go of the interpreter lock
};

uint64_t bytes_of(const tn_program_value& value) {
  uint64_t bytes = tn_dtype_size(value.dtype);
  for (uint32_t d = 0; d < value.ndim; ++d) bytes *= static_cast<uint64_t>(value.shape[d]);
  return bytes;
}

// Kernels that run without a call, over little memory, and wait for no other run.
bool is_brief(const graph::Program& program, const tn_program_info& info) {
  if (info.bound != info.nodes || info.state != 0 || info.written != 0 || info.numbers != 0 ||
      info.dims != 0)
    return false;
  uint64_t bytes = info.arena + info.weights;
  tn_program_value value{};
  value.struct_size = sizeof value;
  for (uint32_t i = 0; i < info.inputs; ++i) {
    detail::check(tn_program_input(program.get(), i, &value));
    bytes += bytes_of(value);
  }
  for (uint32_t k = 0; k < info.results; ++k) {
    detail::check(tn_program_result(program.get(), k, &value));
    bytes += bytes_of(value);
  }
  return info.nodes * bytes <= static_cast<uint64_t>(kUnlockElements) * sizeof(float);
}

PyObject* given_back(tn_tensor** results, uint32_t count) {
  if (count == 1) return wrap(results[0]);
  Ref made(PyTuple_New(count));
  for (uint32_t k = 0; k < count; ++k) {
    PyObject* one = made ? wrap(results[k]) : nullptr;
    if (one != nullptr) {
      PyTuple_SET_ITEM(made.get(), k, one);
    } else if (made) {
      made = Ref();
    } else {
      tn_tensor_release(results[k]);
    }
  }
  return made.release();
}

PyObject* call_method(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  static PyObject* const name = PyUnicode_InternFromString("_call");
  const Ref method(PyObject_GetAttr(self, name));
  return method ? PyObject_Vectorcall(method.get(), args, nargsf, kwnames) : nullptr;
}

PyObject* program_call(PyObject* object, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* const self = reinterpret_cast<ProgramObject*>(object);
  const auto count = static_cast<uint32_t>(PyVectorcall_NARGS(nargsf));
  bool plain = self->program != nullptr && kwnames == nullptr && count == self->inputs;
  tn_tensor *inputs[kMostTensors], *results[kMostTensors];
  for (uint32_t i = 0; plain && i < count; ++i) {
    plain = is_tensor(args[i]);
    if (plain) inputs[i] = handle_of(args[i]);
  }
  if (!plain || Batch::any_active() || Tangents::any_of({inputs, count}))
    return call_method(object, args, nargsf, kwnames);
  tn_status* status = nullptr;
  {
    const Unlocked unlocked(!self->brief);
    status = tn_program_run(self->program, inputs, count, results, self->results);
  }
  return status == nullptr ? given_back(results, self->results) : raise_status(status);
}

// From now on calls with as many tensors as it has inputs run `program`; its results are one tensor or a tuple.
PyObject* set_program(PyObject* object, PyObject* program) {
  return guarded([&]() -> PyObject* {
    const auto& given = nb::cast<const graph::Program&>(nb::handle(program));
    const tn_program_info info = given.info();
    if (info.inputs > kMostTensors || info.results > kMostTensors) Py_RETURN_NONE;
    auto* const self = reinterpret_cast<ProgramObject*>(object);
    self->brief = is_brief(given, info);
    self->inputs = info.inputs, self->results = info.results;
    tn_program_release(self->program);
    self->program = tn_program_retain(given.get());
    Py_RETURN_NONE;
  });
}

PyObject* program_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self != nullptr) reinterpret_cast<ProgramObject*>(self)->vectorcall = program_call;
  return self;
}

void program_dealloc(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  tn_program_release(reinterpret_cast<ProgramObject*>(object)->program);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef methods[] = {{"_set_program", set_program, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ProgramObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(program_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(program_dealloc)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"tenon._core._ProgramCall", sizeof(ProgramObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

bool add_program_type(PyObject* module) {
  const Ref type(PyType_FromSpec(&spec));
  return type && PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) == 0;
}

}  // namespace tenon::python
