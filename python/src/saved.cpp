#include "saved.hpp"

#include <vector>

#include "guard.hpp"
#include "tangents.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

constexpr const char* kName = "saved_tensors_hooks";

struct Hooks {
  Ref pack, unpack;
};
// Of this thread, the newest last; that one alone is asked.
std::vector<Hooks>& hooks() {
  static thread_local std::vector<Hooks> of_this_thread;
  return of_this_thread;
}

// What stands in a graph for a saved tensor. It lies in the memory of the tensor that the core holds.
struct Kept {
  Ref unpack, value;  // NULL where no hooks were set: then `alias`
  Tensor alias;
  uint32_t version;  // of the alias, as hooks alone may change what is saved
  Tangents::Noted tangents;
};

// Storage may be freed on any thread, with or without the interpreter lock.
void release(void* kept) {
  if (!Py_IsInitialized()) return;  // the interpreter took its objects with it
  const Locked locked;
  delete static_cast<Kept*>(kept);
}

tn_status* pack(void*, tn_tensor* tensor, tn_tensor* alias, tn_tensor** kept) {
  const Locked locked;
  Ref unpack, value;
  if (!hooks().empty()) {
    const Ref callable(Py_NewRef(hooks().back().pack.get()));
    unpack = Ref(Py_NewRef(hooks().back().unpack.get()));
    const Ref given(wrap(tn_tensor_retain(alias)));
    value = Ref(given ? PyObject_CallOneArg(callable.get(), given.get()) : nullptr);
    if (!value) return status_of_exception(kName);
  }
  const bool packed = static_cast<bool>(value);
  auto own = std::make_unique<Kept>(Kept{std::move(unpack), std::move(value),
                                         packed ? Tensor() : Tensor::share(alias),
                                         tn_tensor_version(alias), Tangents::Noted(tensor)});
  tn_status* status =
      tn_tensor_wrap_host(own.get(), TN_DTYPE_U8, 0, nullptr, nullptr, release, own.get(), kept);
  if (status == nullptr) static_cast<void>(own.release());
  return status;
}

tn_status* unpack(void*, tn_tensor* kept, tn_tensor** tensor) {
  const Locked locked;
  const Kept& own = *static_cast<const Kept*>(tn_tensor_data(kept));
  Tensor value = own.alias;
  if (own.value) {
    const Ref found(PyObject_CallOneArg(own.unpack.get(), own.value.get()));
    if (found && !is_tensor(found.get()))
      PyErr_Format(PyExc_TypeError, "[%s] the unpack hook must return a Tensor, not %.200s", kName,
                   Py_TYPE(found.get())->tp_name);
    if (PyErr_Occurred()) return status_of_exception(kName);
    value = tensor_of(found.get());
  } else if (tn_tensor_version(value.get()) != own.version) {
    return tn_status_make(
        TN_FAILED_PRECONDITION,
        detail::to_str(
            "[backward] a tensor needed for the gradient was changed in place after it was saved"));
  }
  tn_status* status = tn_tensor_detach(value.get(), tensor);
  if (status == nullptr) own.tangents.give(Tensor::share(*tensor));
  return status;
}

constexpr tn_saved_hooks kHooks = {sizeof(tn_saved_hooks), 0, nullptr, pack, unpack};

}  // namespace

void choose_saved_hooks() {
  tn_saved_hooks_set(hooks().empty() && Tangents::active().empty() ? nullptr : &kHooks);
}

void add_saved(nb::module_& m) {
  m.def("_push_saved_hooks", [](nb::object pack_hook, nb::object unpack_hook) {
    if (!PyCallable_Check(pack_hook.ptr()) || !PyCallable_Check(unpack_hook.ptr()))
      throw nb::type_error("[saved_tensors_hooks] pack_hook and unpack_hook must be callable");
    hooks().push_back({Ref(pack_hook.release().ptr()), Ref(unpack_hook.release().ptr())});
    choose_saved_hooks();
  });
  m.def("_pop_saved_hooks", [] {
    if (hooks().empty()) throw nb::value_error("[saved_tensors_hooks] none are set");
    hooks().pop_back();
    choose_saved_hooks();
  });
  // (pack, unpack) that calls of this thread use, or None.
  m.def("_saved_hooks", []() -> nb::object {
    if (hooks().empty()) return nb::none();
    return nb::make_tuple(nb::borrow(hooks().back().pack.get()),
                          nb::borrow(hooks().back().unpack.get()));
  });
}

}  // namespace tenon::python
