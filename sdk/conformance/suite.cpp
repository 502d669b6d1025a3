#include "suite.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "card.hpp"
#include "groups/groups.hpp"
#include "sample.hpp"

namespace tenon::conformance {
namespace {

constexpr Group kGroups[] = {
    {"abi", "test", "symbols, query, identity card, what start registers, hosts of other minors",
     abi_units, false, run_abi},
    {"memory", "test", "blocks, limits, copies, fills, through the plugin's tables", memory_units,
     false, run_memory},
    {"streams", "test", "order on a stream, between streams by events, times", streams_units, false,
     run_streams},
    {"values", "test", "each op × dtype × layout against the reference, and in place", values_units,
     true, run_values},
    {"gradients", "grad", "first and second order against differences", gradients_units, true,
     run_gradients},
    {"support", "support", "`supports` says yes and no truthfully and always the same",
     support_units, true, run_support},
    {"threads", "test", "each op from four threads at once", threads_units, true, run_threads},
    {"leaks", "test", "memory in use returns to the start after each op", leaks_units, true,
     run_leaks},
    {"guard", "test", "each op under the validating layer: crossings, guarded memory, leaks",
     guard_units, true, run_guard},
    {"faults", "test", "out of memory at each allocation, once and for good", faults_units, false,
     run_faults},
    {"new_ops", "test", "ops that the plugin brings: shapes, gradients, decompositions",
     new_ops_units, false, run_new_ops},
    {"layers", "test", "layers over calls that the plugin offers: results, gradients, memory",
     layers_units, false, run_layers},
    {"cycles", "test", "load and quiesce again and again: no growth", cycles_units, false,
     run_cycles},
    {"large", "large", "sizes of real networks, at drawn places against double precision",
     large_units, true, run_large},
};

std::set<std::string> op_names() {
  std::set<std::string> names;
  for (uint32_t i = 0; i < tn_op_count(); ++i)
    names.emplace(detail::to_view(tn_op_name(tn_op_at(i))));
  return names;
}
std::vector<std::string>
    g_new_ops;  // the subject's own, not those of plugins that are discovered later

const PluginInfo* find_info(const std::vector<PluginInfo>& infos, const Subject& subject) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(subject.path, error).string();
  const std::string card = card_of(subject.path);
  const std::string id = card.empty() ? std::string() : read_card(card).id;
  for (const PluginInfo& info : infos)
    if (info.state == PluginInfo::State::Loaded && (info.path == path || info.id == id))
      return &info;
  return nullptr;
}

bool claims_any_kernel(std::string_view id, Device device) {
  for (uint32_t i = 0; i < tn_op_count(); ++i)
    for (uint32_t dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype)
      if (claims_kernel(id, tn_op_at(i), device, static_cast<DType>(dtype))) return true;
  return false;
}

// The plugin's first device, or the first one that its kernels are for. For ops composed of others, the host.
std::string device_for(std::string_view id) {
  for (const Device& device : devices())
    if (device.plugin() == id) return std::string(device.id());
  for (const Device& device : devices())
    if (claims_any_kernel(id, device)) return std::string(device.id());
  return g_new_ops.empty() && layers_of({.path = {}, .id = std::string(id), .device = {}}).empty()
             ? ""
             : "cpu:0";
}

std::string_view type_of(std::string_view id) { return id.substr(0, id.find(':')); }

}  // namespace

std::span<const Group> groups() { return kGroups; }

const Group* find_group(std::string_view name) {
  const auto* found = std::find_if(std::begin(kGroups), std::end(kGroups),
                                   [&](const Group& group) { return group.name == name; });
  return found == std::end(kGroups) ? nullptr : found;
}

bool claims_kernel(std::string_view id, const tn_op* op, Device device, DType dtype) {
  const auto code = static_cast<tn_dtype>(dtype);
  if (detail::to_view(tn_op_provider(op, device.get(), code)) == id) return true;
  std::string text;  // another plugin's kernel may come first
  detail::check(tn_op_explain(
      op, device.get(), code,
      [](void* to, tn_str chunk) {
        static_cast<std::string*>(to)->append(chunk.data, static_cast<size_t>(chunk.size));
      },
      &text));
  return text.find("kernel of plugin '" + std::string(id) + "'") != std::string::npos;
}

void load_subject(Subject& subject) {
  static std::string loaded;
  if (loaded != subject.path) {
    const std::set<std::string> before = op_names();
    try {
      load_plugin(subject.path);
    } catch (const Error&) {  // its kernels may be for a device that another plugin brings
      discover_plugins();
      load_plugin(subject.path);
    }
    loaded = subject.path;
    g_new_ops.clear();
    std::ranges::set_difference(op_names(), before, std::back_inserter(g_new_ops));
    tn_fallback_set(TN_FALLBACK_ALLOW);  // the report shows which op ran where
  }
  if (subject.id.empty()) {
    const std::vector<PluginInfo> infos = plugins();
    const PluginInfo* info = find_info(infos, subject);
    if (info == nullptr) throw Error(TN_INTERNAL, subject.path + " was loaded, but is not listed");
    subject.id = info->id;
  }
  if (subject.device.empty()) subject.device = device_for(subject.id);
}

std::vector<std::string> Claims::all_ops() const {
  std::vector<std::string> all = ops;
  all.insert(all.end(), new_ops.begin(), new_ops.end());
  return all;
}

std::vector<std::string> further_devices(const Subject& subject) {
  std::vector<std::string> found;
  std::set<std::string_view> types = {type_of(subject.device)};
  for (const Device& device : devices())
    if (device.plugin() != subject.id && types.insert(type_of(device.id())).second &&
        claims_any_kernel(subject.id, device))
      found.emplace_back(device.id());
  return found;
}

Claims claims_of(const Subject& subject) {
  Claims claims;
  std::set<std::string> known;
  for (const Sample& sample : table().samples()) known.insert(sample.op);
  if (!subject.device.empty()) {
    const Device device(subject.device);
    claims.has_device = device.plugin() == subject.id;
    for (const std::string& name : known) {
      const tn_op* op = tn_op_find(detail::to_str(name));
      bool claimed = claims.has_device;
      for (uint32_t dtype = 0; dtype < TN_DTYPE_COUNT && !claimed && op != nullptr; ++dtype)
        claimed = claims_kernel(subject.id, op, device, static_cast<DType>(dtype));
      if (claimed && op != nullptr) claims.ops.push_back(name);
    }
  }
  for (const tn_offered_layer& layer : layers_of(subject))
    claims.layers.emplace_back(detail::to_view(layer.name));
  claims.new_ops = g_new_ops;  // they run wherever the ops that they are composed of run
  return claims;
}

}  // namespace tenon::conformance
