// meta:0, a device whose tensors have shapes, dtypes and strides, and no elements. It shares the plugin of trace:0.
#ifndef TENON_GRAPH_TRACE_META_HPP
#define TENON_GRAPH_TRACE_META_HPP

#include "tenon/ext/draft/dispatch.h"
#include "tenon/plugin.hpp"

// Registers the device, with a kernel that does nothing for each op known now.
void start_meta(tenon::sdk::Registry& registry, const tn_dispatch& dispatch);

#endif
