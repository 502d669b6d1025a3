// The parts that layer.cpp puts together.
#pragma once

#include "state.hpp"

namespace tenon::validate {

void wrap_kernel(std::string_view plugin, std::string_view device, tn_kernel& table);
void wrap_op(std::string_view plugin, tn_op_def& def);
// The host's slot, with the plugin's callbacks wrapped in a crossing.
tn_status* push_call_layer(std::string_view plugin, const tn_call_layer* layer);
tn_status* pop_call_layer(const tn_call_layer* layer);
tn_status* call_on_end(std::string_view plugin, tn_status* (*done)(void* ctx), void* ctx,
                       void (*destroy)(void* ctx));
tn_status* restore_storage(std::string_view plugin, tn_tensor* tensor,
                           tn_status* (*fill)(void* ctx, tn_tensor* tensor), void* ctx);
// The table that plugins get.
const tn_host* wrap_host(const tn_host* host);

}  // namespace tenon::validate
