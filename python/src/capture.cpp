#include "capture.hpp"

#include <optional>

#include "guard.hpp"
#include "tenon/capture.hpp"
#include "types.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

// fn(), with what it throws as a Python exception.
template <class Fn>
void run(Fn&& fn) {
  if (!guarded<bool>(false, [&] { return fn(), true; })) throw nb::python_error();
}

// A recording, then its graph.
class Recorder {
 public:
  void begin(const nb::object& device) {
    tn_device* found = nullptr;
    if (!to_device(device.ptr(), found)) {
      if (PyErr_Occurred() == nullptr)
        PyErr_Format(PyExc_TypeError, "[capture] device is a Device or a name, not %R",
                     device.ptr());
      throw nb::python_error();
    }
    run([&] {
      graph_ = Graph();
      recording_.emplace(Device(found));
    });
  }
  void end() {
    run([&] {
      if (!recording_) throw Error(TN_FAILED_PRECONDITION, "[capture] nothing is being captured");
      graph_ = recording_->end();
      recording_.reset();
    });
  }
  void drop() { recording_.reset(); }
  void replay() {
    run([&] {
      const nb::gil_scoped_release released;  // the simulator computes
      graph_.replay();
    });
  }
  void reset() {
    const nb::gil_scoped_release released;  // waits
    graph_.reset();
  }
  bool defined() const { return graph_.defined(); }
  uint64_t nodes() const { return graph_.nodes(); }
  uint64_t memory() const { return graph_.memory(); }

 private:
  std::optional<Capture> recording_;
  Graph graph_;
};

}  // namespace

void add_capture(nb::module_& m) {
  nb::class_<Recorder>(m, "_Recorder")
      .def(nb::init<>())
      .def("begin", &Recorder::begin)
      .def("end", &Recorder::end)
      .def("drop", &Recorder::drop)
      .def("replay", &Recorder::replay)
      .def("reset", &Recorder::reset)
      .def_prop_ro("defined", &Recorder::defined)
      .def_prop_ro("nodes", &Recorder::nodes)
      .def_prop_ro("memory", &Recorder::memory);
}

}  // namespace tenon::python
