// Gradients: backward, hooks, functions with a backward of their own.
#include "gradient.hpp"

#include "batch.hpp"
#include "call_layer.hpp"
#include "callback.hpp"
#include "guard.hpp"
#include "overriding.hpp"
#include "tenon/amp/autocast.hpp"
#include "tenon/history.h"
#include "tensor.hpp"

namespace tenon::python {
namespace {

PyObject* wrong_result(const char* what, PyObject* object) {
  return PyErr_Format(PyExc_TypeError, "[%s] must return a Tensor or None, not %.200s", what,
                      Py_TYPE(object)->tp_name);
}

tn_status* run_hook(void* context, tn_tensor* grad, tn_tensor** replacement) {
  const Locked locked;
  const Ref callable(Py_NewRef(static_cast<Callback*>(context)->callable));
  const Ref argument(wrap(tn_tensor_retain(grad)));
  const Ref result(argument ? PyObject_CallOneArg(callable.get(), argument.get()) : nullptr);
  if (result && result.get() != Py_None) {
    if (is_tensor(result.get()))
      *replacement = tn_tensor_retain(handle_of(result.get()));
    else
      wrong_result("hook", result.get());
  }
  return PyErr_Occurred() ? status_of_exception("hook") : nullptr;
}

// None for NULL.
PyObject* tuple_of(tn_tensor* const* tensors, uint32_t count) {
  Ref tuple(PyTuple_New(count));
  for (uint32_t i = 0; tuple && i < count; ++i) {
    PyObject* item = wrap(tn_tensor_retain(tensors[i]));
    if (item == nullptr) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, item);
  }
  return tuple.release();
}

// The gradients that a callable returned for `nresults` inputs.
tn_status* take_gradients(const char* what, PyObject* given, tn_tensor** results,
                          uint32_t nresults) {
  const Ref list(PySequence_Tuple(given));
  if (!list) return status_of_exception(what);
  if (PyTuple_GET_SIZE(list.get()) != static_cast<Py_ssize_t>(nresults)) {
    PyErr_Format(PyExc_ValueError, "[%s] returned %zd gradients for %u inputs", what,
                 PyTuple_GET_SIZE(list.get()), nresults);
    return status_of_exception(what);
  }
  for (uint32_t i = 0; i < nresults; ++i) {
    PyObject* item = PyTuple_GET_ITEM(list.get(), i);
    if (item != Py_None && !is_tensor(item)) {
      for (uint32_t k = 0; k < i; ++k) tn_tensor_release(std::exchange(results[k], nullptr));
      wrong_result(what, item);
      return status_of_exception(what);
    }
    results[i] = item == Py_None ? nullptr : tn_tensor_retain(handle_of(item));
  }
  return nullptr;
}

tn_status* run_backward(void* context, tn_tensor* const* grads, uint32_t ngrads,
                        tn_tensor** results, uint32_t nresults) {
  const char* const what = "Function.backward";
  const Locked locked;
  const Ref callable(Py_NewRef(static_cast<Callback*>(context)->callable));
  const Ref arguments(tuple_of(grads, ngrads));
  const Ref given(arguments ? PyObject_CallOneArg(callable.get(), arguments.get()) : nullptr);
  return given ? take_gradients(what, given.get(), results, nresults) : status_of_exception(what);
}

tn_status* run_step_hook(void* context, tn_tensor* const* passed, uint32_t operands,
                         tn_tensor* const* arrived, uint32_t results, tn_tensor** replacements) {
  const char* const what = "grad_fn.register_hook";
  const Locked locked;
  const Ref callable(Py_NewRef(static_cast<Callback*>(context)->callable));
  const Ref inputs(tuple_of(passed, operands)),
      outputs(inputs ? tuple_of(arrived, results) : nullptr);
  const Ref given(
      outputs ? PyObject_CallFunctionObjArgs(callable.get(), inputs.get(), outputs.get(), nullptr)
              : nullptr);
  if (!given) return status_of_exception(what);
  return given.get() == Py_None ? nullptr
                                : take_gradients(what, given.get(), replacements, operands);
}

// Tensors of a list or tuple; `none` allows None entries. Throws PythonError.
struct Tensors {
  Ref held;
  std::vector<tn_tensor*> handles;
  Tensors(PyObject* object, const char* what, bool none) {
    held = Ref(PySequence_Tuple(object));
    if (!held) throw PythonError();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(held.get(), i);
      if (is_tensor(item)) {
        handles.push_back(handle_of(item));
      } else if (none && item == Py_None) {
        handles.push_back(nullptr);
      } else {
        PyErr_Format(PyExc_TypeError, "[%s] needs Tensors, not %.200s", what,
                     Py_TYPE(item)->tp_name);
        throw PythonError();
      }
    }
  }
  uint32_t size() const { return static_cast<uint32_t>(handles.size()); }
};

