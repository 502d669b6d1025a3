// Whether what a recorded function depends on is what it was: compared object by object, some nanoseconds each, before every run.
#include <nanobind/stl/vector.h>

#include "batch.hpp"
#include "bound.hpp"
#include "graph.hpp"
#include "tangents.hpp"
#include "tenon/amp/autocast.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

using amp::detail::AutocastLayer;

bool wants_gradient(PyObject* value) {
  return is_tensor(value) && tn_tensor_requires_grad(handle_of(value)) != 0;
}

// see(value) of all that a dict, list, tuple or cell holds, or of the entry that a pair (dict, key) names, until it says no.
template <class See>
bool each(PyObject* holder, See&& see) {
  if (PyDict_Check(holder)) {
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(holder, &at, &key, &value))
      if (!see(value)) return false;
    return true;
  }
  if (PyCell_Check(holder)) return see(PyCell_GET(holder));
  if (PyTuple_Check(holder))
    return see(PyDict_GetItem(PyTuple_GET_ITEM(holder, 0), PyTuple_GET_ITEM(holder, 1)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(holder); ++i)
    if (!see(PyList_GET_ITEM(holder, i))) return false;
  return true;
}

// What a recorded function was given and found around it. It owns none of these objects, so that the garbage collector sees them where
// Python does: who makes it keeps holders and held().
class Guard {
 public:
  // `read`: tensors that hold the elements which they hold now. `places`: for each dimension of each tensor the index of the dim that its
  // size is, or -1; `dims`: (name, min, max, multiple) of each. Without them sizes are fixed.
  Guard(const nb::list& holders, const nb::sequence& tensors, const nb::list& read,
        const std::vector<std::vector<int32_t>>& places, const nb::list& dims)
      : modes_(tn_mode_get()) {
    for (const nb::handle dim : dims)
      ranges_.push_back({nb::cast<int64_t>(dim[1]),
                         dim[2].is_none() ? INT64_MAX : nb::cast<int64_t>(dim[2]),
                         nb::cast<int64_t>(dim[3])});
    sizes_.resize(ranges_.size());
    for (const nb::handle one : read) {
      if (!is_tensor(one.ptr())) throw nb::type_error("[graph] a Tensor is wanted");
      read_.push_back(Tensor::share(handle_of(one.ptr())));
    }
    versions_ = versions();
    for (const nb::handle holder : holders) {
      PyObject* const h = holder.ptr();
      const bool pair =
          PyTuple_Check(h) && PyTuple_GET_SIZE(h) == 2 && PyDict_Check(PyTuple_GET_ITEM(h, 0));
      if (!pair && !PyDict_Check(h) && !PyList_Check(h) && !PyCell_Check(h))
        throw nb::type_error("[graph] a dict, list, cell or pair is wanted");
      Held& held = held_.emplace_back(Held{h, {}});
      each(h, [&](PyObject* value) {
        held.seen.push_back({value, value != nullptr && wants_gradient(value)});
        return true;
      });
    }
    for (const nb::handle one : tensors) {
      if (!is_tensor(one.ptr())) throw nb::type_error("[graph] a Tensor is wanted");
      const tn_tensor* tensor = handle_of(one.ptr());
      const tn_view& view = *tn_tensor_view(tensor);
      tensors_.push_back({view.dtype,
                          tn_tensor_device(tensor),
                          {view.shape, view.shape + view.ndim},
                          std::vector<int32_t>(view.ndim, -1),
                          tn_tensor_requires_grad(tensor)});
    }
    if (!places.empty()) set_places(places);
  }
  nb::list held() const {
    nb::list all;
    for (const Held& held : held_)
      for (const Seen& seen : held.seen)
        if (seen.value != nullptr) all.append(nb::borrow(seen.value));
    return all;
  }
  // The same objects, under the same modes, and tensors like those in a tuple or list.
  bool fits(const nb::handle tensors) {
    const bool good = tn_mode_get() == modes_ && !Batch::any_active() &&
                      Tangents::active().empty() && !AutocastLayer::of_this_thread().active() &&
                      like(tensors) && unchanged() && versions() == versions_;
    fitted_ += good;
    return good;
  }
  // How often fits() was true.
  uint64_t fitted() const { return fitted_; }

