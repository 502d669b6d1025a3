// One library: checked, opened, asked, started; and taken out of service.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cctype>
#include <exception>
#include <filesystem>

#include "complete.hpp"
#include "dispatch/op.hpp"
#include "memory/device.hpp"
#include "on_exit.hpp"
#include "plugin/elf.hpp"
#include "plugin/layer.hpp"
#include "plugin/plugin.hpp"
#include "plugin/probe.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

thread_local constinit bool t_loading = false;

// Calls into a plugin. If an exception escapes, the plugin is at fault and is refused.
template <class Call>
void call_plugin(const char* what, Call&& call) {
  try {
    probe_stage(what);
    check(call());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    fail(TN_INTERNAL, "an exception left its {}: {}", what, problem.what());
  } catch (...) {
    fail(TN_INTERNAL, "an exception left its {}", what);
  }
}

tn_plugin_query_fn open_library(const Pinned& library) {
  void* query = nullptr;
  call_plugin("static constructors", [&]() -> tn_status* {
    query = dlsym(library.load(), "tn_plugin_query");
    return nullptr;
  });
  if (query == nullptr)
    fail(TN_INVALID_ARGUMENT, "does not export tn_plugin_query: not a Tenon plugin");
  return reinterpret_cast<tn_plugin_query_fn>(query);
}

std::string text_of(tn_str text, const char* what, std::string_view also) {
  if (text.data == nullptr || text.size == 0) fail(TN_INVALID_ARGUMENT, "its {} is missing", what);
  if (text.size > 256) fail(TN_INVALID_ARGUMENT, "its {} has {} bytes", what, text.size);
  for (const unsigned char c : to_view(text))
    if (c > 127 || (std::isalnum(c) == 0 && also.find(static_cast<char>(c)) == also.npos))
      fail(TN_INVALID_ARGUMENT,
           "its {} has byte {:#04x}; letters, digits and any of {} are allowed", what, c, also);
  return std::string(to_view(text));
}

// The plugin's table at full size, when it is one that this core can run.
tn_plugin ask(tn_plugin_query_fn query) {
  const tn_plugin* table = nullptr;
  call_plugin("query", [&] { return query(TN_ABI_MAJOR, TN_ABI_MINOR, &table); });
  if (table == nullptr) fail(TN_INVALID_ARGUMENT, "its tn_plugin_query gave no table");
  constexpr uint32_t kLeast = offsetof(tn_plugin, start) + sizeof(tn_plugin::start);
  if (table->struct_size < kLeast || table->struct_size > 0xffff)
    fail(TN_INVALID_ARGUMENT, "its table has {} bytes; {} to 65535 are possible",
         table->struct_size, kLeast);
  const std::string built = fmt::format("{}.{}", table->abi_major, table->abi_minor);
  check_abi(table->abi_major, table->min_host_minor, built);
  return complete(table);
}

void roll_back(Plugin& plugin) noexcept {
  plugin.staged_ops.clear();
  plugin.staged_kernels.clear();
  tn_status_release(guarded([&] { unregister_kernels(plugin.id); }));
  tn_status_release(guarded([&] { retire_device_types(plugin.id); }));
  retire_ops(plugin);
}

tn_status* stop(Plugin& plugin) noexcept {
  return guarded([&] {
    call_plugin("stop", [&]() -> tn_status* {
      plugin.table.stop(plugin.instance);
      return nullptr;
    });
  });
}

// All or nothing.
void start(Plugin& plugin) {
  const std::string directory = std::filesystem::path(plugin.library).parent_path().string();
  bool started = false;
  try {
    g_starting = &plugin;
    enter_phase(plugin.id, TN_LAYER_STARTING);
    const OnExit over([&] {
      enter_phase(plugin.id, TN_LAYER_STARTED);
      g_starting = nullptr;
    });
    call_plugin("start", [&] {
      return plugin.table.start(&layered_host(), &plugin, to_str(directory), &plugin.instance);
    });
    started = true;
    commit_ops(plugin);
    publish_device_types(plugin.id);
  } catch (...) {
    roll_back(plugin);
    if (started) tn_status_release(stop(plugin));
    plugin.instance = nullptr;
    throw;
  }
}

void check_identity(Plugin& plugin, const Card* card, const std::string& id,
                    const std::string& version) {
  set_outcome(plugin, TN_PLUGIN_REFUSED, id, version, "");
  if (card != nullptr && id != card->id)
    fail(TN_INVALID_ARGUMENT, "its identity card says \"{}\", the library says \"{}\"", card->id,
         id);
  if (id == "core") fail(TN_INVALID_ARGUMENT, "the id \"core\" is the core's own");
  if (const Plugin* other = find_loaded(id); other != nullptr && other != &plugin)
    fail(TN_ALREADY_EXISTS, "a plugin \"{}\" is loaded already, from {}", id, other->path);
}

// The file judged and opened, and the plugin asked for its table.
void admit(Plugin& plugin, const Card* card, const Pinned& library) {
  check_library_file(library);
  try {
    const Probed probed = probe(library, card == nullptr ? "" : card->sha256);
    if (!probed.id.empty()) check_identity(plugin, card, probed.id, probed.version);
    plugin.table = ask(open_library(library));
  } catch (const Error& error) {
    if (card == nullptr || card->needs.empty() || error.code() != TN_IO) throw;
    fail(TN_IO, "{}; it needs {}", error.what(), fmt::join(card->needs, ", "));
  }
}

}  // namespace

bool is_loading_here() { return t_loading; }

void load(Plugin& plugin, const Card* card) {
  t_loading = true;
  const OnExit over([] { t_loading = false; });
  plugin.wants_device_type = false;
  if (card != nullptr) {
    plugin.library = card->library;
    set_outcome(plugin, TN_PLUGIN_REFUSED, card->id, card->version, "");
    check_fit(*card);
    check_identity(plugin, card, card->id, card->version);
  }
  // If the file is replaced meanwhile, the checks start again; verdicts on the old file do not count.
  for (int left = is_probe() ? 1 : 5;; --left) {
    const Pinned library(plugin.library);
    try {
      admit(plugin, card, library);
      break;
    } catch (const Error& error) {
      if (left == 1 || library.stands()) throw;
    }
  }
  const std::string id = text_of(plugin.table.id, "id", "._-");
  const std::string version = text_of(plugin.table.version, "version", "._-+~: ");
  check_identity(plugin, card, id, version);
  plugin.id = id;
  start(plugin);
  set_outcome(plugin, TN_PLUGIN_LOADED, id, version, why_no_device(id));
}

void quiesce(Plugin& plugin) {
  t_loading = true;
  uint32_t phase = TN_LAYER_STARTED;  // if it stays in service after all
  enter_phase(plugin.id, TN_LAYER_QUIESCING);
  const OnExit over([&] {
    enter_phase(plugin.id, phase);
    t_loading = false;
  });
  retire_device_types(plugin.id);  // drains its streams; refuses while tensors live
  phase = TN_LAYER_GONE;
  unregister_kernels(plugin.id);
  retire_ops(plugin);
  tn_status* status = guarded(
      [&] { call_plugin("quiesce", [&] { return plugin.table.quiesce(plugin.instance); }); });
  if (status == nullptr) status = stop(plugin);  // otherwise something may still run in it
  set_outcome(plugin, TN_PLUGIN_QUIESCED, plugin.id, to_view(plugin.info.version),
              to_view(tn_status_message(status)));
  plugin.instance = nullptr;
  check(status);
}

}  // namespace tenon::core
