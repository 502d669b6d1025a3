#include "dispatch/disabled.hpp"

#include <deque>
#include <sstream>

#include "forever.hpp"
#include "loader.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

struct Entry {
  std::string plugin, op;
  std::atomic<bool> used{false};
};

struct Entries : std::deque<Entry> {
  Entries() {
    const char* given = environment("TENON_DISABLE");
    std::istringstream list(given == nullptr ? "" : given);
    for (std::string one; std::getline(list, one, ',');) {
      if (one.empty()) continue;
      Entry& entry = emplace_back();
      entry.plugin = one.substr(0, one.find('/'));
      entry.op = one.substr(std::min(entry.plugin.size() + 1, one.size()));
    }
  }
};

}  // namespace

bool is_disabled(std::string_view plugin, std::string_view op) {
  bool disabled = false;
  for (Entry& entry : forever<Entries>())
    if ((entry.plugin == "*" || entry.plugin == plugin) && (entry.op == "*" || entry.op == op))
      entry.used = disabled = true;
  return disabled;
}

void warn_of_unused_disables(const std::set<std::string, std::less<>>& to_come) {
  for (Entry& entry : forever<Entries>()) {
    if (to_come.contains(entry.plugin) || entry.used.exchange(true)) continue;
    std::vector<std::string> known;
    for (const auto& [op, kernel] : kernels_in_service())
      known.push_back(kernel->plugin + "/" + op->schema.name);
    const std::string wanted = entry.plugin + "/" + entry.op;
    const std::string near = nearest_name(wanted, {known.begin(), known.end()});
    log_message(2, fmt::format("TENON_DISABLE: \"{}\" fits no kernel{}", wanted,
                               near.empty() ? " (PLUGIN/OP is expected)"
                                            : "; did you mean \"" + near + "\"?"));
  }
}

}  // namespace tenon::core
