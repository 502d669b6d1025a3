// Metadata that a plugin may only read: saved before a call, and restored if the plugin wrote to it.
#pragma once

#include <string>
#include <vector>

#include "tenon/plugin.h"

namespace tenon::validate {

class Metadata {
 public:
  // `name(i)` names call argument i in reports.
  template <class Name>
  Metadata(const tn_call& call, Name&& name) {
    keep(&call, sizeof call, "the call", Kind::Bytes);
    keep(call.args, call.nargs * sizeof(tn_value), "the call's args", Kind::Bytes);
    if (call.loop != nullptr) add_loop(*call.loop);
    for (uint32_t k = 0; k < call.nouts; ++k)
      if (call.outs[k] != nullptr) add(*call.outs[k], "output " + std::to_string(k));
    for (uint32_t i = 0; i < call.nargs; ++i) add(call.args[i], name(i));
  }
  // Restores what was changed and describes it; empty if nothing was.
  std::string restore();

 private:
  enum class Kind { Bytes, Sizes };
  struct Region {
    void* at;
    std::vector<unsigned char> bytes;
    std::string what;
    Kind kind;
  };
  void keep(const void* at, uint64_t bytes, std::string what, Kind kind);
  void add(const tn_view& view, const std::string& what);
  void add(const tn_value& value, const std::string& what);
  void add_loop(const tn_loop& loop);

  std::vector<Region> regions_;
};

}  // namespace tenon::validate
