// A plugin whose start lets an exception out.
#include <stdexcept>

#include "tenon/plugin.h"

static tn_status* start(const tn_host*, void*, tn_str, void**) {
  throw std::runtime_error("no barrier here");
}

static const tn_plugin table = {
    sizeof(tn_plugin), TN_ABI_MAJOR, TN_ABI_MINOR, 0,       {"test.throws", 11},
    {"1", 1},          start,        nullptr,      nullptr, nullptr};

extern "C" TN_EXPORT tn_status* tn_plugin_query(uint32_t, uint32_t, const tn_plugin** out) {
  *out = &table;
  return nullptr;
}
