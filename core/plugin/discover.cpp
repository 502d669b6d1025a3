// Scanning directories for plugins, and the C API over what was found.
#include "loader.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "boundary.hpp"
#include "dispatch/disabled.hpp"
#include "dispatch/op.hpp"
#include "forever.hpp"
#include "memory/device.hpp"
#include "memory/forking.hpp"
#include "plugin/cpu_features.hpp"
#include "plugin/elf.hpp"
#include "plugin/plugin.hpp"
#include "plugin/probe.hpp"
#include "plugin/search.hpp"

namespace tenon::core {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kCardSuffix = ".tenon.json";

struct Candidate {
  Plugin* plugin;
  Card card;
};

struct List {
  Mutex loading;  // held by who loads, discovers or quiesces, and so within a plugin's start
  Mutex mutex;    // of what follows
  std::deque<Plugin> plugins;
  std::set<std::string, std::less<>> strings;  // what infos point at, for good
  std::set<std::string> scanned;               // directories
  std::vector<Candidate> waiting;              // until a device is asked for
};
List& list() { return forever<List>(); }

// The list's lock is held.
tn_str intern(std::string_view text) { return to_str(*list().strings.emplace(text).first); }

}  // namespace

Plugin& plugin_at(const std::string& path) {
  const std::lock_guard lock(list().mutex);
  for (Plugin& plugin : list().plugins)
    if (plugin.path == path) return plugin;
  Plugin& plugin = list().plugins.emplace_back();
  plugin.path = plugin.library = path;
  plugin.info = {sizeof(tn_plugin_info), TN_PLUGIN_REFUSED, intern(""), intern(""),
                 intern(path),           intern(""),        0,          0};
  return plugin;
}

Plugin* find_loaded(std::string_view id) {
  const std::lock_guard lock(list().mutex);
  for (Plugin& plugin : list().plugins)
    if (plugin.state == TN_PLUGIN_LOADED && plugin.id == id) return &plugin;
  return nullptr;
}

const void* plugin_interface(std::string_view id, tn_str name, uint32_t revision) {
  const Plugin* plugin = find_loaded(id);
  return plugin == nullptr ? nullptr
                           : plugin->table.get_interface(plugin->instance, name, revision);
}

std::string why_refused(std::string_view id) {
  const std::lock_guard lock(list().mutex);
  for (const Plugin& plugin : list().plugins)
    if (plugin.state == TN_PLUGIN_REFUSED && to_view(plugin.info.id) == id)
      return fmt::format("plugin {} was refused: {}", plugin.path, to_view(plugin.info.reason));
  return {};
}

void set_outcome(Plugin& plugin, uint32_t state, std::string_view id, std::string_view version,
                 std::string_view reason) {
  const std::lock_guard lock(list().mutex);
  plugin.state = plugin.info.state = state;
  plugin.info.id = intern(id);
  plugin.info.version = intern(version);
  plugin.info.reason = intern(reason);
}

