// GGUF: every kind of metadata, plain and quantised tensors, every malformed header. tests/python/io/test_gguf.py compares all quantised
// types with an independent reference.
#include <gtest/gtest.h>

#include <cstring>

#include "../scratch.hpp"
#include "tenon/io.hpp"

namespace tenon {
namespace {

// Appends bytes in the order of the file format.
struct Bytes {
  std::string data;
  template <class T>
  Bytes& put(T value) {
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(const std::string& text) {
    put<uint64_t>(text.size()).data += text;
    return *this;
  }
  Bytes& raw(const std::string& bytes) {
    data += bytes;
    return *this;
  }
};

Bytes header(uint64_t tensors, uint64_t values, uint32_t version = 3) {
  return Bytes().raw("GGUF").put(version).put(tensors).put(values);
}

// `head`, padded to the alignment, and the elements.
std::string file_of(Bytes head, const std::string& elements) {
  head.data.resize((head.data.size() + 31) / 32 * 32);
  return head.data + elements;
}

Bytes& describe(Bytes& head, const std::string& name, std::vector<uint64_t> dims, uint32_t type,
                uint64_t offset) {
  head.text(name).put<uint32_t>(static_cast<uint32_t>(dims.size()));
  for (uint64_t size : dims) head.put(size);
  return head.put(type).put(offset);
}

TEST(Gguf, MetadataOfEveryKind) {
  Bytes head = header(0, 6);
  head.text("u8").put<uint32_t>(0).put<uint8_t>(200);
  head.text("i32").put<uint32_t>(5).put<int32_t>(-7);
  head.text("f32").put<uint32_t>(6).put(0.5f);
  head.text("flag").put<uint32_t>(7).put<uint8_t>(1);
  head.text("text").put<uint32_t>(8).text("äöü");
  head.text("list").put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(2).text("a").text("");
  const Scratch scratch;
  const io::GgufMetadata found = io::load_gguf(scratch.write("all", file_of(head, ""))).metadata;
  EXPECT_EQ(std::get<uint64_t>(found.at("u8").value), 200u);
  EXPECT_EQ(std::get<int64_t>(found.at("i32").value), -7);
  EXPECT_EQ(std::get<double>(found.at("f32").value), 0.5);
  EXPECT_TRUE(std::get<bool>(found.at("flag").value));
  EXPECT_EQ(std::get<std::string>(found.at("text").value), "äöü");
  const auto& list = std::get<std::vector<io::GgufValue>>(found.at("list").value);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(std::get<std::string>(list[0].value), "a");
}

TEST(Gguf, PlainAndQuantisedTensors) {
  Bytes head = header(2, 0);
  describe(head, "plain", {3, 2}, 0, 0);
  describe(head, "packed", {32, 1}, 3, 32);
  Bytes elements;
  for (int i = 0; i < 6; ++i) elements.put(static_cast<float>(i));
  elements.data.resize(32);
  elements.put(tn_f32_to_f16(0.5f)).put(tn_f32_to_f16(-1.f));
  for (int i = 0; i < 16; ++i) elements.put(static_cast<uint8_t>(i | (15 - i) << 4));
  const Scratch scratch;
  const std::string path = scratch.write("two", file_of(head, elements.data));
  const io::Gguf file = io::load_gguf(path);
  EXPECT_TRUE(std::ranges::equal(file.tensors.at("plain").shape(), std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.tensors.at("plain").to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  const std::vector<float> unpacked = file.tensors.at("packed").to_vector<float>();
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(unpacked[static_cast<size_t>(i)], 0.5f * static_cast<float>(i) - 1);
    EXPECT_EQ(unpacked[static_cast<size_t>(i + 16)], 0.5f * static_cast<float>(15 - i) - 1);
  }
  const io::Gguf halves = io::load_gguf(path, {.dtype = DType::BF16});
  EXPECT_EQ(halves.tensors.at("packed").dtype(), DType::BF16);
  EXPECT_EQ(halves.tensors.at("plain").dtype(), DType::F32);
}

struct Malformed {
  std::string bytes, reason;
};

std::vector<Malformed> malformed() {
  const auto tensor = [](std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    Bytes head = header(1, 0);
    return file_of(describe(head, "x", std::move(dims), type, offset), std::string(32, '\1'));
  };
  const auto value = [](uint32_t kind, const std::string& bytes) {
    return header(0, 1).text("k").put(kind).raw(bytes).data;
  };
  Bytes twice = header(2, 0);
  describe(twice, "x", {1}, 0, 0);
  describe(twice, "x", {1}, 0, 32);
  Bytes shared = header(2, 0);
  describe(shared, "x", {16}, 0, 0);
  describe(shared, "y", {1}, 0, 32);
  Bytes deep;
  for (int i = 0; i < 6; ++i) deep.put<uint32_t>(9).put<uint64_t>(1);
  Bytes odd = header(0, 1);
  odd.text("general.alignment").put<uint32_t>(4).put<uint32_t>(3);
  return {
      {"", "byte 0: it does not begin as a GGUF file does"},
      {std::string(64, 'x'), "byte 0: it does not begin as a GGUF file does"},
      {header(0, 0, 9).data, "byte 4: it has version 9"},
      {header(1'000, 0).data, "byte 8: 1000 tensors"},
      {header(0, 1).text("k").data + std::string(4, '\0'), "byte 37: the file ends here"},
      {value(8, Bytes().put<uint64_t>(99).data), "a text of 99 bytes where 0 are left"},
      {value(7, "\2"), "a bool that is neither 0 nor 1"},
      {value(77, "12345678"), "the unknown kind 77"},
      {value(9, Bytes().put<uint32_t>(4).put<uint64_t>(1u << 30).data), "an array of 1073741824"},
      {value(9, deep.data), "arrays deeper than 4"},
      {odd.data, "general.alignment is no power of two"},
      {tensor({2}, 4, 0), "tensor \"x\" has the type 4"},
      {tensor({33}, 3, 0), "rows of 33 elements, which are no whole blocks of Q4_1"},
      {tensor({1u << 30, 1u << 28, 8}, 0, 0), "has a size of 8"},
      {tensor({9}, 0, 0), "beyond the end of the file"},
      {tensor({1}, 0, 1), "no multiple of 32"},
      {file_of(twice, std::string(64, '\0')), "tensor \"x\" appears twice"},
      {file_of(shared, std::string(64, '\0')), "tensor \"y\" begins inside \"x\""},
  };
}

TEST(Gguf, MalformedFilesAreNamedWithByteAndReason) {
  const Scratch scratch;
  for (const auto& [bytes, reason] : malformed()) {
    const std::string path = scratch.write("bad.gguf", bytes);
    const std::string error = error_of([&] { io::load_gguf(path); });
    EXPECT_EQ(error.find("[load_gguf] " + path + ": byte "), 0u) << error << " for " << reason;
    EXPECT_NE(error.find(reason), std::string::npos) << error << " lacks " << reason;
  }
  EXPECT_NE(error_of([&] { io::load_gguf(scratch.path("none")); }).find("cannot be opened"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
