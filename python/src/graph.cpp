#include "graph.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bound.hpp"
#include "tenon/graph.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

tn_tensor* required(nb::handle object, const char* what) {
  if (is_tensor(object.ptr())) return handle_of(object.ptr());
  PyErr_Format(PyExc_TypeError, "[graph] %s must be a Tensor, not %.200s", what,
               Py_TYPE(object.ptr())->tp_name);
  throw nb::python_error();
}

template <class Sequence>
std::vector<Tensor> tensors_of(const Sequence& list, const char* what) {
  std::vector<Tensor> made;
  made.reserve(list.size());
  for (const nb::handle one : list) made.push_back(Tensor::share(required(one, what)));
  return made;
}

nb::list list_of(std::vector<Tensor> tensors) {
  nb::list made;
  for (Tensor& tensor : tensors) made.append(nb::steal(wrap(std::move(tensor))));
  return made;
}

// `object` may be None: the graph's own.
Device place_in(const nb::object& object) {
  return object.is_none() ? Device(static_cast<tn_device*>(nullptr)) : device_in(object, "graph");
}

using Getter = tn_status* (*)(const tn_program*, uint32_t, tn_program_value*);

// (name, dtype, shape) of each.
nb::list values_of(const graph::Program& program, uint32_t count, Getter get) {
  nb::list made;
  for (uint32_t i = 0; i < count; ++i) {
    const tn_program_value value = run([&] {
      tn_program_value found{};
      found.struct_size = sizeof found;
      detail::check(get(program.get(), i, &found));
      return found;
    });
    nb::list shape;
    for (uint32_t d = 0; d < value.ndim; ++d) shape.append(value.shape[d]);
    made.append(nb::make_tuple(std::string(detail::to_view(value.name)),
                               nb::steal(dtype_object(value.dtype)), nb::tuple(shape)));
  }
  return made;
}

// A trace of this thread, until end() or drop().
class Tracing {
 public:
  Tracing() : trace_(nullptr, &tn_trace_drop) {}
  void begin(bool step) {
    run([&] {
      tn_trace* began = nullptr;
      detail::check(step ? tn_trace_begin_step(&began) : tn_trace_begin(&began));
      trace_.reset(began);
    });
  }
  void number(const std::string& name, double value, bool counts) {
    run([&] {
      detail::check(tn_trace_number(trace(), detail::to_str(name), value, counts ? 1 : 0));
    });
  }
  void again(const nb::list& results) {
    const std::vector<Tensor> given = tensors_of(results, "a result");
    run([&] {
      detail::check(tn_trace_again(trace(), TensorList(given).handles(),
                                   static_cast<uint32_t>(given.size())));
    });
  }
  nb::object input(const nb::object& like, const std::string& name) {
    tn_tensor* const given = required(like, "an input");
    return nb::steal(wrap(run([&] {
      tn_tensor* made = nullptr;
      detail::check(tn_trace_input(trace(), given, detail::to_str(name), &made));
      return Tensor::adopt(made);
    })));
  }
  void name(const nb::object& weight, const std::string& name) {
    tn_tensor* const given = required(weight, "a weight");
    run([&] { detail::check(tn_trace_name(trace(), given, detail::to_str(name))); });
  }
  graph::Program end(const nb::list& results, const nb::object& device) {
    const std::vector<Tensor> given = tensors_of(results, "a result");
    const Device place = place_in(device);
    return run([&] {
      trace();
      tn_program* program = nullptr;
      detail::check(tn_trace_end(trace_.release(), TensorList(given).handles(),
                                 static_cast<uint32_t>(given.size()), place.get(), &program));
      return graph::Program::adopt(program);
    });
  }
  void drop() { trace_.reset(); }

 private:
  tn_trace* trace() const {
    if (trace_ == nullptr) throw Error(TN_FAILED_PRECONDITION, "[graph] nothing is being traced");
    return trace_.get();
  }
  std::unique_ptr<tn_trace, void (*)(tn_trace*)> trace_;
};

nb::list run_program(const graph::Program& program, const nb::tuple& inputs) {
  const std::vector<Tensor> given = tensors_of(inputs, "an input");
  return list_of(run([&] {
    const nb::gil_scoped_release released;
    return program(given);
  }));
}

nb::list numbers_of(const graph::Program& program) {
  nb::list made;
  for (uint32_t i = 0; i < run([&] { return program.info(); }).numbers; ++i) {
    tn_program_number found{};
    found.struct_size = sizeof found;
    run([&] { detail::check(tn_program_get_number(program.get(), i, &found)); });
    made.append(nb::make_tuple(std::string(detail::to_view(found.name)), found.value));
  }
  return made;
}

void set_numbers(const graph::Program& program, uint32_t first, const std::vector<double>& values) {
  run([&] {
    detail::check(tn_program_set_numbers(program.get(), first, values.data(),
                                         static_cast<uint32_t>(values.size())));
  });
}

nb::dict facts(const graph::Program& program) {
  const tn_program_info info = run([&] { return program.info(); });
  nb::dict made;
  made["nodes"] = info.nodes;
  made["bound"] = info.bound;
  made["arena"] = info.arena;
  made["unshared"] = info.unshared;
  made["weights"] = info.weights;
  made["state"] = info.state;
  made["fused"] = info.fused;
  made["differentiable"] = info.differentiable != 0;
  return made;
}

}  // namespace

void add_graph(nb::module_& m) {
  add_watch(m);
  m.def(
      "_load_program",
      [](const std::string& path, const nb::object& device) {
        const Device place = place_in(device);
        return run([&] { return graph::load(path, place); });
      },
      nb::arg("path"), nb::arg("device").none());
  nb::class_<Tracing>(m, "_Tracing")
      .def(nb::init<>())
      .def("begin", &Tracing::begin, nb::arg("step"))
      .def("number", &Tracing::number)
      .def("again", &Tracing::again)
      .def("input", &Tracing::input)
      .def("name", &Tracing::name)
      .def("end", &Tracing::end, nb::arg("results"), nb::arg("device").none())
      .def("drop", &Tracing::drop);
  nb::class_<graph::Program>(m, "_Program")
      .def("run", &run_program)
      .def("save", [](const graph::Program& self,
                      const std::string& path) { run([&] { self.save(path); }); })
      .def("text", [](const graph::Program& self,
                      bool lowered) { return run([&] { return self.text(lowered); }); })
      .def("explain",
           [](const graph::Program& self) { return run([&] { return self.explain(); }); })
      .def_prop_ro(
          "device",
          [](const graph::Program& self) { return nb::steal(device_object(self.device().get())); })
      .def_prop_ro("facts", &facts)
      .def_prop_ro("numbers", &numbers_of)
      .def("set_numbers", &set_numbers)
      .def_prop_ro("inputs",
                   [](const graph::Program& self) {
                     return values_of(self, run([&] { return self.info(); }).inputs,
                                      &tn_program_input);
                   })
      .def_prop_ro("results", [](const graph::Program& self) {
        return values_of(self, run([&] { return self.info(); }).results, &tn_program_result);
      });
}

}  // namespace tenon::python
