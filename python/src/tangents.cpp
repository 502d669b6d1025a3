#include "tangents.hpp"

#include <algorithm>
#include <atomic>

#include "saved.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

constexpr const char* kName = "jvp";

std::vector<Tangents*>& levels() {
  static thread_local std::vector<Tangents*> of_this_thread;
  return of_this_thread;
}

uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

Tangents::Tangents(nb::object rule)
    : RuleLayer(kName, std::move(rule), nb::list()), number_(next_number()) {}

void Tangents::enter() {
  CallLayer::enter();
  levels().push_back(this);
  choose_saved_hooks();
}

void Tangents::leave() {
  CallLayer::leave();
  std::erase(levels(), this);
  choose_saved_hooks();
}

void Tangents::set(nb::handle x, nb::handle tangent) {
  const Tensor tensor = Tensor::share(checked_tensor(x, kName));
  if (tangent.is_none())
    known_.erase(tensor.get());
  else
    known_[tensor.get()] = {tensor, Tensor::share(checked_tensor(tangent, kName))};
}

const Tensor* Tangents::tangent_of(const tn_tensor* x) const {
  const auto found = known_.find(x);
  return found == known_.end() || !found->second.tangent.defined() ? nullptr
                                                                   : &found->second.tangent;
}

nb::object Tangents::get(nb::handle x) const {
  const Tensor* tangent = tangent_of(checked_tensor(x, kName));
  return tangent == nullptr ? nb::none() : nb::steal(wrap(*tangent));
}

void Tangents::prepare_write(const Tensor& x, const Tensor& values) {
  if (!is_floating(x.dtype()) && !is_complex(x.dtype())) return;
  for (Tangents* level : levels()) {
    if (level->tangent_of(values.get()) == nullptr || level->tangent_of(x.get()) != nullptr)
      continue;
    const NoGrad unrecorded;
    // Made of the values' tangent: where that stands for a batch, so do the zeros.
    const Tensor any = level->tangent_of(values.get())->reshape({-1}).slice(0, 0, 1);
    const Tensor zero = any.numel() == 0 ? zeros({}, x.dtype(), x.device())
                                         : full_like(any.select(0, 0).to(x.dtype()), 0);
    level->known_[x.get()] = {x, clone(expand(zero, x.shape()).contiguous())};
  }
}

const std::vector<Tangents*>& Tangents::active() { return levels(); }

bool Tangents::any_of(std::span<tn_tensor* const> tensors) {
  return std::ranges::any_of(levels(), [&](const Tangents* level) {
    return std::ranges::any_of(tensors,
                               [&](tn_tensor* x) { return level->tangent_of(x) != nullptr; });
  });
}

Tangents::Noted::Noted(tn_tensor* x) : x_(x) {
  for (Tangents* level : levels()) {
    level->known_.try_emplace(x, Known{Tensor::share(x), Tensor()});
    levels_.push_back(level->number_);
  }
}

void Tangents::Noted::give(const Tensor& x) const {
  for (Tangents* level : levels()) {
    if (std::ranges::find(levels_, level->number_) == levels_.end()) continue;
    const Tensor* tangent = level->tangent_of(x_);
    if (tangent != nullptr) level->known_[x.get()] = {x, *tangent};
  }
}

PyObject* Tangents::shown(tn_tensor* x, PyObject** mark) const {
  const Tensor* tangent = tangent_of(x);
  *mark = tangent == nullptr ? Py_NewRef(Py_None) : wrap(*tangent);
  return x == nullptr ? Py_NewRef(Py_None) : wrap(tn_tensor_retain(x));
}

Tensor Tangents::taken(nb::handle pair) {
  const nb::object y = pair[0], tangent = pair[1];
  set(y, tangent);
  return Tensor::share(handle_of(y.ptr()));
}

void add_tangents(nb::module_& m) {
  nb::class_<Tangents>(m, "_Tangents")
      .def(nb::init<nb::object>())
      .def("enter", &Tangents::enter)
      .def("leave", &Tangents::leave)
      .def("set_on", &Tangents::set_on)
      .def("set", &Tangents::set, nb::arg("x"), nb::arg("tangent").none())
      .def("get", &Tangents::get);
  m.def("_share_memory", [](nb::handle x, nb::handle y) {
    return tn_tensor_shares_storage(checked_tensor(x, kName), checked_tensor(y, kName)) != 0;
  });
  m.def("_has_tangents", [] { return !Tangents::active().empty(); });
}

}  // namespace tenon::python
