#include "onnx.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bound.hpp"
#include "tenon/onnx.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

// A tensor, a list or tuple of values, or None.
onnx::Value value_of(nb::handle object) {
  if (is_tensor(object.ptr())) return Tensor::share(handle_of(object.ptr()));
  if (object.is_none()) return {};
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object)) {
    std::vector<onnx::Value> items;
    for (const nb::handle item : object) items.push_back(value_of(item));
    return items;
  }
  PyErr_Format(PyExc_TypeError,
               "[onnx] an input must be a Tensor, a list of them or None, not %.200s",
               Py_TYPE(object.ptr())->tp_name);
  throw nb::python_error();
}

nb::object object_of(const onnx::Value& value) {
  if (value.is_tensor()) return nb::steal(wrap(Tensor(value.tensor())));
  if (value.is_none()) return nb::none();
  nb::list items;
  for (const onnx::Value& item : value.items()) items.append(object_of(item));
  return items;
}

nb::tuple run_model(const onnx::Model& model, const nb::tuple& inputs) {
  std::vector<onnx::Value> given;
  for (const nb::handle one : inputs) given.push_back(value_of(one));
  const std::vector<onnx::Value> found = run([&] {
    const nb::gil_scoped_release released;
    return model.run(given);
  });
  nb::list made;
  for (const onnx::Value& value : found) made.append(object_of(value));
  return nb::tuple(made);
}

// (name, dtype, shape): a size, a name, or None where neither is known; None for any shape.
nb::object port_object(const tn_onnx_port& port) {
  nb::object shape = nb::none();
  if (port.ranked != 0) {
    nb::list sizes;
    for (uint32_t d = 0; d < port.ndim; ++d) {
      if (port.shape[d] >= 0)
        sizes.append(port.shape[d]);
      else if (port.symbols[d].size != 0)
        sizes.append(std::string(detail::to_view(port.symbols[d])));
      else
        sizes.append(nb::none());
    }
    shape = nb::tuple(sizes);
  }
  return nb::make_tuple(std::string(detail::to_view(port.name)),
                        nb::steal(dtype_object(port.dtype)), shape);
}

template <class Get>
nb::list ports(uint32_t count, Get get) {
  nb::list made;
  for (uint32_t i = 0; i < count; ++i) made.append(port_object(run([&] { return get(i); })));
  return made;
}

nb::list weights(const onnx::Model& model) {
  nb::list made;
  const uint32_t count = run([&] { return model.info().weights; });
  for (uint32_t i = 0; i < count; ++i) {
    tn_str name{};
    Tensor weight = run([&] {
      tn_tensor* found = nullptr;
      detail::check(tn_onnx_weight(model.get(), i, &name, &found));
      return Tensor::adopt(found);
    });
    made.append(
        nb::make_tuple(std::string(detail::to_view(name)), nb::steal(wrap(std::move(weight)))));
  }
  return made;
}

nb::dict facts(const onnx::Model& model) {
  const tn_onnx_info info = run([&] { return model.info(); });
  nb::dict made;
  made["nodes"] = info.nodes;
  made["weight_bytes"] = info.weight_bytes;
  made["ir_version"] = info.ir_version;
  made["opset"] = info.opset;
  made["producer"] = std::string(detail::to_view(info.producer));
  return made;
}

}  // namespace

void add_onnx(nb::module_& m) {
  m.def("_load_onnx",
        [](const std::string& path) { return run([&] { return onnx::load(path); }); });
  m.def("_export_onnx",
        [](const graph::Program& program, const std::string& path, int64_t opset,
           const std::vector<std::string>& inputs, const std::vector<std::string>& results) {
          run([&] { onnx::save(program, path, {opset, inputs, results}); });
        });
  m.def("_onnx_exported", [] {
    return run([] {
      std::string text;
      detail::check(tn_onnx_list_exported(&detail::append_text, &text));
      return text;
    });
  });
  m.def("_onnx_converters", [] {
    return run([] {
      std::string text;
      detail::check(tn_onnx_list_converters(&detail::append_text, &text));
      return text;
    });
  });
  nb::class_<onnx::Model>(m, "_OnnxModel")
      .def("run", &run_model)
      .def("ops",
           [](const onnx::Model& self) {
             return run([&] {
               std::string text;
               detail::check(tn_onnx_list_ops(self.get(), &detail::append_text, &text));
               return text;
             });
           })
      .def_prop_ro("facts", &facts)
      .def_prop_ro("weights", &weights)
      .def_prop_ro("inputs",
                   [](const onnx::Model& self) {
                     return ports(run([&] { return self.info(); }).inputs,
                                  [&](uint32_t i) { return self.input(i); });
                   })
      .def_prop_ro("results", [](const onnx::Model& self) {
        return ports(run([&] { return self.info(); }).results,
                     [&](uint32_t i) { return self.result(i); });
      });
}

}  // namespace tenon::python
