// Dtypes, devices, generators and the functions around them, by nanobind.
#include "types.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <string>
#include <unordered_map>

#include "guard.hpp"
#include "tenon/graph.h"
#include "tenon/recorded_device.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tenon::python {
namespace {

struct DTypeObject {
  tn_dtype code;
};
struct DeviceObject {
  tn_device* device;
  bool operator==(const DeviceObject& other) const { return device == other.device; }
};

#define DTYPE(code, name, long_name, size) long_name,
constexpr std::array<const char*, TN_DTYPE_COUNT> kNames{
#include "tenon/dtypes.def"
};
#undef DTYPE
std::array<PyObject*, TN_DTYPE_COUNT> dtypes;  // one object each, for the life of the process
std::unordered_map<tn_device*, PyObject*>& devices() {
  static auto* map = new std::unordered_map<tn_device*, PyObject*>;
  return *map;
}
PyTypeObject *dtype_type, *device_type, *generator_type;

bool find_name(std::string_view name, tn_dtype& out) {
  tn_status* status = tn_dtype_find(detail::to_str(name), &out);
  if (status == nullptr) return true;
  tn_status_release(status);
  return false;
}

[[noreturn]] void raise(tn_status* status) {
  raise_status(status);
  throw nb::python_error();
}
void check(tn_status* status) {
  if (status != nullptr) raise(status);
}

std::string collect(auto&& fn) {
  std::string text;
  fn(&detail::append_text, &text);
  return text;
}

void add_dtypes(nb::module_& m) {
  auto type =
      nb::class_<DTypeObject>(m, "dtype", "An element type: tenon.float32, …")
          .def_prop_ro("name", [](const DTypeObject& d) { return kNames[d.code]; })
          .def_prop_ro("itemsize", [](const DTypeObject& d) { return tn_dtype_size(d.code); })
          .def_prop_ro("is_floating_point",
                       [](const DTypeObject& d) { return is_floating(static_cast<DType>(d.code)); })
          .def_prop_ro("is_complex",
                       [](const DTypeObject& d) { return is_complex(static_cast<DType>(d.code)); })
          .def_prop_ro("is_signed",
                       [](const DTypeObject& d) { return is_signed(static_cast<DType>(d.code)); })
          .def("__repr__",
               [](const DTypeObject& d) { return std::string("tenon.") + kNames[d.code]; })
          .def("__str__", [](const DTypeObject& d) { return kNames[d.code]; });
  dtype_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  for (tn_dtype code = 0; code < TN_DTYPE_COUNT; ++code) {
    nb::object object = nb::cast(DTypeObject{code});
    m.attr(kNames[code]) = object;
    dtypes[code] = object.release().ptr();
  }
  m.def(
      "as_dtype",
      [](const nb::object& name) {
        tn_dtype dtype = 0;
        if (!to_dtype(name.ptr(), dtype)) {
          if (PyErr_Occurred()) throw nb::python_error();
          const nb::object shown = nb::steal(PyObject_Repr(name.ptr()));
          PyErr_Clear();  // of what is nested too deeply to be shown
          if (shown.is_valid())
            PyErr_Format(PyExc_TypeError, "not a dtype: %U", shown.ptr());
          else
            PyErr_Format(PyExc_TypeError, "not a dtype: a %s", Py_TYPE(name.ptr())->tp_name);
          throw nb::python_error();
        }
        return nb::steal(dtype_object(dtype));
      },
      "object"_a, "The dtype of a name, a NumPy dtype, or a Python type.");
  type.def("__reduce__", [](const DTypeObject& d) {
    return nb::make_tuple(nb::module_::import_("tenon._devices").attr("_dtype"),
                          nb::make_tuple(kNames[d.code]));
  });
  m.def(
      "promote_types",
      [](const nb::object& a, const nb::object& b) {
        tn_dtype left = 0, right = 0, out = 0;
        if (!to_dtype(a.ptr(), left) || !to_dtype(b.ptr(), right)) {
          if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "[promote_types] needs two dtypes");
          throw nb::python_error();
        }
        check(tn_dtype_promote(left, right, &out));
        return nb::steal(dtype_object(out));
      },
      "a"_a, "b"_a, "The common dtype of two by the Array API's table.");
}

