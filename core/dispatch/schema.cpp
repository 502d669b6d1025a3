// The grammar of schemas: name(Type arg=default, …) -> Type result, … @revision
#include <cctype>
#include <charconv>

#include "dispatch/op.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    schema.text = std::string(text_);
    schema.name = std::string(word());
    expect("(");
    if (!accept(")")) {
      do schema.args.push_back(argument());
      while (accept(","));
      expect(")");
    }
    expect("->");
    if (accept("(")) {
      expect(")");
    } else {
      do schema.results.push_back(result(schema.list_result));
      while (!schema.list_result && accept(","));
    }
    if (accept("@")) schema.revision = number<uint32_t>();
    skip();
    if (at_ != text_.size()) error("the end");
    return schema;
  }

 private:
  [[noreturn]] void error(std::string_view wanted) {
    fail(TN_INVALID_ARGUMENT, "schema \"{}\": {} expected at position {}", text_, wanted, at_);
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) error("\"" + std::string(token) + "\"");
  }
  std::string_view word() {
    skip();
    size_t start = at_;
    auto part = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
    while (at_ < text_.size() && part(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ == start) error("a name");
    return text_.substr(start, at_ - start);
  }
  template <class Number>
  Number number() {
    skip();
    Number value{};
    auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc()) error("a number");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  ArgType type() {
    std::string_view name = word();
    for (size_t type = 0; type < std::size(kArgTypes); ++type)
      if (name == kArgTypes[type].text) return static_cast<ArgType>(type);
    at_ -= name.size();
    error("a type");
  }

  ArgSpec argument() {
    ArgSpec arg;
    arg.type = type();
    arg.written = accept("!");
    bool question = accept("?");
    arg.list = accept("[");
    if (arg.list) {
      expect("]");
      arg.optional_entries = question;
      arg.optional = accept("?");
    } else {
      arg.optional = question;
    }
    arg.name = std::string(word());
    if (accept("=")) parse_default(arg);
    return arg;
  }

  void parse_default(ArgSpec& arg) {
    arg.has_default = true;
    tn_value& value = arg.default_value;
    value = tn_value{};
    if (accept("none")) return;
    if (arg.list) {
      expect("[");
      while (!accept("]")) {
        arg.default_ints.push_back(number<int64_t>());
        accept(",");
      }
      value.tag = TN_VALUE_INTS;
      value.as.ints = arg.default_ints.data();
      value.count = static_cast<uint32_t>(arg.default_ints.size());
      return;
    }
    value.tag = kArgTypes[static_cast<size_t>(arg.type)].tag;
    switch (arg.type) {
      case ArgType::Bool:
        value.as.i = accept("true");
        if (value.as.i == 0) expect("false");
        return;
      case ArgType::Str: {
        expect("\"");
        size_t end = text_.find('"', at_);
        if (end == std::string_view::npos) error("\"");
        arg.default_text.assign(text_.begin() + at_, text_.begin() + end);
        value.as.str = arg.default_text.data();
        value.count = static_cast<uint32_t>(end - at_);
        at_ = end + 1;
        return;
      }
      case ArgType::Int:
        value.as.i = number<int64_t>();
        return;
      case ArgType::Float:
        value.as.f = number<double>();
        return;
      default:
        error("none");
    }
  }

  std::string result(bool& list) {
    if (type() != ArgType::Tensor) error("Tensor");
    list = accept("[");
    if (list) expect("]");
    skip();
    bool named = at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]));
    return named ? std::string(word()) : std::string();
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

}  // namespace tenon::core
