#include "graph.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "batch.hpp"
#include "bound.hpp"
#include "tangents.hpp"
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

// (name, min, max, multiple) of each; max is None without an end.
nb::list dims_of(const graph::Program& program) {
  nb::list made;
  for (uint32_t i = 0; i < run([&] { return program.info(); }).dims; ++i) {
    tn_trace_dim dim{};
    dim.struct_size = sizeof dim;
    run([&] { detail::check(tn_program_get_dim(program.get(), i, &dim)); });
    nb::object max = nb::none();
    if (dim.max != 0) max = nb::int_(dim.max);
    made.append(nb::make_tuple(std::string(detail::to_view(dim.name)), dim.min, max, dim.multiple));
  }
  return made;
}

using Getter = tn_status* (*)(const tn_program*, uint32_t, tn_program_value*);

// (name, dtype, shape) of each.
nb::list values_of(const graph::Program& program, uint32_t count, Getter get) {
  nb::list made;
  const nb::list dims = dims_of(program);
  for (uint32_t i = 0; i < count; ++i) {
    const tn_program_value value = run([&] {
      tn_program_value found{};
      found.struct_size = sizeof found;
      detail::check(get(program.get(), i, &found));
      return found;
    });
    nb::list shape;
    for (uint32_t d = 0; d < value.ndim; ++d) {
      const int32_t dim = value.dims == nullptr ? -1 : value.dims[d];
      if (dim >= 0)
        shape.append(dims[dim][0]);
      else if (value.shape[d] < 0)
        shape.append(nb::none());
      else
        shape.append(value.shape[d]);
    }
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
  // The outside tensors whose elements were read.
  nb::list reads() const {
    if (trace_ == nullptr) return {};
    std::vector<tn_tensor*> found(tn_trace_reads(trace_.get(), nullptr, 0));
    tn_trace_reads(trace_.get(), found.data(), static_cast<uint32_t>(found.size()));
    std::vector<Tensor> tensors;
    for (tn_tensor* one : found) tensors.push_back(Tensor::adopt(one));
    return list_of(std::move(tensors));
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
  // `dims`: (name, min, max, multiple); `where`: a callable that tells where it is called.
  void begin_sizes(const std::vector<std::tuple<std::string, int64_t, int64_t, uint32_t>>& dims,
                   bool step) {
    std::vector<tn_trace_dim> made;
    for (const auto& [name, min, max, multiple] : dims)
      made.push_back({sizeof(tn_trace_dim), multiple, detail::to_str(name), min, max});
    run([&] {
      tn_trace* began = nullptr;
      const auto begin = step ? &tn_trace_begin_step_sizes : &tn_trace_begin_sizes;
      detail::check(begin(made.data(), static_cast<uint32_t>(made.size()), &began));
      trace_.reset(began);
    });
  }
  void source(nb::callable where) {
    where_ = std::move(where);
    run([&] { detail::check(tn_trace_source(trace(), &tell, this)); });
  }
  nb::object input_sized(const nb::object& like, const std::string& name,
                         const std::vector<int32_t>& of) {
    tn_tensor* const given = required(like, "an input");
    return nb::steal(wrap(run([&] {
      tn_tensor* made = nullptr;
      detail::check(tn_trace_input_sized(trace(), given, detail::to_str(name), of.data(), &made));
      return Tensor::adopt(made);
    })));
  }
  bool next(const nb::list& results) {
    const std::vector<Tensor> given = tensors_of(results, "a result");
    return run([&] {
      uint32_t more = 0;
      detail::check(tn_trace_next(trace(), TensorList(given).handles(),
                                  static_cast<uint32_t>(given.size()), &more));
      return more != 0;
    });
  }
  bool failed() {
    return run([&] {
      uint32_t more = 0;
      detail::check(tn_trace_failed(trace(), &more));
      return more != 0;
    });
  }
  bool function_failed() const { return tn_trace_function_failed(trace_.get()) != 0; }
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
  static void tell(void* self, tn_write_fn write, void* to) {
    const nb::gil_scoped_acquire held;
    try {
      const auto text = nb::cast<std::string>(static_cast<Tracing*>(self)->where_());
      write(to, detail::to_str(text));
    } catch (const nb::python_error&) {
      write(to, {});  // a trace goes on without places
    }
  }
  std::unique_ptr<tn_trace, void (*)(tn_trace*)> trace_;
  nb::callable where_;
};

nb::list body_begin(const nb::list& like) {
  const std::vector<Tensor> given = tensors_of(like, "an input");
  return list_of(run([&] {
    std::vector<tn_tensor*> handles(given.size());
    detail::check(tn_trace_body_begin(TensorList(given).handles(),
                                      static_cast<uint32_t>(given.size()), handles.data()));
    std::vector<Tensor> inputs;
    for (tn_tensor* handle : handles) inputs.push_back(Tensor::adopt(handle));
    return inputs;
  }));
}

void body_end(const nb::list& results) {
  const std::vector<Tensor> given = tensors_of(results, "a result");
  run([&] {
    detail::check(
        tn_trace_body_end(TensorList(given).handles(), static_cast<uint32_t>(given.size())));
  });
}

nb::list control(uint32_t kind, const nb::list& operands, size_t carried, size_t count) {
  const std::vector<Tensor> given = tensors_of(operands, "an operand");
  return list_of(run([&] { return graph::detail::record_control(kind, given, carried, count); }));
}

nb::list run_program(const graph::Program& program, const nb::tuple& inputs) {
  if (Batch::any_active())
    run([] {
      throw Error(
          TN_FAILED_PRECONDITION,
          "[graph] a program does not see batches: inside vmap call the function that was traced");
    });
  const std::vector<Tensor> given = tensors_of(inputs, "an input");
  if (Tangents::any_of({TensorList(given).handles(), given.size()}))
    run([] {
      throw Error(TN_FAILED_PRECONDITION,
                  "[graph] a program does not see tangents: for forward mode call the function "
                  "that was traced");
    });
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

void set_exact(graph::Program& program, bool exact) {
  run([&] {
    const nb::gil_scoped_release released;
    program.set_exact(exact);
  });
}

graph::Program quantized(const graph::Program& program, const std::vector<nb::list>& samples) {
  std::vector<std::vector<Tensor>> given;
  for (const nb::list& inputs : samples) given.push_back(tensors_of(inputs, "an input"));
  return run([&] {
    const nb::gil_scoped_release released;
    return program.quantize(given);
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
  made["exact"] = info.exact != 0;
  made["differentiable"] = info.differentiable != 0;
  made["written"] = info.written;
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
  m.def("_traced", [](nb::handle x) {
    return detail::to_view(tn_device_id(tn_tensor_device(required(x, "x")))) == "trace:0";
  });
  m.def("_trace_active", [] { return tn_trace_active() != 0; });
  m.def("_trace_read", [](nb::handle x) { tn_trace_read(required(x, "what is read")); });
  m.def("_body_begin", &body_begin);
  m.def("_body_end", &body_end);
  m.def("_body_drop", [] { run([] { detail::check(tn_trace_body_drop()); }); });
  m.def("_control", &control);
  nb::class_<Tracing>(m, "_Tracing")
      .def(nb::init<>())
      .def("begin", &Tracing::begin, nb::arg("step"))
      .def("begin_sizes", &Tracing::begin_sizes)
      .def("source", &Tracing::source)
      .def("input_sized", &Tracing::input_sized)
      .def("next", &Tracing::next)
      .def("failed", &Tracing::failed)
      .def("function_failed", &Tracing::function_failed)
      .def("number", &Tracing::number)
      .def("again", &Tracing::again)
      .def("input", &Tracing::input)
      .def("name", &Tracing::name)
      .def("end", &Tracing::end, nb::arg("results"), nb::arg("device").none())
      .def("reads", &Tracing::reads)
      .def("drop", &Tracing::drop);
  nb::class_<graph::Program>(m, "_Program")
      .def("run", &run_program)
      .def("save", [](const graph::Program& self,
                      const std::string& path) { run([&] { self.save(path); }); })
      .def("text", [](const graph::Program& self,
                      bool lowered) { return run([&] { return self.text(lowered); }); })
      .def("svg", [](const graph::Program& self) { return run([&] { return self.svg(); }); })
      .def("explain",
           [](const graph::Program& self) { return run([&] { return self.explain(); }); })
      .def_prop_ro(
          "device",
          [](const graph::Program& self) { return nb::steal(device_object(self.device().get())); })
      .def_prop_ro("dims", &dims_of)
      .def_prop_ro("facts", &facts)
      .def_prop_ro("numbers", &numbers_of)
      .def("set_exact", &set_exact)
      .def("quantize", &quantized)
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
