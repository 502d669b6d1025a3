#include "fuse/fused.hpp"
#include "tenon/ext/draft/device.h"
#include "tenon/plugins.h"

namespace tenon::graph {
namespace {

// The host's kernels come from a plugin that has no device.
const tn_graph* of_host() {
  const void* table = nullptr;
  tn_status* status = tn_plugin_interface(detail::to_str("cpu"), detail::to_str(TN_GRAPH_NAME),
                                          TN_GRAPH_REVISION, &table);
  tn_status_release(status);
  return status == nullptr ? static_cast<const tn_graph*>(table) : nullptr;
}

}  // namespace

// On other devices the nodes are plain calls, of which nothing can be made yet.
const tn_graph* backend_of(const Device& device) {
  static const Device host("cpu");
  return device == host ? of_host() : nullptr;
}

Fused::~Fused() {
  if (kernel.run != nullptr) backend->release(backend->self, &kernel);
}

}  // namespace tenon::graph
