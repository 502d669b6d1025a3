// A strict reader for the part of JSON that a safetensors header uses: objects, strings, arrays of whole numbers.
#ifndef TENON_IO_DETAIL_JSON_HPP
#define TENON_IO_DETAIL_JSON_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/error.hpp"

namespace tenon::io::detail {

class JsonReader {
 public:
  // Errors begin with `where` and count bytes from `base`.
  JsonReader(std::string_view text, std::string where, uint64_t base)
      : text_(text), where_(std::move(where)), base_(base) {}

  [[noreturn]] void fail(const std::string& reason) const { fail_at(at_, reason); }
  [[noreturn]] void fail_at(size_t position, const std::string& reason) const {
    throw Error(TN_DATA_LOSS,
                where_ + ": byte " + std::to_string(base_ + position) + ": " + reason);
  }
  size_t position() const { return at_; }

  // Calls entry(key) for each key; entry must read the value.
  void object(const std::function<void(const std::string& key, size_t key_at)>& entry) {
    expect('{', "an object");
    if (accept('}')) return;
    do {
      skip_space();
      const size_t key_at = at_;
      const std::string key = string();
      expect(':', "a colon behind the key");
      entry(key, key_at);
    } while (accept(','));
    expect('}', "a comma or the end of the object");
  }

  std::vector<uint64_t> numbers() {
    std::vector<uint64_t> list;
    expect('[', "an array");
    if (accept(']')) return list;
    do list.push_back(number());
    while (accept(','));
    expect(']', "a comma or the end of the array");
    return list;
  }

  std::string string() {
    expect('"', "a string");
    std::string out;
    const size_t begin = at_;
    while (true) {
      if (at_ >= text_.size()) fail_at(begin - 1, "a string without end");
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') break;
      if (c < 0x20) fail("a control character inside a string");
      if (c == '\\') {
        ++at_;
        escape(out);
      } else if (c < 0x80) {
        out += static_cast<char>(c);
        ++at_;
      } else {
        utf8(out);
      }
    }
    ++at_;
    return out;
  }

  // Only white space may follow.
  void end() {
    skip_space();
    if (at_ != text_.size()) fail("text behind the end of the header");
  }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* what) {
    if (!accept(c)) fail(std::string("expected ").append(what));
  }

  uint64_t number() {
    skip_space();
    const size_t begin = at_;
    uint64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      const uint64_t digit = static_cast<uint64_t>(text_[at_] - '0');
      if (value > (UINT64_MAX - digit) / 10) fail_at(begin, "a number beyond 64 bits");
      value = value * 10 + digit;
      ++at_;
    }
    if (at_ == begin) fail("expected a whole number that is not negative");
    if (at_ - begin > 1 && text_[begin] == '0') fail_at(begin, "a number with a leading zero");
    if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E'))
      fail_at(begin, "expected a whole number");
    return value;
  }

  uint32_t hex4() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) fail("expected four hexadecimal digits");
      value = value << 4 | static_cast<uint32_t>(digit);
    }
    return value;
  }

  void escape(std::string& out) {
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    static constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
    if (const size_t k = c == '\0' ? std::string_view::npos : from.find(c);
        k != std::string_view::npos) {
      out += to[k];
      return;
    }
    if (c != 'u') fail_at(at_ - 1, "an unknown escape");
    uint32_t code = hex4();
    if (code >= 0xd800 && code < 0xdc00) {
      if (text_.substr(at_, 2) != "\\u") fail("half of a surrogate pair");
      at_ += 2;
      const uint32_t low = hex4();
      if (low < 0xdc00 || low > 0xdfff) fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      fail("half of a surrogate pair");
    }
    append(out, code);
  }

  static void append(std::string& out, uint32_t code) {
    const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | code >> 6);
      put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    }
  }

  void utf8(std::string& out) {
    const auto byte = [&](size_t i) {
      return at_ + i < text_.size() ? static_cast<unsigned char>(text_[at_ + i]) : 0u;
    };
    const uint32_t first = byte(0);
    const size_t length = first >= 0xf0 && first < 0xf5   ? 4
                          : first >= 0xe0 && first < 0xf0 ? 3
                          : first >= 0xc2 && first < 0xe0 ? 2
                                                          : 0;
    uint32_t code = length == 4 ? first & 7 : length == 3 ? first & 15 : first & 31;
    for (size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) fail("text that is not UTF-8");
      code = code << 6 | (byte(i) & 0x3f);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    if (length == 0 || overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      fail("text that is not UTF-8");
    out.append(text_.substr(at_, length));
    at_ += length;
  }

  std::string_view text_;
  std::string where_;
  uint64_t base_;
  size_t at_ = 0;
};

// A string in JSON's quotes.
inline std::string json_quote(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      ((out += "\\u00") += hex[c >> 4]) += hex[c & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

}  // namespace tenon::io::detail
#endif
