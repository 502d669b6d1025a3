#include "autocast.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bound.hpp"
#include "tenon/amp/autocast.hpp"

namespace nb = nanobind;

namespace tenon::python {
namespace {

using amp::Setting;
using amp::detail::AutocastLayer;

// One scope: entered once, left once.
class Scope {
 public:
  void enter(const std::string& kind, const std::string& dtype, bool enabled, bool cache) {
    run([&] {
      if (scope_) throw Error(TN_FAILED_PRECONDITION, "[autocast] this scope is entered already");
      scope_.emplace(kind, Setting{find_dtype(dtype), enabled, cache});
    });
  }
  void leave() { scope_.reset(); }

 private:
  std::optional<amp::detail::Scope> scope_;
};

std::tuple<std::string, bool, bool> get(const std::string& kind) {
  const Setting now = AutocastLayer::of_this_thread().setting(kind);
  return {std::string(name_of(now.dtype)), now.enabled, now.cache};
}
void set(const std::string& kind, const std::string& dtype, bool enabled, bool cache) {
  run([&] { AutocastLayer::of_this_thread().set(kind, {find_dtype(dtype), enabled, cache}); });
}

}  // namespace

void add_autocast(nb::module_& m) {
  nb::class_<Scope>(m, "_Autocast")
      .def(nb::init<>())
      .def("enter", &Scope::enter)
      .def("leave", &Scope::leave);
  m.def("_get_autocast", get);
  m.def("_set_autocast", set);
  m.def("_autocast_active", [] { return AutocastLayer::of_this_thread().active(); });
  m.def("_clear_autocast_cache", [] { AutocastLayer::of_this_thread().clear_cache(); });
}

}  // namespace tenon::python
