// Plugins that were seen, and what the loader does with them. The loader's lock must be held, except where marked [any thread].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugin/card.hpp"
#include "tenon/plugin.h"
#include "tenon/plugins.h"

namespace tenon::core {

// A kernel that waits for its op: of this plugin, until start has succeeded, or of one that may come later.
struct WaitingKernel {
  std::string plugin, device, schema;
  tn_kernel kernel;
};

// An op of a plugin whose start has not succeeded yet.
struct NewOp {
  std::string schema;  // the plugin may free its text
  tn_op_def def;
};

// A library that was seen. Never freed; its address is the token a plugin gets for registration.
struct Plugin {
  std::string path;     // as shown: of the library or its card
  std::string library;  // of the file to open
  std::string id;       // owner of device types and kernels; set once
  uint32_t state = TN_PLUGIN_REFUSED;
  tn_plugin table{};
  void* instance = nullptr;
  bool wants_device_type = false;  // failed because another plugin's device type was missing
  bool asked_for = false;  // lies where TENON_PLUGIN_PATH points; until its refusal was told
  std::vector<NewOp> staged_ops;
  std::vector<WaitingKernel> staged_kernels;
  tn_plugin_info info{};  // strings are interned; under the list's own lock
};

// True while this thread runs a plugin's start or quiesce.
bool is_loading_here();

// The plugin of a path, made when it is new. [any thread]
Plugin& plugin_at(const std::string& path);
// The loaded plugin of an id, or NULL. [any thread]
Plugin* find_loaded(std::string_view id);
void set_outcome(Plugin& plugin, uint32_t state, std::string_view id, std::string_view version,
                 std::string_view reason);

// Opens and starts the library; `card` may be NULL. Throws Error with the reason, and leaves nothing registered then.
void load(Plugin& plugin, const Card* card);
// Throws Error(TN_FAILED_PRECONDITION) while tensors live on its devices.
void quiesce(Plugin& plugin);

// The host's table that plugins get. [any thread]
const tn_host& host_table();
// The plugin whose start is running, or NULL; registration is for it alone.
extern Plugin* g_starting;
// Puts the plugin's ops in or out of service. Ops stay known for good: out of service, they answer with an error. Its kernels of
// ops that nobody has brought yet wait for them.
void commit_ops(Plugin& plugin);
void retire_ops(const Plugin& plugin) noexcept;

}  // namespace tenon::core
