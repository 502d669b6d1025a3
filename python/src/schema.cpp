#include "schema.hpp"

#include <stdexcept>
#include <utility>

namespace tenon::python {
namespace {

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"Tensor", Kind::Tensor}, {"int", Kind::Int},       {"float", Kind::Float},
    {"bool", Kind::Bool},     {"str", Kind::Str},       {"Scalar", Kind::Scalar},
    {"dtype", Kind::DType},   {"device", Kind::Device}, {"generator", Kind::Generator}};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside brackets and quotes.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (!trim(text).empty()) parts.push_back(trim(text.substr(start)));
  return parts;
}

Parameter parse_parameter(std::string_view text) {
  Parameter p{};
  const size_t equals = text.find('=');
  if (equals != text.npos) {
    p.has_default = true;
    p.default_text = text.substr(equals + 1);
    text = text.substr(0, equals);
  }
  p.text = text;
  const size_t space = text.find(' ');
  if (space == text.npos) throw std::runtime_error("argument without a name");
  std::string_view type = text.substr(0, space);
  const std::string name(text.substr(space + 1));
  if (type.ends_with('?')) p.optional = true, type.remove_suffix(1);
  if (type.ends_with("[]")) {
    p.list = true, type.remove_suffix(2);
    if (type.ends_with('?')) p.entries_optional = true, type.remove_suffix(1);
  }
  if (type.ends_with('!')) type.remove_suffix(1);
  for (const auto& [word, kind] : kKinds) {
    if (word != type) continue;
    p.kind = kind;
    p.name = PyUnicode_InternFromString(name.c_str());
    return p;
  }
  throw std::runtime_error("unknown type " + std::string(type));
}

}  // namespace

Schema parse_schema(std::string_view name, std::string_view text) {
  Schema schema;
  schema.name = name;
  schema.text = text.substr(0, text.rfind(" @"));
  const size_t open = schema.text.find('('), arrow = schema.text.find(") -> ");
  if (open == std::string::npos || arrow == std::string::npos)
    throw std::runtime_error("not a schema: " + std::string(text));
  const std::string_view whole = schema.text;
  for (std::string_view part : split(whole.substr(open + 1, arrow - open - 1)))
    schema.parameters.push_back(parse_parameter(part));
  const std::string_view results = trim(whole.substr(arrow + 5));
  if (results != "()") {
    for (std::string_view part : split(results)) {
      const size_t space = part.find(' ');
      schema.results.emplace_back(space == part.npos ? "" : part.substr(space + 1));
      schema.list_result = part.starts_with("Tensor[]");
    }
  }
  if (schema.parameters.size() > kMaxParameters) throw std::runtime_error("too many arguments");
  if (schema.parameters.size() > 1) {
    const Parameter& last = schema.parameters.back();
    schema.spread = last.list && last.kind == Kind::Int;
  }
  return schema;
}

}  // namespace tenon::python
