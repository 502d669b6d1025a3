#include "wire/reader.hpp"

namespace tenon::onnx {

bool Message::next() {
  if (pending_) pass();
  if (at_ == end_) return false;
  const uint64_t tag = varint();
  if (tag >> 3 == 0 || tag >> 3 > 536'870'911)
    fail("a field of number " + std::to_string(tag >> 3));
  field_ = static_cast<uint32_t>(tag >> 3);
  wire_ = static_cast<uint32_t>(tag & 7);
  pending_ = true;
  return true;
}

uint64_t Message::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) fail("the message ends within a number");
    const uint64_t byte = *at_++;
    value |= (byte & 127) << shift;
    if (byte < 128) return value;
  }
  fail("a number of more than ten bytes");
}

void Message::require(uint32_t wire) const {
  if (wire_ != wire)
    fail("field " + std::to_string(field_) + " has wire type " + std::to_string(wire_) + ", not " +
         std::to_string(wire));
}

Bytes Message::fixed(size_t size) {
  if (size > static_cast<size_t>(end_ - at_))
    fail("field " + std::to_string(field_) + " should have " + std::to_string(size) +
         " bytes, but " + std::to_string(end_ - at_) + " are left");
  const Bytes found(at_, size);
  at_ += size;
  return found;
}

void Message::pass() {
  pending_ = false;
  if (wire_ == kVarint)
    varint();
  else if (wire_ == kFixed64)
    fixed(8);
  else if (wire_ == kFixed32)
    fixed(4);
  else if (wire_ == kLength)
    fixed(varint());
  else
    fail("field " + std::to_string(field_) + " has the unknown wire type " + std::to_string(wire_));
}

int64_t Message::integer() {
  require(kVarint);
  pending_ = false;
  return static_cast<int64_t>(varint());
}

float Message::single() {
  require(kFixed32);
  pending_ = false;
  float value;
  std::memcpy(&value, fixed(4).data(), 4);
  return value;
}

double Message::real() {
  require(kFixed64);
  pending_ = false;
  double value;
  std::memcpy(&value, fixed(8).data(), 8);
  return value;
}

Bytes Message::bytes() {
  require(kLength);
  pending_ = false;
  return fixed(varint());
}

std::string_view Message::text() {
  const Bytes found = bytes();
  return {reinterpret_cast<const char*>(found.data()), found.size()};
}

Message Message::message() {
  if (depth_ == kDeepest) fail("messages within messages, " + std::to_string(kDeepest) + " deep");
  return {*origin_, bytes(), depth_ + 1};
}

void Message::append(std::vector<int64_t>& list) {
  if (wire_ == kVarint) {
    const int64_t value = integer();
    add(list) = value;
    return;
  }
  Message packed(*origin_, bytes(), depth_);
  // The last byte of a number has no high bit, so counting these gives the number of elements.
  size_t count = 0;
  for (const unsigned char* at = packed.at_; at != packed.end_; ++at) count += *at < 128 ? 1 : 0;
  origin_->take(count * sizeof(int64_t), packed.at_);
  list.reserve(list.size() + count);
  while (packed.at_ != packed.end_) list.push_back(static_cast<int64_t>(packed.varint()));
}

template <class T>
void Message::append_fixed(std::vector<T>& list, uint32_t wire) {
  const Bytes found = [&] {
    if (wire_ != wire) return bytes();
    pending_ = false;
    return fixed(sizeof(T));
  }();
  if (found.size() % sizeof(T) != 0) fail("a packed list that ends within a number");
  origin_->take(found.size(), at_);
  const size_t before = list.size();
  list.resize(before + found.size() / sizeof(T));
  if (!found.empty()) std::memcpy(list.data() + before, found.data(), found.size());
}
void Message::append(std::vector<float>& list) { append_fixed(list, kFixed32); }
void Message::append(std::vector<double>& list) { append_fixed(list, kFixed64); }

}  // namespace tenon::onnx
