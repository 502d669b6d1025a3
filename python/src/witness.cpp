#include "witness.hpp"

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "call_layer.hpp"
#include "guard.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

tn_status* no_memory() {
  return tn_status_make(TN_OUT_OF_MEMORY, detail::to_str("[checkpoint] no memory"));
}

// Lets calls pass and notes each tensor that requires a gradient, once.
class Witness : public CallLayer {
 public:
  Witness() : CallLayer(this) {
    table_.call = [](void* self, const tn_op*, const tn_value* args, uint32_t nargs, tn_tensor**,
                     uint32_t,
                     uint32_t*) { return static_cast<Witness*>(self)->note(args, nargs); };
    table_.call_into = [](void* self, const tn_op*, const tn_value* args, uint32_t nargs,
                          tn_tensor* const*, uint32_t,
                          uint32_t*) { return static_cast<Witness*>(self)->note(args, nargs); };
  }
  // In the order in which they were used.
  nb::list tensors() const {
    nb::list found;
    for (const Tensor& x : tensors_) found.append(nb::steal(wrap(x)));
    return found;
  }

 private:
  tn_status* note(const tn_value* args, uint32_t nargs) {
    try {
      for (uint32_t i = 0; i < nargs; ++i) {
        if (args[i].tag == TN_VALUE_TENSOR) note(args[i].as.tensor);
        for (uint32_t k = 0; args[i].tag == TN_VALUE_TENSORS && k < args[i].count; ++k)
          if (args[i].as.tensors[k] != nullptr) note(args[i].as.tensors[k]);
      }
      return nullptr;
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  }
  void note(tn_tensor* x) {
    if (tn_tensor_requires_grad(x) == 0 || !known_.insert(x).second) return;
    tensors_.push_back(Tensor::share(x));  // held: its address stays its own
  }

  std::unordered_set<const tn_tensor*> known_;
  std::vector<Tensor> tensors_;
};

// Calls get other tensors in the place of some.
class Substitution : public CallLayer {
 public:
  Substitution(const nb::list& tensors, const nb::list& others) : CallLayer(this) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      held_.push_back(tensor_of(tensors[i].ptr()));
      held_.push_back(tensor_of(others[i].ptr()));
      other_[held_[2 * i].get()] = held_[2 * i + 1].get();
    }
    table_.call = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs,
                     tn_tensor** outs, uint32_t nouts, uint32_t* done) -> tn_status* {
      return static_cast<Substitution*>(self)->changed(args, nargs, [&](const tn_value* changed) {
        *done = 1;
        return tn_op_call(op, changed, nargs, outs, nouts);
      });
    };
    table_.call_into = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs,
                          tn_tensor* const* outs, uint32_t nouts, uint32_t* done) -> tn_status* {
      return static_cast<Substitution*>(self)->changed(args, nargs, [&](const tn_value* changed) {
        *done = 1;
        return tn_op_call_into(op, changed, nargs, outs, nouts);
      });
    };
  }

 private:
  // call(args) with the others in their places; nothing where there are none.
  template <class Call>
  tn_status* changed(const tn_value* args, uint32_t nargs, Call&& call) {
    try {
      std::vector<tn_value> values(args, args + nargs);
      std::vector<std::vector<tn_tensor*>> lists(nargs);
      bool any = false;
      const auto swap = [&](tn_tensor*& x) {
        const auto found = other_.find(x);
        if (found == other_.end()) return;
        x = found->second;
        any = true;
      };
      for (uint32_t i = 0; i < nargs; ++i) {
        tn_value& value = values[i];
        if (value.tag == TN_VALUE_TENSOR) swap(value.as.tensor);
        if (value.tag != TN_VALUE_TENSORS) continue;
        lists[i].assign(value.as.tensors, value.as.tensors + value.count);
        for (tn_tensor*& x : lists[i]) swap(x);
        value.as.tensors = lists[i].data();
      }
      return any ? call(values.data()) : nullptr;
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  }

  std::vector<Tensor> held_;
  std::unordered_map<const tn_tensor*, tn_tensor*> other_;
};

}  // namespace

void add_witness(nb::module_& m) {
  // Names a tensor by what all its Python objects share.
  m.def("_handle", [](nb::handle x) { return reinterpret_cast<uintptr_t>(handle_of(x.ptr())); });
  nb::class_<Witness>(m, "_Witness")
      .def(nb::init<>())
      .def("enter", &Witness::enter)
      .def("leave", &Witness::leave)
      .def("tensors", &Witness::tensors);
  nb::class_<Substitution>(m, "_Substitution")
      .def(nb::init<nb::list, nb::list>())
      .def("enter", &Substitution::enter)
      .def("leave", &Substitution::leave);
}

}  // namespace tenon::python
