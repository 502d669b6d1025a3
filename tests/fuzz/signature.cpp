#include "signature.hpp"

#include <algorithm>

namespace tenon::fuzz {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas, except within brackets or quotes.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '"') quoted = !quoted;
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || ((depth != 0 || quoted) && i < text.size())) continue;
    const std::string_view part = trimmed(text.substr(start, i - start));
    if (!part.empty()) parts.push_back(part);
    start = i + 1;
  }
  return parts;
}

// "Tensor?[] indices", "int[]? dims=none"
Argument parse_argument(std::string_view text) {
  Argument arg;
  const size_t name = text.find(' ');
  const std::string_view type = text.substr(0, name);
  std::string_view rest = trimmed(text.substr(name));
  const size_t equals = rest.find('=');
  arg.name = rest.substr(0, equals);
  if (equals != rest.npos) arg.otherwise = rest.substr(equals + 1);
  arg.type = type.substr(0, type.find_first_of("?![]"));
  const size_t list = type.find("[]");
  arg.list = list != type.npos;
  arg.written = type.find('!') != type.npos;
  arg.optional_entries = arg.list && type.find('?') < list;
  arg.optional = type.ends_with('?');
  return arg;
}

}  // namespace

Signature parse_signature(std::string_view schema) {
  Signature signature;
  const size_t open = schema.find('('), arrow = schema.rfind(" -> ");
  signature.op = schema.substr(0, open);
  const size_t close = schema.rfind(')', arrow);
  for (const std::string_view part : split(schema.substr(open + 1, close - open - 1)))
    signature.args.push_back(parse_argument(part));
  std::string_view results = schema.substr(arrow + 4);
  results = trimmed(results.substr(0, results.rfind('@')));
  signature.results =
      results == "()" ? 0 : static_cast<unsigned>(1 + std::ranges::count(results, ','));
  return signature;
}

}  // namespace tenon::fuzz