nb::dict info_of(const DeviceObject& d) {
  tn_device_info info{};
  info.struct_size = sizeof(info);
  check(tn_device_get_info(d.device, &info));
  static constexpr const char* kinds[] = {"cpu", "gpu", "integrated gpu", "software", "other"};
  nb::dict out;
  out["name"] = nb::steal(text_object(detail::to_view(info.name)));
  out["kind"] = kinds[info.kind < 4 ? info.kind : 4];
  out["memory_total"] = info.memory_total;
  out["memory_free"] = info.memory_free;
  out["compute_units"] = info.compute_units;
  out["subgroup_size"] = info.subgroup_size;
  out["pci_id"] = nb::steal(text_object(detail::to_view(info.pci_id)));
  nb::list kinds_of_element;
  for (tn_dtype code = 0; code < TN_DTYPE_COUNT; ++code)
    if (info.dtypes & TN_MASK(code)) kinds_of_element.append(nb::borrow(dtypes[code]));
  out["dtypes"] = kinds_of_element;
  return out;
}
nb::dict memory_of(const DeviceObject& d) {
  tn_memory_stats stats{};
  stats.struct_size = sizeof(stats);
  check(tn_memory_get_stats(d.device, &stats));
  nb::dict out;
  out["used"] = stats.used;
  out["used_peak"] = stats.used_peak;
  out["held"] = stats.held;
  out["held_peak"] = stats.held_peak;
  out["allocations"] = stats.allocations;
  out["device_allocations"] = stats.device_allocations;
  out["retries"] = stats.retries;
  out["limit"] = stats.limit;
  return out;
}

nb::object device_named(const nb::object& name) {
  tn_device* device = nullptr;
  if (!to_device(name.ptr(), device)) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "a device is named by a str (\"cpu\", \"auto\"), not by %.200s",
                   Py_TYPE(name.ptr())->tp_name);
    throw nb::python_error();
  }
  return nb::steal(device_object(device));
}

using detail::recorded_device;

// In a trace, tensors say that they are where those lie that they stand for.
std::string_view id_of(const DeviceObject& d) {
  return detail::to_view(tn_device_id(recorded_device(d.device)));
}

void add_devices(nb::module_& m) {
  auto type =
      nb::class_<DeviceObject>(m, "Device",
                               "Where elements lie and ops run; tenon.device(name) finds one.")
          .def_prop_ro("id", [](const DeviceObject& d) { return id_of(d); })
          .def_prop_ro("type",
                       [](const DeviceObject& d) {
                         const std::string_view id = id_of(d);
                         return id.substr(0, id.find(':'));
                       })
          .def_prop_ro("index",
                       [](const DeviceObject& d) -> nb::object {
                         const std::string_view id = id_of(d);
                         if (id.starts_with("meta")) return nb::none();  // there is only one
                         return nb::int_(id.find(':') == id.npos
                                             ? 0
                                             : std::stoi(std::string(id.substr(id.find(':') + 1))));
                       })
          .def_prop_ro("plugin",
                       [](const DeviceObject& d) {
                         return detail::to_view(tn_device_plugin(recorded_device(d.device)));
                       })
          .def_prop_ro("info", info_of, "Name, kind, memory, compute units, dtypes.")
          .def("memory", memory_of, "What the caching allocator holds, in bytes and counts.")
          .def("reset_memory_peak", [](const DeviceObject& d) { tn_memory_reset_peak(d.device); })
          .def(
              "set_memory_limit",
              [](const DeviceObject& d, uint64_t bytes) { tn_memory_set_limit(d.device, bytes); },
              "bytes"_a, "Refuses to hold more; 0: no limit.")
          .def(
              "trim_memory", [](const DeviceObject& d) { check(tn_memory_trim(d.device)); },
              "Returns cached blocks to the device.")
          .def(
              "synchronize",
              [](const DeviceObject& d) {
                tn_status* status = nullptr;
                {
                  const Unlocked unlocked(true);
                  status = tn_device_synchronize(d.device);
                }
                check(status);
              },
              "Waits until all work is done.")
          .def(
              "__repr__",
              [](const DeviceObject& d) { return "tenon.device('" + std::string(id_of(d)) + "')"; })
          .def("__str__", [](const DeviceObject& d) { return id_of(d); })
          .def("__hash__",
               [](const DeviceObject& d) {
                 return reinterpret_cast<uintptr_t>(recorded_device(d.device)) >> 4;
               })
          .def(
              "__eq__",
              [](const DeviceObject& d, const nb::object& other) {
                tn_device* device = nullptr;
                const bool found = to_device(other.ptr(), device);
                PyErr_Clear();  // no device of that name: not equal
                return found && recorded_device(device) == recorded_device(d.device);
              },
              "other"_a.none())
          .def("__reduce__", [](const DeviceObject& d) {
            return nb::make_tuple(nb::module_::import_("tenon._devices").attr("_device"),
                                  nb::make_tuple(id_of(d)));
          });
  device_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  m.def("device", device_named, "name"_a,
        "The device of a name: \"cpu\", \"cuda:1\", or \"auto\" for the best there is.");
  m.def(
      "devices",
      [] {
        nb::list found;
        for (uint32_t i = 0, n = tn_device_count(); i < n; ++i)
          found.append(nb::steal(device_object(tn_device_at(i))));
        return found;
      },
      "All devices of all plugins, the host first.");
  m.def("_best_device_reason",
        [] { return collect([](auto write, void* text) { tn_device_best(write, text); }); });
}