// What is called when the outermost backward() of this thread has ended and gradients lie at their leaves.
std::vector<Ref>& put_off() {
  static thread_local std::vector<Ref> of_this_thread;
  return of_this_thread;
}

// A backward pass that accumulates; what it puts off is called where it succeeds, and forgotten where it does not.
class Accumulation {
 public:
  Accumulation() { ++depth(); }
  ~Accumulation() {
    if (--depth() == 0) put_off().clear();
  }
  Accumulation(const Accumulation&) = delete;
  static bool running() { return depth() != 0; }
  // False: one of them raised.
  bool finish() {
    if (depth() != 1) return true;
    for (size_t i = 0; i < put_off().size(); ++i) {
      const Ref callable(Py_NewRef(put_off()[i].get()));
      const Ref result(PyObject_CallNoArgs(callable.get()));
      if (!result) return false;
    }
    return true;
  }

 private:
  static int& depth() {
    static thread_local int of_this_thread = 0;
    return of_this_thread;
  }
};

uint32_t backward_flags(bool retain, bool create, bool unused) {
  return (retain ? TN_BACKWARD_RETAIN_GRAPH : 0u) | (create ? TN_BACKWARD_CREATE_GRAPH : 0u) |
         (unused ? TN_BACKWARD_ALLOW_UNUSED : 0u);
}

}  // namespace

PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                          PyObject* kwnames) {
  static constexpr const char* names[] = {"gradient", "retain_graph", "create_graph"};
  PyObject* given[3] = {Py_None, Py_None, Py_None};
  if (nargs > 3)
    return PyErr_Format(PyExc_TypeError, "[backward] takes at most 3 arguments, not %zd", nargs);
  for (Py_ssize_t i = 0; i < nargs; ++i) given[i] = args[i];
  for (Py_ssize_t k = 0; kwnames != nullptr && k < PyTuple_GET_SIZE(kwnames); ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    int found = -1;
    for (int i = 0; i < 3; ++i)
      if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) found = i;
    if (found < 0) return PyErr_Format(PyExc_TypeError, "[backward] has no argument %R", name);
    given[found] = args[nargs + k];
  }
  if (given[0] != Py_None && !is_tensor(given[0]))
    return PyErr_Format(PyExc_TypeError, "[backward] gradient must be a Tensor or None, not %.200s",
                        Py_TYPE(given[0])->tp_name);
  tn_tensor* const outputs[] = {handle_of(self)};
  tn_tensor* const grads[] = {given[0] == Py_None ? nullptr : handle_of(given[0])};
  const int retain = PyObject_IsTrue(given[1]);
  const int create = retain < 0 ? -1 : PyObject_IsTrue(given[2]);
  if (create < 0) return nullptr;
  const uint32_t flags = backward_flags(retain == 1, create == 1, false);
  Accumulation accumulation;
  tn_status* status = nullptr;
  {
    const Unlocked unlocked(true);
    const amp::detail::AutocastLayer::Paused paused;
    status = tn_backward(outputs, 1, grads, flags);
  }
  if (status != nullptr) return raise_status(status);
  if (!accumulation.finish()) return nullptr;
  Py_RETURN_NONE;
}

PyObject* tensor_detach(PyObject* self, PyObject*) {
  if (may_override()) [[unlikely]]
    if (const Overridden by = take_over("detach", self, nullptr); by.taken) return by.result;
  if (Batch::any_active()) return detached_entry(self);
  tn_tensor* out = nullptr;
  tn_status* status = tn_tensor_detach(handle_of(self), &out);
  return status == nullptr ? wrap(out) : raise_status(status);
}

