#include "ir/schema.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace tenon::graph {
namespace {

// "Tensor! x", "float a=1.0".
Parameter parse(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const size_t space = text.find(' ');
  const std::string_view type = text.substr(0, space);
  const std::string_view rest = space == text.npos ? "" : text.substr(space + 1);
  return {std::string(rest.substr(0, rest.find('='))), type.find('!') != type.npos,
          type.starts_with("device"), type.starts_with("generator")};
}

// Only commas at the outermost level separate arguments, because a default may be a list or a string.
std::vector<Parameter> parse_all(std::string_view schema) {
  std::vector<Parameter> found;
  int depth = 0;
  bool quoted = false;
  size_t begin = schema.find('(') + 1;
  for (size_t i = begin; i < schema.size(); ++i) {
    const char c = schema[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '(') ++depth;
    const bool last = c == ')' && depth == 0;
    if (last || (c == ',' && depth == 0)) {
      if (i > begin) found.push_back(parse(schema.substr(begin, i - begin)));
      begin = i + 1;
    }
    if (last) break;
    if (c == ']' || c == ')') --depth;
  }
  return found;
}

}  // namespace

namespace {

const std::vector<Parameter>& shared_parameters(const tn_op& op) {
  static std::mutex mutex;
  static auto& known = *new std::unordered_map<const tn_op*, std::vector<Parameter>>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(&op);
  if (found != known.end()) return found->second;
  const tn_str schema = tn_op_schema(&op);
  return known.emplace(&op, parse_all({schema.data, static_cast<size_t>(schema.size)}))
      .first->second;
}

}  // namespace

const std::vector<Parameter>& parameters(const tn_op& op) {
  struct Known {
    const tn_op* op;
    const std::vector<Parameter>* parameters;
  };
  thread_local std::array<Known, 256> recent{};  // passes ask for each node, several times
  Known& known = recent[(reinterpret_cast<uintptr_t>(&op) >> 4) % recent.size()];
  if (known.op != &op) known = {&op, &shared_parameters(op)};
  return *known.parameters;
}

}  // namespace tenon::graph