 private:
  struct Seen {
    PyObject* value;
    bool wants_gradient;
  };
  struct Held {
    PyObject* holder;
    std::vector<Seen> seen;
  };
  struct Like {
    tn_dtype dtype;
    tn_device* device;
    std::vector<int64_t> shape;
    std::vector<int32_t> places;  // of sizes that vary
    uint32_t wants_gradient;
  };
  struct Range {
    int64_t least, most, multiple;
  };
  void set_places(const std::vector<std::vector<int32_t>>& places) {
    const auto count = static_cast<int32_t>(ranges_.size());
    bool good = places.size() == tensors_.size();
    for (size_t i = 0; good && i < places.size(); ++i) {
      good = places[i].size() == tensors_[i].shape.size() &&
             std::ranges::all_of(places[i], [&](int32_t at) { return at >= -1 && at < count; });
      tensors_[i].places = places[i];
    }
    if (!good) throw nb::type_error("[graph] a place for each dimension is wanted");
  }
  bool unchanged() const {
    for (const Held& held : held_) {
      size_t at = 0;
      const bool good = each(held.holder, [&](PyObject* value) {
        const size_t i = at++;
        return i < held.seen.size() && held.seen[i].value == value &&
               (value == nullptr || held.seen[i].wants_gradient == wants_gradient(value));
      });
      if (!good || at != held.seen.size()) return false;
    }
    return true;
  }
  bool like(const nb::handle given) {
    PyObject* const all = given.ptr();
    if (!PyTuple_Check(all) && !PyList_Check(all)) return false;
    if (static_cast<size_t>(PySequence_Fast_GET_SIZE(all)) != tensors_.size()) return false;
    std::ranges::fill(sizes_, -1);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      PyObject* one = PySequence_Fast_GET_ITEM(all, static_cast<Py_ssize_t>(i));
      if (!is_tensor(one)) return false;
      const tn_tensor* tensor = handle_of(one);
      const tn_view& view = *tn_tensor_view(tensor);
      const Like& known = tensors_[i];
      if (view.dtype != known.dtype || tn_tensor_device(tensor) != known.device ||
          !fits_sizes({view.shape, view.ndim}, known) ||
          tn_tensor_requires_grad(tensor) != known.wants_gradient)
        return false;
    }
    return true;
  }
  bool fits_sizes(std::span<const int64_t> shape, const Like& known) {
    if (shape.size() != known.shape.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (known.places[d] < 0) {
        if (shape[d] != known.shape[d]) return false;
        continue;
      }
      const auto at = static_cast<size_t>(known.places[d]);
      const Range& range = ranges_[at];
      if (sizes_[at] >= 0 && sizes_[at] != shape[d]) return false;
      if (shape[d] < range.least || shape[d] > range.most || shape[d] % range.multiple != 0)
        return false;
      sizes_[at] = shape[d];
    }
    return true;
  }

  // Versions only grow, so their sum changes with every write.
  uint64_t versions() const {
    uint64_t sum = 0;
    for (const Tensor& one : read_) sum += tn_tensor_version(one.get());
    return sum;
  }

  uint32_t modes_;
  std::vector<Held> held_;
  std::vector<Like> tensors_;
  std::vector<Range> ranges_;   // by dim
  std::vector<int64_t> sizes_;  // by dim, of the tensors that are looked at
  std::vector<Tensor> read_;
  uint64_t versions_ = 0, fitted_ = 0;
};

}  // namespace

void add_watch(nb::module_& m) {
  nb::class_<Guard>(m, "_Guard")
      .def(
          nb::init<nb::list, nb::sequence, nb::list, std::vector<std::vector<int32_t>>, nb::list>(),
          nb::arg("holders"), nb::arg("tensors"), nb::arg("read") = nb::list(),
          nb::arg("places") = std::vector<std::vector<int32_t>>(), nb::arg("dims") = nb::list())
      .def("held", &Guard::held)
      .def("fitted", &Guard::fitted)
      .def("fits", &Guard::fits);
}

}  // namespace tenon::python
