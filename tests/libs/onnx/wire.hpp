// Messages in the wire format of Protocol Buffers, written for tests.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::test {

inline std::string varint(uint64_t value) {
  std::string made;
  for (; value > 127; value >>= 7) made += static_cast<char>(value | 128);
  return made + static_cast<char>(value);
}
inline std::string number(uint32_t field, uint64_t value) {
  return varint(field << 3) + varint(value);
}
inline std::string bytes(uint32_t field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}

// A graph's input or result of FLOAT, (2,).
inline std::string port(const std::string& name) {
  const std::string shape = bytes(1, number(1, 2));
  return bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape)));
}
inline std::string node(const std::string& op, const std::string& in, const std::string& out) {
  return bytes(1, in) + bytes(2, out) + bytes(4, op);
}
// A model of IR version 8 and opset 21.
inline std::string model(const std::string& graph) {
  return number(1, 8) + bytes(7, graph) + bytes(8, number(2, 21));
}
// y = relu(x).
inline std::string relu_model() {
  return model(bytes(1, node("Relu", "x", "y")) + bytes(11, port("x")) + bytes(12, port("y")));
}

}  // namespace tenon::test
