// The ABI itself: symbols, the query, what start registers, the identity card, hosts of another minor.
#include <algorithm>
#include <set>

#include "card.hpp"
#include "groups/groups.hpp"
#include "stage.hpp"
#include "symbols.hpp"

namespace tenon::conformance {
namespace {

constexpr uint32_t kLargestTable = 1 << 16;  // bytes; a larger struct_size is garbage

bool is_text(tn_str text, size_t most = 4096) {
  if (text.data == nullptr) return text.size == 0;
  if (text.size > most) return false;
  const auto view = detail::to_view(text);
  for (size_t i = 0; i < view.size();) {  // UTF-8, without control characters
    const auto c = static_cast<unsigned char>(view[i]);
    const size_t n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    if (n == 0 || i + n > view.size() || (n == 1 && (c < 0x20 || c == 0x7f))) return false;
    for (size_t k = 1; k < n; ++k)
      if ((static_cast<unsigned char>(view[i + k]) & 0xc0) != 0x80) return false;
    i += n;
  }
  return true;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

std::string size_problem(const char* what, uint32_t size, size_t least) {
  if (size >= least && size <= kLargestTable && size % 4 == 0) return {};
  return std::string(what) + ".struct_size is " + std::to_string(size) +
         "; a plugin of this ABI has at least " + std::to_string(least);
}

// ---- Symbols

void check_symbols(const Subject& subject, Sink& sink) {
  const Symbols symbols = read_symbols(library_of(subject.path));
  run_case(sink, "symbols/exports one", [&]() -> std::string {
    if (symbols.exported == std::vector<std::string>{"tn_plugin_query"}) return {};
    std::string others;
    for (size_t i = 0; i < std::min<size_t>(symbols.exported.size(), 6); ++i)
      others += (i ? ", " : "") + symbols.exported[i];
    return "exports " + std::to_string(symbols.exported.size()) +
           " symbols, wanted tn_plugin_query alone: " + others +
           " (link with sdk/plugin.map and -fvisibility=hidden)";
  });
  run_case(sink, "symbols/needs none of the core", [&]() -> std::string {
    for (const std::string& name : symbols.undefined)
      if (name.starts_with("tn_"))
        return "needs the symbol " + name + "; use the host's table instead";
    return {};
  });
}

// ---- The query

void check_query(const Subject& subject, Sink& sink) {
  Stage stage(subject.path);
  const auto ask = [&](uint32_t major, uint32_t minor) {
    const tn_plugin* given = nullptr;
    const std::string text = text_of(stage.query()(major, minor, &given));
    return text.empty() ? given : nullptr;
  };
  run_case(sink, "query/repeatable", [&]() -> std::string {
    const tn_plugin* first = ask(TN_ABI_MAJOR, TN_ABI_MINOR);
    const std::string before(reinterpret_cast<const char*>(first),
                             std::min<size_t>(first->struct_size, sizeof(tn_plugin)));
    for (int i = 0; i < 3; ++i) {
      const tn_plugin* again = ask(TN_ABI_MAJOR, TN_ABI_MINOR);
      if (again == nullptr ||
          std::string(reinterpret_cast<const char*>(again), before.size()) != before)
        return "tn_plugin_query gives another table when asked again; it must be pure";
    }
    return {};
  });
  for (uint32_t major : {0u, TN_ABI_MAJOR + 1u, 4000000000u})
    run_case(sink, "query/major " + std::to_string(major), [&]() -> std::string {
      const tn_plugin* given = ask(major, 0);  // a refusal, or a table that says what it is
      if (given != nullptr && given->abi_major != TN_ABI_MAJOR)
        return "asked by a host of major " + std::to_string(major) + " its table says major " +
               std::to_string(given->abi_major);
      return {};
    });
  run_case(sink, "query/newer minor", [&]() -> std::string {
    return ask(TN_ABI_MAJOR, TN_ABI_MINOR + 7) == nullptr
               ? "refuses a host of a newer minor; a plugin of 1.x runs in every later 1.y"
               : "";
  });
  run_case(sink, "query/table", [&]() -> std::string {
    const tn_plugin* given = ask(TN_ABI_MAJOR, TN_ABI_MINOR);
    if (auto problem = size_problem("tn_plugin", given->struct_size, offsetof(tn_plugin, quiesce));
        !problem.empty())
      return problem;
    if (given->abi_major != TN_ABI_MAJOR) return "its major is " + std::to_string(given->abi_major);
    if (given->min_host_minor > given->abi_minor)
      return "needs a newer host (minor " + std::to_string(given->min_host_minor) +
             ") than it was built for (" + std::to_string(given->abi_minor) + ")";
    if (!is_text(given->id, 128) || !is_name(detail::to_view(given->id)))
      return "its id is not a name of letters, digits, '.', '_' and '-'";
    if (!is_text(given->version, 128) || given->version.size == 0)
      return "its version is missing or no text";
    return {};
  });
}

void check_card(const Subject& subject, Sink& sink) {
  const std::string path = card_of(subject.path);
  if (path.empty()) return sink.skip("card", "the library has no identity card beside it");
  run_case(sink, "card/agrees", [&]() -> std::string {
    const Card card = read_card(path);
    const Stage stage(subject.path);
    const auto differs = [](const char* what, const auto& on_card, const auto& in_library) {
      std::ostringstream text;
      text << "the card's " << what << " is " << on_card << ", the library's " << in_library;
      return text.str();
    };
    if (card.id != detail::to_view(stage.table().id))
      return differs("id", card.id, detail::to_view(stage.table().id));
    if (card.version != detail::to_view(stage.table().version))
      return differs("version", card.version, detail::to_view(stage.table().version));
    if (card.abi_major != stage.table().abi_major)
      return differs("major", card.abi_major, stage.table().abi_major);
    if (card.min_host_minor != stage.table().min_host_minor)
      return differs("min_host_minor", card.min_host_minor, stage.table().min_host_minor);
    return {};
  });
}

// ---- What start registers

std::string kernel_problem(const StagedKernel& kernel, const Stage& stage) {
  const tn_kernel& table = kernel.table;
  if (auto problem = size_problem("tn_kernel", table.struct_size, offsetof(tn_kernel, self));
      !problem.empty())
    return problem;
  if (table.run == nullptr) return "has no run";
  if ((table.prepare == nullptr) != (table.release == nullptr))
    return "has only one of prepare and release";
  if (table.dtypes == 0) return "takes no dtype";
  if ((table.dtypes & ~(TN_MASK_ALL | TN_MASK_F8)) != 0)
    return "has bits in its dtype mask that are no dtypes";
  const std::string name = kernel.schema.substr(0, kernel.schema.find('('));
  for (const StagedOp& own : stage.ops)
    if (own.schema == kernel.schema) return {};
  const tn_op* op = tn_op_find(detail::to_str(name));
  if (op == nullptr) return "is for an op that neither the core nor the plugin has";
  if (detail::to_view(tn_op_schema(op)) != kernel.schema)
    return "is for another schema than the core's: " +
           std::string(detail::to_view(tn_op_schema(op)));
  return {};
}

std::string info_problem(const StagedType& type, uint32_t index) {
  tn_device_info info{}, again{};
  info.struct_size = again.struct_size = sizeof info;
  call(type.device.info, "device.info", type.self, index, &info);
  call(type.device.info, "device.info", type.self, index, &again);
  if (!is_text(info.name) || info.name.size == 0) return "its name is missing or no text";
  if (!is_text(info.pci_id)) return "its pci_id is no text";
  if (info.kind > TN_DEVICE_KIND_OTHER) return "its kind is " + std::to_string(info.kind);
  if (info.memory_free > info.memory_total)
    return "has " + std::to_string(info.memory_free) + " bytes free of " +
           std::to_string(info.memory_total);
  if ((info.dtypes & ~(TN_MASK_ALL | TN_MASK_F8)) != 0 || info.dtypes == 0)
    return "its dtype mask is empty or has bits that are no dtypes";
  if (info.struct_size != sizeof info) return "device.info changed struct_size";
  if (detail::to_view(info.name) != detail::to_view(again.name) || info.kind != again.kind ||
      info.dtypes != again.dtypes)
    return "describes itself otherwise when asked again";
  return {};
}

void check_types(const Stage& stage, Sink& sink) {
  for (const StagedType& type : stage.types) {
    uint32_t count = 0;
    run_case(sink, "start/device type " + type.name, [&]() -> std::string {
      if (!is_name(type.name)) return "the name is not made of letters, digits, '.', '_', '-'";
      tn_str reason{nullptr, 0};
      call(type.device.count, "device.count", type.self, &count, &reason);
      if (!is_text(reason)) return "device.count gave a reason that is no text";
      if (count == 0 && reason.size == 0) return "has no device and gives no reason";
      return {};
    });
    for (uint32_t i = 0; i < std::min(count, 16u); ++i)
      run_case(sink, "start/device " + type.name + ":" + std::to_string(i),
               [&] { return info_problem(type, i); });
  }
}

void check_start(const Subject& subject, Sink& sink) {
  Stage stage(subject.path);
  run_case(sink, "start/starts", [&] { return text_of(stage.start()); });
  for (const StagedKernel& kernel : stage.kernels)
    run_case(sink, "start/kernel " + kernel.schema, [&] { return kernel_problem(kernel, stage); });
  for (const StagedOp& op : stage.ops)
    run_case(sink, "start/op " + op.schema, [&]() -> std::string {
      if (op.schema.find('.') > op.schema.find('('))
        return "names without a dot are the core's own: call it \"vendor." +
               op.schema.substr(0, op.schema.find('(')) + "\"";
      return {};
    });
  check_types(stage, sink);
  run_case(sink, "start/unknown interface", [&]() -> std::string {
    if (stage.table().get_interface == nullptr) return {};
    constexpr std::string_view kNobody = "org.example.nobody-offers-this";
    return stage.table().get_interface(nullptr, detail::to_str(kNobody), 1) != nullptr
               ? "get_interface answers a name that nobody offers"
               : "";
  });
  run_case(sink, "start/quiesces", [&] { return text_of(stage.quiesce()); });
  stage.stop();
  run_case(sink, "start/again after stop", [&]() -> std::string {
    const size_t kernels = stage.kernels.size(), types = stage.types.size();
    if (auto text = text_of(stage.start()); !text.empty()) return text;
    return stage.kernels.size() == kernels && stage.types.size() == types
               ? ""
               : "registers something else at its second start";
  });
}

// ---- Other hosts

void check_hosts(const Subject& subject, Sink& sink) {
  run_case(sink, "hosts/newer minor", [&]() -> std::string {
    Stage stage(subject.path);
    const std::string text = text_of(stage.start(64));
    return text.empty() ? text
                        : "does not start under a host of minor " +
                              std::to_string(TN_ABI_MINOR + 1) + ": " + text;
  });
  run_case(sink, "hosts/registration refused", [&]() -> std::string {
    const int64_t before = Stage::live_statuses();
    Stage stage(subject.path);
    stage.refuse_with = TN_INVALID_ARGUMENT;
    const bool registers = [&] {
      Stage plain(subject.path);
      text_of(plain.start());
      return !plain.types.empty() || !plain.kernels.empty() || !plain.ops.empty();
    }();
    const std::string text = text_of(stage.start());
    if (registers && text.empty()) return "start succeeds although the host refused its tables";
    if (Stage::live_statuses() != before)
      return "keeps " + std::to_string(Stage::live_statuses() - before) +
             " statuses that it should pass on or release";
    return {};
  });
}

}  // namespace

std::vector<std::string> abi_units(const Claims&) {
  return {"symbols", "query", "card", "start", "hosts"};
}

void run_abi(const Subject& subject, const std::string& unit, Sink& sink) {
  if (unit == "symbols") check_symbols(subject, sink);
  if (unit == "query") check_query(subject, sink);
  if (unit == "card") check_card(subject, sink);
  if (unit == "start") check_start(subject, sink);
  if (unit == "hosts") check_hosts(subject, sink);
}

}  // namespace tenon::conformance