void add_generators(nb::module_& m) {
  auto type =
      nb::class_<Generator>(
          m, "Generator",
          "A random number generator: Philox 4x32-10, the same numbers on every device.")
          .def(nb::init<uint64_t>(), "seed"_a = 0)
          .def(nb::init<const Generator&>(), "same"_a, "Another object for the same generator.")
          .def(
              "manual_seed",
              [](nb::handle_t<Generator> self, uint64_t seed) {
                nb::cast<Generator&>(self).seed(seed);
                return nb::borrow(self);
              },
              "seed"_a, "Seeds it anew, and returns it.")
          .def(
              "initial_seed", [](const Generator& g) { return g.state().seed; },
              "The seed it was given last.")
          .def("get_state",
               [](const Generator& g) {
                 const Generator::State state = g.state();
                 return std::make_tuple(state.seed, state.offset);
               })
          .def(
              "set_state",
              [](Generator& g, std::tuple<uint64_t, uint64_t> state) {
                g.set_state({std::get<0>(state), std::get<1>(state)});
              },
              "state"_a);
  generator_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  m.def(
      "manual_seed", [](uint64_t seed) { tenon::manual_seed(seed); }, "seed"_a,
      "Seeds the default generator.");
  m.def(
      "default_generator", [] { return tenon::default_generator(); },
      "The generator that ops use when given none.");
}

void add_threads(nb::module_& m) {
  m.def("num_threads", &tenon::num_threads,
        "The most threads that an op computes on, the calling one included.");
  m.def(
      "set_num_threads", [](int64_t n) { check(tn_set_num_threads(n)); }, "n"_a,
      "Sets how many threads an op may compute on, from the next op on and for the whole program: "
      "from 1 to 1024.\n\nAt first it is TENON_NUM_THREADS, else OMP_NUM_THREADS, else how many "
      "cores the process may use; in a forked child it is 1.");
}

void add_plugins(nb::module_& m) {
  m.def(
      "load_plugin", [](std::string_view path) { check(tn_plugin_load(detail::to_str(path))); },
      "path"_a, "Loads a plugin's library, or the library of an identity card.");
  m.def(
      "plugins",
      [] {
        check(tn_plugins_discover());
        nb::list found;
        static constexpr const char* states[] = {"loaded", "refused", "quiesced"};
        for (const PluginInfo& info : tenon::plugins()) {
          nb::dict entry;
          entry["id"] = nb::steal(text_object(info.id));
          entry["version"] = nb::steal(text_object(info.version));
          entry["path"] = nb::steal(PyUnicode_DecodeFSDefaultAndSize(
              info.path.data(), static_cast<Py_ssize_t>(info.path.size())));
          entry["state"] = states[static_cast<uint32_t>(info.state) % 3];
          entry["reason"] = nb::steal(text_object(info.reason));
          entry["kernels"] = info.kernels;
          entry["devices"] = info.devices;
          found.append(entry);
        }
        return found;
      },
      "Every plugin seen so far, refused ones with their reason.");
  m.def("_explain", [](std::string_view name, const nb::object& device, const nb::object& dtype) {
    const tn_op* op = nullptr;
    check(tn_op_require(detail::to_str(name), &op));
    tn_device* place = nullptr;
    tn_dtype code = TN_DTYPE_F32;
    if (!to_device(device.ptr(), place) || !to_dtype(dtype.ptr(), code)) {
      if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "[explain] wants (op, device, dtype)");
      throw nb::python_error();
    }
    return collect(
        [&](auto write, void* text) { check(tn_op_explain(op, place, code, write, text)); });
  });
  m.def("_fallback", [](int policy) {
    const uint32_t before = tn_fallback_get();
    if (policy >= 0) tn_fallback_set(static_cast<uint32_t>(policy));
    return before;
  });
  m.def(
      "_placement",
      [](const nb::object& on) -> nb::object {
        if (!on.is_none()) {
          tn_placement_enable(nb::cast<bool>(on));
          return nb::none();
        }
        return nb::cast(collect([](auto write, void* text) { tn_placement_report(write, text); }));
      },
      "on"_a.none());
}

}  // namespace