PyObject* tensor_set_requires_grad(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs > 1 || (nargs == 1 && !PyBool_Check(args[0])))
    return PyErr_Format(PyExc_TypeError, "[requires_grad_] takes True or False");
  tn_status* status =
      tn_tensor_set_requires_grad(Batch::behind(handle_of(self)), nargs == 0 || args[0] == Py_True);
  return status == nullptr ? Py_NewRef(self) : raise_status(status);
}

PyObject* tensor_get_grad(PyObject* self, void*) { return wrap(tn_tensor_grad(handle_of(self))); }

int tensor_set_grad(PyObject* self, PyObject* value, void*) {
  if (value != nullptr && value != Py_None && !is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "grad must be a Tensor or None, not %.200s",
                 Py_TYPE(value)->tp_name);
    return -1;
  }
  tn_tensor* grad = value == nullptr || value == Py_None ? nullptr : handle_of(value);
  tn_status* status = tn_tensor_set_grad(handle_of(self), grad);
  return status == nullptr ? 0 : (raise_status(status), -1);
}

// `add` is a C function that adds hooks to a tensor, `run` what the core calls.
template <class Add, class Run>
PyObject* add_hook(PyObject* self, PyObject* callable, Add add, Run run) {
  if (!PyCallable_Check(callable))
    return PyErr_Format(PyExc_TypeError, "[register_hook] needs a callable, not %.200s",
                        Py_TYPE(callable)->tp_name);
  return guarded([&]() -> PyObject* {
    uint64_t id = 0;
    Callback* callback = make_callback(callable);
    tn_status* status = add(handle_of(self), run, callback, drop_callback, &id);
    if (status != nullptr) {
      delete callback;
      return raise_status(status);
    }
    callback->hook = id;
    own_callback(self, callback);
    return PyLong_FromUnsignedLongLong(id);
  });
}

PyObject* tensor_add_hook(PyObject* self, PyObject* callable) {
  return add_hook(self, callable, tn_tensor_add_hook, run_hook);
}

PyObject* tensor_add_step_hook(PyObject* self, PyObject* callable) {
  return add_hook(self, callable, tn_tensor_add_step_hook, run_step_hook);
}

PyObject* tensor_remove_hook(PyObject* self, PyObject* id) {
  const uint64_t number = PyLong_AsUnsignedLongLong(id);
  if (PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
      PyErr_SetString(PyExc_ValueError, "no such hook");
    return nullptr;
  }
  tn_status* status = tn_tensor_remove_hook(handle_of(self), number);
  if (status != nullptr) return raise_status(status);
  disown_hook(self, number);
  Py_RETURN_NONE;
}

// _gradient(outputs, inputs, grads or None, retain_graph, create_graph, allow_unused) -> list
PyObject* gradient(PyObject*, PyObject* args) {
  PyObject *outputs = nullptr, *inputs = nullptr, *grads = nullptr;
  int retain = 0, create = 0, unused = 0;
  if (!PyArg_ParseTuple(args, "OOOppp:grad", &outputs, &inputs, &grads, &retain, &create, &unused))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensors from(outputs, "grad", false), to(inputs, "grad", false);
    const Ref empty(PyTuple_New(0));
    const Tensors given(grads == Py_None ? empty.get() : grads, "grad", true);
    if (grads != Py_None && given.size() != from.size())
      return PyErr_Format(PyExc_ValueError, "[grad] %u gradients for %u outputs", given.size(),
                          from.size());
    std::vector<tn_tensor*> results(to.size(), nullptr);
    tn_status* status = nullptr;
    {
      const Unlocked unlocked(true);
      const amp::detail::AutocastLayer::Paused paused;
      status = tn_gradient(from.handles.data(), from.size(),
                           grads == Py_None ? nullptr : given.handles.data(), to.handles.data(),
                           to.size(), backward_flags(retain, create, unused), results.data());
    }
    if (status != nullptr) return raise_status(status);
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(results.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      if (list == nullptr)
        tn_tensor_release(results[i]);
      else
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), wrap(results[i]));
    }
    return list;
  });
}

