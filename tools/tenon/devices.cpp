// tenon devices: plugins and devices, or why there are none.
#include <fmt/core.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "command.hpp"
#include "tenon/ext/draft/device.h"
#include "tenon/ext/draft/libraries.h"
#include "tenon/tenon.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;
using detail::to_view;

std::string_view kind_name(uint32_t kind) {
  constexpr std::string_view kNames[] = {"cpu", "gpu", "integrated gpu", "software", "other"};
  return kind < std::size(kNames) ? kNames[kind] : "other";
}

std::string_view state_name(uint32_t state) {
  constexpr std::string_view kNames[] = {"ok", "refused", "quiesced"};
  return state < std::size(kNames) ? kNames[state] : "?";
}

std::vector<tn_plugin_info> plugin_infos() {
  detail::check(tn_plugins_discover());
  std::vector<tn_plugin_info> infos(tn_plugin_count());
  for (uint32_t i = 0; i < infos.size(); ++i) {
    infos[i].struct_size = sizeof(tn_plugin_info);
    detail::check(tn_plugin_get_info(i, &infos[i]));
  }
  return infos;
}

// The vendor's libraries that a device's plugin computes with; empty if it reports none.
Json libraries_of(const Device& device) {
  Json found = Json::array();
  const auto note = [](void* ctx, const tn_library_info* info) {
    static_cast<Json*>(ctx)->push_back({{"name", to_view(info->name)},
                                        {"version", to_view(info->version)},
                                        {"path", to_view(info->path)},
                                        {"reason", to_view(info->reason)}});
  };
  struct Asked {
    Json* found;
    tn_library_fn note;
  } asked{&found, note};
  const auto ask = [](void* ctx, const tn_extension* extension) -> tn_status* {
    const auto* const table = static_cast<const tn_libraries*>(extension->table);
    const auto* const wanted = static_cast<const Asked*>(ctx);
    return table == nullptr ? nullptr : table->tell(wanted->note, wanted->found);
  };
  detail::check(tn_device_extend(device.get(), detail::to_str(TN_LIBRARIES_NAME),
                                 TN_LIBRARIES_REVISION, ask, &asked));
  return found;
}

// One row for each device, and one for each plugin that provides none.
std::vector<Json> collect() {
  std::vector<Json> rows;
  auto plugins = plugin_infos();
  for (const Device& device : devices()) {
    tn_device_info info = device.info();
    std::string plugin(device.plugin());
    Json row = {{"plugin", plugin},
                {"version", ""},
                {"path", ""},
                {"device", std::string(device.id())},
                {"name", std::string(to_view(info.name))},
                {"kind", std::string(kind_name(info.kind))},
                {"memory_total", info.memory_total},
                {"memory_free", info.memory_free},
                {"status", "ok"},
                {"reason", ""}};
    for (const tn_plugin_info& found : plugins)
      if (to_view(found.id) == plugin) {
        row["version"] = to_view(found.version);
        row["path"] = to_view(found.path);
      }
    row["libraries"] = libraries_of(device);
    rows.push_back(std::move(row));
  }
  for (const tn_plugin_info& found : plugins) {
    if (found.device_count > 0 && found.state == TN_PLUGIN_LOADED) continue;
    std::string reason(to_view(found.reason));
    if (reason.empty() && found.kernel_count > 0)
      reason = fmt::format("{} kernels for devices of other plugins", found.kernel_count);
    rows.push_back({{"plugin", to_view(found.id)},
                    {"version", to_view(found.version)},
                    {"path", to_view(found.path)},
                    {"device", ""},
                    {"name", ""},
                    {"kind", ""},
                    {"memory_total", 0},
                    {"memory_free", 0},
                    {"status", state_name(found.state)},
                    {"reason", reason}});
  }
  return rows;
}

std::string memory(const Json& row) {
  double total = row["memory_total"].get<double>();
  if (total == 0) return "";
  return format_bytes(row["memory_free"].get<double>()) + " of " + format_bytes(total) + " free";
}

// "  cuDNN 9.13.0: /usr/lib/libcudnn.so.9", or why it is missing.
void print_libraries(const Json& row) {
  for (const Json& library : row.value("libraries", Json::array())) {
    const std::string version = library["version"], path = library["path"],
                      reason = library["reason"];
    fmt::print("  {}{}{}: {}\n", library["name"].get<std::string>(), version.empty() ? "" : " ",
               version, reason.empty() ? path : "not used, as " + reason);
  }
}

// A plugin that was refused before it told its id is known by its file.
std::string plugin_name(const Json& row) {
  const std::string id = row["plugin"], path = row["path"];
  return id.empty() ? std::filesystem::path(path).filename().string() : id;
}

int run(const po::variables_map& given) {
  std::vector<Json> found = collect();
  if (given["json"].as<bool>()) {
    std::cout << Json(found).dump(2) << '\n';
    return kOk;
  }
  std::vector<std::vector<std::string>> rows = {
      {"PLUGIN", "VERSION", "DEVICE", "KIND", "MEMORY", "STATUS", "NAME OR REASON"}};
  for (const Json& row : found) {
    std::string note = row["reason"].get<std::string>().empty() ? row["name"] : row["reason"];
    rows.push_back({plugin_name(row), row["version"], row["device"], row["kind"], memory(row),
                    row["status"], note});
  }
  print_table(rows);
  std::set<std::string> told;  // plugins with several devices appear once
  for (const Json& row : found) {
    const std::string plugin = plugin_name(row), path = row["path"];
    if (path.empty() || !told.insert(plugin + path).second) continue;
    fmt::print("{}: {}\n", plugin, path);
    print_libraries(row);
  }
  return kOk;
}

}  // namespace

Command devices_command() {
  Command command{"devices",
                  "list plugins and devices, and why a plugin cannot be used",
                  "  tenon devices\n  tenon devices --json | python3 -m json.tool\n",
                  {},
                  {},
                  &run};
  command.options.add_options()("help,h", "show this help")(
      "json", po::bool_switch(),
      "print JSON: plugin, version, path, device, kind, memory, status, reason, libraries");
  return command;
}

}  // namespace tenon::tool