void add_types(nb::module_& m) {
  add_dtypes(m);
  add_devices(m);
  add_generators(m);
  add_threads(m);
  add_plugins(m);
}

PyObject* dtype_object(tn_dtype dtype) {
  if (dtype >= dtypes.size())
    return PyErr_Format(PyExc_RuntimeError, "dtype code %u of a newer libtenon", dtype);
  return Py_NewRef(dtypes[dtype]);
}

PyObject* device_object(tn_device* device) {
  PyObject*& object = devices()[device];
  if (object == nullptr) {
    try {
      object = nb::cast(DeviceObject{device}).release().ptr();
    } catch (const std::exception& error) {
      return PyErr_Format(PyExc_RuntimeError, "%s", error.what());
    }
  }
  return Py_NewRef(object);
}

// inst_ready: what __new__ made, without __init__, holds nothing.
bool to_dtype(PyObject* object, tn_dtype& out) {
  if (Py_TYPE(object) == dtype_type && nb::inst_ready(object)) {
    out = nb::inst_ptr<DTypeObject>(object)->code;
    return true;
  }
  const std::pair<PyTypeObject*, tn_dtype> types[] = {{&PyBool_Type, TN_DTYPE_BOOL},
                                                      {&PyLong_Type, TN_DTYPE_I64},
                                                      {&PyFloat_Type, TN_DTYPE_F64},
                                                      {&PyComplex_Type, TN_DTYPE_C128}};
  for (const auto& [type, dtype] : types) {
    if (object != reinterpret_cast<PyObject*>(type)) continue;
    out = dtype;
    return true;
  }
  Ref name;
  if (!PyUnicode_Check(object)) {
    // NumPy's dtypes and scalar types; nothing else.
    const Ref module(PyObject_GetAttrString(
        reinterpret_cast<PyObject*>(
            PyType_Check(object) ? object : reinterpret_cast<PyObject*>(Py_TYPE(object))),
        "__module__"));
    const char* text =
        module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
    PyErr_Clear();
    if (text == nullptr ||
        (std::string_view(text).substr(0, 5) != "numpy" && std::string_view(text) != "ml_dtypes"))
      return false;
    name = Ref(PyObject_GetAttrString(object, PyType_Check(object) ? "__name__" : "name"));
    PyErr_Clear();
    if (!name || !PyUnicode_Check(name.get())) return false;
    object = name.get();
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text != nullptr && find_name({text, static_cast<size_t>(size)}, out)) return true;
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError, "no dtype is called %R", object);
  return false;
}

bool to_device(PyObject* object, tn_device*& out) {
  if (Py_TYPE(object) == device_type && nb::inst_ready(object)) {
    out = nb::inst_ptr<DeviceObject>(object)->device;
    return true;
  }
  if (!PyUnicode_Check(object)) return false;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) {
    PyErr_Clear();
    PyErr_SetString(PyExc_ValueError, "a device's name with lone surrogates");
    return false;
  }
  tn_status* status = tn_device_find({text, static_cast<uint64_t>(size)}, &out);
  // No plugin that is searched for offers it, so that it is loaded where it is asked for.
  const std::string_view name(text, static_cast<size_t>(size));
  if (status != nullptr && (name == "meta" || name == "meta:0")) {
    tn_status_release(status);
    status = tn_trace_meta_device(&out);
  }
  if (status == nullptr) return true;
  raise_status(status);
  return false;
}

bool to_generator(PyObject* object, tn_generator*& out) {
  if (!PyObject_TypeCheck(object, generator_type) || !nb::inst_ready(object)) return false;
  out = nb::inst_ptr<Generator>(object)->get();
  return true;
}

}  // namespace tenon::python
