#include "capture.hpp"

#include <optional>

#include "bound.hpp"
#include "tenon/capture.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

// A recording, then its graph.
class Recorder {
 public:
  void begin(const nb::object& device) {
    const Device place = device_in(device, "capture");
    run([&] {
      graph_ = Graph();
      recording_.emplace(place);
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
