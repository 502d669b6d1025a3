// Writes messages in the wire format of Protocol Buffers.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::onnx {

class Writer {
 public:
  Writer& number(uint32_t field, int64_t value) {
    varint(field << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Writer& single(uint32_t field, float value) {
    varint(field << 3 | 5);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& bytes(uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    text_.append(value);
    return *this;
  }
  Writer& message(uint32_t field, const Writer& value) { return bytes(field, value.text_); }
  Writer& numbers(uint32_t field, const std::vector<int64_t>& values) {
    for (const int64_t value : values) number(field, value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value > 127; value >>= 7) text_ += static_cast<char>(value | 128);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

}  // namespace tenon::onnx
