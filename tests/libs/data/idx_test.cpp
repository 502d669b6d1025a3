// IDX files, plain and compressed, valid and broken.
#include <gtest/gtest.h>

#include "../scratch.hpp"
#include "gzip.hpp"
#include "tenon/data.hpp"

namespace tenon::data {
namespace {

std::string bytes(std::initializer_list<int> list) {
  std::string out;
  for (int b : list) out += static_cast<char>(b);
  return out;
}

TEST(Idx, ReadsEveryTypeBigEndian) {
  const Scratch scratch;
  const Tensor u8 = read_idx(
      scratch.write("u8", bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255})));
  EXPECT_EQ(u8.shape(1), 3);
  EXPECT_EQ(u8.to_vector<uint8_t>(), (std::vector<uint8_t>{1, 2, 3, 4, 5, 255}));
  EXPECT_EQ(
      read_idx(scratch.write("i8", bytes({0, 0, 9, 1, 0, 0, 0, 1, 255}))).to_vector<int8_t>()[0],
      -1);
  EXPECT_EQ(read_idx(scratch.write("i16", bytes({0, 0, 11, 1, 0, 0, 0, 2, 1, 2, 255, 254})))
                .to_vector<int16_t>(),
            (std::vector<int16_t>{258, -2}));
  EXPECT_EQ(read_idx(scratch.write("i32", bytes({0, 0, 12, 1, 0, 0, 0, 1, 0, 1, 0, 2})))
                .to_vector<int32_t>()[0],
            65538);
  EXPECT_EQ(read_idx(scratch.write("f32", bytes({0, 0, 13, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0})))
                .to_vector<float>()[0],
            1.5f);
  EXPECT_EQ(
      read_idx(scratch.write("f64", bytes({0, 0, 14, 1, 0, 0, 0, 1, 0xc0, 4, 0, 0, 0, 0, 0, 0})))
          .to_vector<double>()[0],
      -2.5);
  EXPECT_EQ(read_idx(scratch.write("none", bytes({0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 3}))).numel(),
            0);
}

TEST(Idx, ReadsGzip) {
  const Scratch scratch;
  std::string content = bytes({0, 0, 8, 1, 0, 1, 0, 0});
  for (int i = 0; i < 65536; ++i) content += static_cast<char>(i % 251);
  const Tensor x = read_idx(scratch.write("x.gz", gzip(content)));
  EXPECT_EQ(x.numel(), 65536);
  EXPECT_EQ(x.to_vector<uint8_t>()[65535], 65535 % 251);
  // A truncated or damaged stream is an error that names the place.
  std::string packed = Scratch::read(scratch.path("x.gz"));
  const std::string cut = scratch.write("cut.gz", packed.substr(0, packed.size() / 2));
  EXPECT_NE(error_of([&] { read_idx(cut); }).find("is cut off"), std::string::npos);
  packed[packed.size() - 6] ^= 1;  // the checksum
  EXPECT_NE(error_of([&] { read_idx(scratch.write("bad.gz", packed)); }), "");
}

TEST(Idx, BrokenFilesAreNamedWithByteAndReason) {
  const Scratch scratch;
  struct Bad {
    std::string content;
    const char* reason;
  };
  const std::vector<Bad> all = {
      {"", "byte 0: the file ends within the magic number"},
      {bytes({0, 0, 8}), "byte 3: the file ends within the magic number"},
      {bytes({1, 0, 8, 1}), "no IDX file"},
      {bytes({0, 0, 10, 1}), "unknown element type 10"},
      {bytes({0, 0, 8, 0}), "0 dimensions"},
      {bytes({0, 0, 8, 17}), "17 dimensions"},
      {bytes({0, 0, 8, 2, 0, 0, 0, 2}), "byte 8: the file ends within the sizes"},
      {bytes({0, 0, 8, 1, 0, 0, 0, 3, 1, 2}), "more than the file can hold"},
      {bytes({0, 0, 8, 1, 0, 0, 0, 1, 1, 2}), "byte 10: bytes behind the elements"},
      {bytes({0, 0, 8, 2, 127, 255, 255, 255, 255, 255, 255, 255}), "more than the file can hold"},
      {bytes({0, 0, 14, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}),
       "overflow"},
  };
  for (const Bad& bad : all) {
    const std::string path = scratch.write("bad", bad.content);
    const std::string message = error_of([&] { read_idx(path); });
    EXPECT_NE(message.find(bad.reason), std::string::npos) << message;
    EXPECT_NE(message.find(path), std::string::npos) << message;
  }
  EXPECT_NE(error_of([&] { read_idx(scratch.path("missing")); }).find("No such file"),
            std::string::npos);
  EXPECT_NE(error_of([&] { read_idx(scratch.path("")); }).find("regular file"), std::string::npos);
}

}  // namespace
}  // namespace tenon::data