// _backward(outputs, grads or None, retain_graph, create_graph)
PyObject* backward(PyObject*, PyObject* args) {
  PyObject *outputs = nullptr, *grads = nullptr;
  int retain = 0, create = 0;
  if (!PyArg_ParseTuple(args, "OOpp:backward", &outputs, &grads, &retain, &create)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensors from(outputs, "backward", false);
    const Ref empty(PyTuple_New(0));
    const Tensors given(grads == Py_None ? empty.get() : grads, "backward", true);
    if (grads != Py_None && given.size() != from.size())
      return PyErr_Format(PyExc_ValueError, "[backward] %u gradients for %u outputs", given.size(),
                          from.size());
    Accumulation accumulation;
    tn_status* status = nullptr;
    {
      const Unlocked unlocked(true);
      const amp::detail::AutocastLayer::Paused paused;
      status = tn_backward(from.handles.data(), from.size(),
                           grads == Py_None ? nullptr : given.handles.data(),
                           backward_flags(retain, create, false));
    }
    if (status != nullptr) return raise_status(status);
    if (!accumulation.finish()) return nullptr;
    Py_RETURN_NONE;
  });
}

// _record(name, backward, inputs, outputs): ties outputs to inputs through a Python callable.
PyObject* record_function(PyObject*, PyObject* args) {
  const char* name = nullptr;
  Py_ssize_t size = 0;
  PyObject *callable = nullptr, *inputs = nullptr, *outputs = nullptr;
  if (!PyArg_ParseTuple(args, "s#OOO:record", &name, &size, &callable, &inputs, &outputs))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensors from(inputs, name, false), to(outputs, name, false);
    tn_function function{};
    function.struct_size = sizeof(function);
    function.name = {name, static_cast<uint64_t>(size)};
    auto* callback = make_callback(callable);
    function.ctx = callback;
    function.backward = run_backward;
    function.destroy = drop_callback;
    // Owned before it is recorded: the core drops it where that fails.
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(to.held.get()); ++i)
      own_callback(PyTuple_GET_ITEM(to.held.get(), i), callback);
    tn_status* status = tn_function_record(&function, from.handles.data(), from.size(),
                                           to.handles.data(), to.size());
    if (status != nullptr) return raise_status(status);
    Py_RETURN_NONE;
  });
}

// _after_backward(callable) -> whether it will be called, when the backward() that runs has ended; outside of one, and in a pass
// that only gives gradients, it will not.
PyObject* after_backward(PyObject*, PyObject* callable) {
  if (!PyCallable_Check(callable))
    return PyErr_Format(PyExc_TypeError, "[after_backward] needs a callable, not %.200s",
                        Py_TYPE(callable)->tp_name);
  return guarded([&] {
    if (Accumulation::running()) put_off().emplace_back(Py_NewRef(callable));
    return PyBool_FromLong(Accumulation::running());
  });
}

// _accumulate(callable): calls it as a backward() whose gradients it accumulates itself; what that puts off is called after it.
PyObject* accumulate(PyObject*, PyObject* callable) {
  return guarded([&]() -> PyObject* {
    Accumulation accumulation;
    const Ref result(PyObject_CallNoArgs(callable));
    if (!result || !accumulation.finish()) return nullptr;
    Py_RETURN_NONE;
  });
}

// _set_modes(set, clear) -> the previous modes
PyObject* set_modes(PyObject*, PyObject* args) {
  unsigned set = 0, clear = 0;
  if (!PyArg_ParseTuple(args, "II:set_modes", &set, &clear)) return nullptr;
  const uint32_t before = tn_mode_get();
  tn_mode_set((before | set) & ~clear);
  return PyLong_FromUnsignedLong(before);
}
PyObject* restore_modes(PyObject*, PyObject* modes) {
  const unsigned long value = PyLong_AsUnsignedLong(modes);
  if (PyErr_Occurred()) return nullptr;
  tn_mode_set(static_cast<uint32_t>(value));
  Py_RETURN_NONE;
}
PyObject* count_anomaly_scopes(PyObject*, PyObject* change) {
  const long value = PyLong_AsLong(change);
  if (PyErr_Occurred()) return nullptr;
  anomaly_scopes += static_cast<int>(value);
  Py_RETURN_NONE;
}
PyObject* get_modes(PyObject*, PyObject*) { return PyLong_FromUnsignedLong(tn_mode_get()); }

}  // namespace tenon::python
