#include "plugin/layer.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "plugin/plugin.hpp"
#include "plugin/search.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

std::atomic<const tn_layer*> g_given{nullptr};
std::atomic<bool> g_chosen{false};

const tn_layer* open_layer(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(TN_IO, "{}", dlerror());
  const auto query = reinterpret_cast<tn_layer_query_fn>(dlsym(library, "tn_layer_query"));
  const tn_layer* found = nullptr;
  if (query != nullptr) check(query(TN_ABI_MAJOR, TN_ABI_MINOR, &found));
  if (found == nullptr) fail(TN_INVALID_ARGUMENT, "{} is no layer for this core", path);
  return found;
}

// tenon_validate.so, where the environment asks for it; says so when there is none.
const tn_layer* validation() {
  const char* wanted = environment("TENON_VALIDATE");
  if (wanted == nullptr || *wanted == '\0' || std::string_view(wanted) == "0") return nullptr;
  const std::filesystem::path own = own_directory();
  std::filesystem::path path = own / "tenon/tenon_validate.so";
  if (own.filename() == "core")  // a build tree
    path = own.parent_path() / "sdk/validate/tenon_validate.so";
  const tn_layer* found = nullptr;
  tn_status* status = guarded([&] { found = open_layer(path.string()); });
  if (status != nullptr)
    std::fprintf(stderr, "tenon: TENON_VALIDATE is set, but nothing is checked: %s\n",
                 std::string(to_view(tn_status_message(status))).c_str());
  tn_status_release(status);
  return found;
}

struct Choice {
  const tn_layer* layer;
  const tn_host* host;
};
const Choice& choice() {
  static const Choice made = [] {
    g_chosen = true;
    Choice fresh{g_given, &host_table()};
    if (fresh.layer == nullptr) fresh.layer = validation();
    if (fresh.layer != nullptr && fresh.layer->host != nullptr)
      fresh.host = fresh.layer->host(&host_table());
    return fresh;
  }();
  return made;
}

}  // namespace

const tn_layer* layer() { return choice().layer; }
const tn_host& layered_host() { return *choice().host; }

void enter_phase(std::string_view plugin_id, uint32_t phase) {
  if (layer() != nullptr && layer()->phase != nullptr) layer()->phase(to_str(plugin_id), phase);
}

}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_layer_set(const tn_layer* given) {
  return guarded([&] {
    if (given == nullptr || given->struct_size < sizeof(tn_layer))
      fail(TN_INVALID_ARGUMENT, "tn_layer_set: the layer is NULL or its table too short");
    if (g_chosen)
      fail(TN_FAILED_PRECONDITION, "tn_layer_set: devices exist already; set it first of all");
    g_given = given;
  });
}
