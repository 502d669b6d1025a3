// The groups' entries, one file each.
#pragma once

#include "suite.hpp"

namespace tenon::conformance {

#define GROUP(name)                                            \
  std::vector<std::string> name##_units(const Claims& claims); \
  void run_##name(const Subject& subject, const std::string& unit, Sink& sink);
#include "groups/groups.def"
#undef GROUP

}  // namespace tenon::conformance