namespace {

void refuse(Plugin& plugin, std::string_view reason) {
  set_outcome(plugin, TN_PLUGIN_REFUSED, to_view(plugin.info.id), to_view(plugin.info.version),
              reason);
}

// Why `body` failed; empty where it did not.
template <class Body>
std::string why_not(Body&& body) {
  try {
    body();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

// The card beside a library that names it; false if there is none.
bool card_beside(const fs::path& library, Card& card) {
  const fs::path path =
      library.parent_path() / (library.stem().string() + std::string(kCardSuffix));
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  card = read_card(path.string());
  return fs::path(card.library).filename() == library.filename();
}

void load_explicitly(std::string_view given) {
  std::error_code error;
  const fs::path path = fs::canonical(fs::path(given), error);
  if (error) fail(TN_NOT_FOUND, "no plugin \"{}\": {}", given, error.message());
  if (fs::is_directory(path, error))
    fail(TN_INVALID_ARGUMENT,
         "\"{}\" is a directory; put it into TENON_PLUGIN_PATH, or name a library", given);
  Plugin& plugin = plugin_at(path.string());
  if (plugin.state == TN_PLUGIN_LOADED) return;
  try {
    Card card;
    bool has_card = path.string().ends_with(kCardSuffix);
    if (has_card)
      card = read_card(path.string());
    else if (!is_probe())
      has_card = card_beside(path, card);
    // The same library by its card or by its own path is one plugin.
    if (const Plugin* other = has_card ? find_loaded(card.id) : nullptr;
        other != nullptr && other->library == card.library)
      return;
    load(plugin, has_card ? &card : nullptr);
  } catch (const Error& error) {
    refuse(plugin, error.what());
    fail(error.code(), "plugin {}: {}", plugin.path, error.what());
  }
}

// ---- Scanning -----------------------------------------------------------------------------------

void check_trust(const std::string& path) {
  if (const std::string reason = why_untrusted(path); !reason.empty())
    fail(TN_INVALID_ARGUMENT, "{}", reason);
}

// A plugin that the program loaded by its path, in or out of service.
const Plugin* opened_from(const fs::path& library) {
  std::error_code error;
  const fs::path real = fs::canonical(library, error);
  const std::lock_guard lock(list().mutex);
  for (const Plugin& plugin : list().plugins)
    if (!error && plugin.state != TN_PLUGIN_REFUSED && plugin.library == real) return &plugin;
  return nullptr;
}

// A library without a card is not opened, because only running it would show what it is.
void note_unclaimed(const fs::path& path, bool asked_for) {
  if (opened_from(path) != nullptr) return;
  if (!why_not([&] { check_library_file(Pinned(path.string())); }).empty()) return;
  Plugin& plugin = plugin_at(path.string());
  plugin.asked_for = asked_for;
  refuse(plugin, "has no identity card (NAME.tenon.json beside it); load it by its path");
}

// Cards of one directory, in the order of their names.
void collect(const Place& place, std::vector<Candidate>& found) {
  std::vector<fs::path> cards, libraries;
  std::error_code error;
  for (fs::directory_iterator entry(place.path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(kCardSuffix)) cards.push_back(entry->path());
    if (name.ends_with(".so")) libraries.push_back(entry->path());
  }
  std::sort(cards.begin(), cards.end());
  std::set<std::string> claimed;
  for (const fs::path& path : cards) {
    Plugin& plugin = plugin_at(path.string());
    if (plugin.state == TN_PLUGIN_LOADED) continue;
    plugin.asked_for = place.asked_for;
    Candidate candidate{&plugin, {}};
    const std::string reason = why_not([&] {
      candidate.card = read_card(path.string());
      claimed.insert(candidate.card.library);
      check_trust(path.string());
      check_trust(candidate.card.library);
    });
    if (reason.empty())
      found.push_back(std::move(candidate));
    else
      set_outcome(plugin, TN_PLUGIN_REFUSED, candidate.card.id, candidate.card.version, reason);
  }
  for (const fs::path& path : libraries)
    if (!claimed.contains(path.string())) note_unclaimed(path, place.asked_for);
}

// Of several builds of one id in a directory the one that uses most of this CPU comes first: the widest registers, then the most
// features. The others are tried when it fails.
void order_builds(std::vector<Candidate>& found, size_t first) {
  const auto rank = [](const Card& card) {
    uint64_t widest = 0;
    for (const std::string& feature : card.cpu_features)
      widest = std::max(widest, cpu_registers(feature));
    return std::pair(widest, card.cpu_features.size());
  };
  const auto begin = found.begin() + static_cast<std::ptrdiff_t>(first);
  std::stable_sort(begin, found.end(), [&](const auto& a, const auto& b) {
    return a.card.id != b.card.id ? a.card.id < b.card.id : rank(a.card) > rank(b.card);
  });
}

// A plugin may add kernels to a device that another one brings: tries again for as long as something new was loaded. Returns those
// whose device never came.
std::vector<Candidate> load_all(std::vector<Candidate> waiting) {
  for (bool progress = true; progress && !waiting.empty();) {
    progress = false;
    std::vector<Candidate> again;
    for (Candidate& candidate : waiting) {
      if (candidate.plugin->state == TN_PLUGIN_LOADED) continue;  // by its path, meanwhile
      const std::string reason = why_not([&] { load(*candidate.plugin, &candidate.card); });
      progress = progress || reason.empty();
      if (reason.empty()) continue;
      refuse(*candidate.plugin, reason);
      if (candidate.plugin->wants_device_type) again.push_back(std::move(candidate));
    }
    waiting = std::move(again);
  }
  return waiting;
}

// Who names a directory wants the plugins in it. A build that another one of the same id makes needless is not missed.
void warn() {
  std::vector<std::string> refused;
  std::set<std::string, std::less<>> to_come;
  for (const Candidate& candidate : list().waiting) to_come.insert(candidate.card.id);
  warn_of_unused_disables(to_come);
  {
    const std::lock_guard lock(list().mutex);
    std::set<std::string_view> loaded;
    for (const Plugin& plugin : list().plugins)
      if (plugin.state == TN_PLUGIN_LOADED) loaded.insert(plugin.id);
    for (Plugin& plugin : list().plugins) {
      const std::string_view id = to_view(plugin.info.id);
      if (to_come.contains(id) || !std::exchange(plugin.asked_for, false)) continue;
      if (plugin.state == TN_PLUGIN_REFUSED && !loaded.contains(id))
        refused.push_back(
            fmt::format("TENON_PLUGIN_PATH: {}: {}", plugin.path, to_view(plugin.info.reason)));
    }
  }
  for (const std::string& one : refused) log_message(2, one);
}

void scan() {
  std::vector<Candidate> waiting;
  for (const Place& place : search_places()) {
    if (!list().scanned.insert(place.path).second) continue;
    if (!place.refusal.empty()) {
      Plugin& nothing = plugin_at(place.path);
      nothing.asked_for = place.asked_for;
      refuse(nothing, place.refusal);
      continue;
    }
    const size_t first = waiting.size();
    collect(place, waiting);
    order_builds(waiting, first);
  }
  const auto now = std::stable_partition(waiting.begin(), waiting.end(),
                                         [](const auto& one) { return !one.card.only_devices; });
  for (auto later = now; later != waiting.end(); ++later) {
    set_outcome(*later->plugin, TN_PLUGIN_REFUSED, later->card.id, later->card.version,
                "is opened when a device is first asked for");
    list().waiting.push_back(std::move(*later));
  }
  waiting.erase(now, waiting.end());
  for (Candidate& candidate : load_all(std::move(waiting)))
    if (!list().waiting.empty()) list().waiting.push_back(std::move(candidate));
  plugins::g_waiting.store(!list().waiting.empty(), std::memory_order_release);
  warn();
}

void load_put_off() {
  if (list().waiting.empty()) return;
  load_all(std::exchange(list().waiting, {}));
  plugins::g_waiting.store(false, std::memory_order_release);
  warn();
}

template <class Body>
tn_status* with_loader(const char* function, Body&& body) {
  return guarded([&] {
    if (is_loading_here())
      fail(TN_FAILED_PRECONDITION, "{}: called from within a plugin's start or quiesce", function);
    const std::lock_guard lock(list().loading);
    body();
  });
}

}  // namespace

namespace plugins {

std::atomic<bool> g_discovered{false};
std::atomic<bool> g_waiting{false};

bool discover_now() {
  if (is_loading_here() || is_probe()) return false;
  tn_status_release(with_loader("discovery", [] {
    if (g_discovered.load(std::memory_order_acquire)) return;
    tn_status* status = guarded(scan);
    g_discovered.store(true, std::memory_order_release);
    tn_status_release(status);
  }));
  return true;
}

void load_waiting() {
  if (is_loading_here() || is_probe()) return;
  tn_status_release(with_loader("discovery", [] { load_put_off(); }));
}

}  // namespace plugins
}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_plugins_discover(void) {
  return with_loader("tn_plugins_discover", [] {
    scan();
    load_put_off();
    plugins::g_discovered.store(true, std::memory_order_release);
  });
}

tn_status* tn_plugin_load(tn_str path) {
  if (path.data == nullptr || path.size == 0)
    return make_status(TN_INVALID_ARGUMENT, "tn_plugin_load: the path is empty");
  return with_loader("tn_plugin_load", [&] { load_explicitly(to_view(path)); });
}

tn_status* tn_plugin_quiesce(tn_str id) {
  TN_REQUIRE(id.data);
  return with_loader("tn_plugin_quiesce", [&] {
    Plugin* plugin = find_loaded(to_view(id));
    if (plugin == nullptr) fail(TN_NOT_FOUND, "no plugin \"{}\" is loaded", to_view(id));
    quiesce(*plugin);
  });
}

uint32_t tn_plugin_count(void) {
  const std::lock_guard lock(list().mutex);
  return static_cast<uint32_t>(list().plugins.size());
}

tn_status* tn_plugin_get_info(uint32_t index, tn_plugin_info* out) {
  TN_REQUIRE(out);
  return guarded([&] {
    tn_plugin_info info;
    {
      const std::lock_guard lock(list().mutex);
      const size_t count = list().plugins.size();
      if (index >= count) fail(TN_OUT_OF_RANGE, "plugin {} of {}", index, count);
      info = list().plugins[index].info;
    }
    if (info.state == TN_PLUGIN_LOADED) {
      info.kernel_count = count_kernels(to_view(info.id));
      info.device_count = count_devices(to_view(info.id));
    }
    give(info, out);
  });
}

tn_status* tn_plugin_interface(tn_str id, tn_str name, uint32_t revision, const void** out) {
  TN_REQUIRE(id.data, name.data, out);
  return guarded([&] {
    ensure_discovered();
    *out = plugin_interface(to_view(id), name, revision);
    if (*out != nullptr) return;
    if (find_loaded(to_view(id)) == nullptr)
      fail(TN_NOT_FOUND, "no plugin \"{}\" is loaded", to_view(id));
    fail(TN_NOT_FOUND, "plugin \"{}\" offers no interface \"{}\" of revision {}", to_view(id),
         to_view(name), revision);
  });
}
