// What functions share that nanobind binds.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <type_traits>

#include "guard.hpp"
#include "types.hpp"

namespace tenon::python {

// What fn() returns, with what it throws as a Python exception.
template <class Fn>
auto run(Fn&& fn) {
  using Result = decltype(fn());
  if constexpr (std::is_void_v<Result>) {
    if (!guarded<bool>(false, [&] { return fn(), true; })) throw nanobind::python_error();
  } else {
    std::optional<Result> made;
    if (!guarded<bool>(false, [&] { return made = fn(), true; })) throw nanobind::python_error();
    return std::move(*made);
  }
}

// That `object` is or names; `topic` is what the error begins with.
inline Device device_in(nanobind::handle object, const char* topic) {
  tn_device* found = nullptr;
  if (to_device(object.ptr(), found)) return Device(found);
  if (PyErr_Occurred() == nullptr)
    PyErr_Format(PyExc_TypeError, "[%s] device is a Device or a name, not %R", topic, object.ptr());
  throw nanobind::python_error();
}

}  // namespace tenon::python
