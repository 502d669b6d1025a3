// Reads the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding) in place. Checks each length and number against the
// available bytes and copies nothing.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/error.hpp"

namespace tenon::onnx {

using Bytes = std::span<const unsigned char>;

// What all messages of a file share: the place for errors, and how much memory their structs take.
class Origin {
 public:
  Origin(std::string where, Bytes file)
      : where_(std::move(where)), file_(file), left_(4 * file.size() + kSmall) {}
  [[noreturn]] void fail(const unsigned char* at, const std::string& reason) const {
    throw Error(TN_DATA_LOSS,
                where_ + ": byte " + std::to_string(at - file_.data()) + ": " + reason);
  }
  const std::string& where() const { return where_; }
  Bytes file() const { return file_; }
  // Called before structs or elements are made, so that many tiny messages cannot take many times the file's size.
  void take(size_t bytes, const unsigned char* at) {
    if (bytes > left_)
      fail(at, "the messages up to here take more memory than four times the file");
    left_ -= bytes;
  }

 private:
  static constexpr size_t kSmall = size_t{16} << 20;
  std::string where_;
  Bytes file_;
  size_t left_;
};

// The fields of one message, in the file's order: while (message.next()) switch (message.field()) { … }
class Message {
 public:
  Message(Origin& origin, Bytes bytes, int depth = 0)
      : origin_(&origin), at_(bytes.data()), end_(bytes.data() + bytes.size()), depth_(depth) {}

  // Goes to the next field, past the value of the last if nobody read it.
  bool next();
  uint32_t field() const { return field_; }

  int64_t integer();
  float single();
  double real();
  Bytes bytes();
  std::string_view text();
  Message message();
  // One element, or the elements of a packed field.
  void append(std::vector<int64_t>& list);
  void append(std::vector<float>& list);
  void append(std::vector<double>& list);

  // Reserves another T; the file's size limits how many.
  template <class T>
  T& add(std::vector<T>& list) {
    origin_->take(sizeof(T), at_);
    return list.emplace_back();
  }
  // Accounts for a struct that is stored elsewhere.
  void take(size_t size) { origin_->take(size, at_); }
  [[noreturn]] void fail(const std::string& reason) const { origin_->fail(at_, reason); }

 private:
  enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };
  static constexpr int kDeepest = 64;  // If in Loop in If …

  uint64_t varint();
  void require(uint32_t wire) const;
  Bytes fixed(size_t size);
  void pass();
  template <class T>
  void append_fixed(std::vector<T>& list, uint32_t wire);

  Origin* origin_;
  const unsigned char *at_, *end_;
  int depth_;
  uint32_t field_ = 0, wire_ = 0;
  bool pending_ = false;  // this field's value was not read yet
};

}  // namespace tenon::onnx
