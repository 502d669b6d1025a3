// Which files the readers of data accept: plain ones, complete compressed ones, and only regular files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <new>
#include <stdexcept>

#include "../scratch.hpp"
#include "gzip.hpp"
#include "tenon/data.hpp"

namespace tenon::data {
namespace {

std::string table(int rows) {
  std::string text = "a,b\n";
  for (int i = 0; i < rows; ++i) text += std::to_string(i) + "," + std::to_string(i) + ".25\n";
  return text;
}

TEST(Stream, ACompressedTableCutAnywhereIsAnError) {
  const Scratch scratch;
  const std::string packed = gzip(table(20'000));
  EXPECT_EQ(read_csv(scratch.write("x.gz", packed)).rows, 20'000);
  for (size_t size = 2; size < packed.size(); size += 1 + packed.size() / 97) {
    const std::string path = scratch.write("cut.gz", packed.substr(0, size));
    EXPECT_EQ(error_of([&] { read_csv(path); }), "[read_csv] " + path + ": byte " +
                                                     std::to_string(size) +
                                                     ": the compressed data is cut off");
  }
  for (size_t lost = 1; lost <= 8; ++lost)  // cuts into the checksum and the length
    EXPECT_NE(error_of([&] {
                read_csv(scratch.write("cut.gz", packed.substr(0, packed.size() - lost)));
              }),
              "");
}

TEST(Stream, MembersFollowEachOtherAndZerosMayFollowThem) {
  const Scratch scratch;
  const std::string two = gzip("a\n1\n") + gzip("2\n") + gzip("") + gzip("3\n");
  EXPECT_EQ(read_csv(scratch.write("two.gz", two)).rows, 3);
  EXPECT_EQ(read_csv(scratch.write("padded.gz", two + std::string(100'000, '\0'))).rows, 3);
  const auto message = [&](const std::string& bytes) {
    return error_of([&] { read_csv(scratch.write("bad.gz", bytes)); });
  };
  EXPECT_NE(message(two + "4\n").find("bytes behind the compressed data"), std::string::npos);
  EXPECT_NE(message(two + "\x1f").find("cut off"), std::string::npos);
  EXPECT_NE(message("\x1f\x8bjunk").find("byte "), std::string::npos);
  std::string damaged = gzip(table(1000));
  damaged[damaged.size() / 2] ^= 0x55;
  EXPECT_NE(message(damaged), "");
}

TEST(Stream, UnpackingTooMuchIsRefused) {
  const Scratch scratch;
  const std::string text = table(20'000), path = scratch.write("x.gz", gzip(text));
  EXPECT_EQ(read_csv(path, {.max_unpacked = text.size()}).rows, 20'000);
  EXPECT_NE(error_of([&] {
              read_csv(path, {.max_unpacked = text.size() - 1});
            }).find("CsvOptions::max_unpacked"),
            std::string::npos);
  // The limit is for compressed files only.
  EXPECT_EQ(read_csv(scratch.write("x", text), {.max_unpacked = 1}).rows, 20'000);
  // An IDX header says how much to unpack, so the rest of a decompression bomb stays packed.
  std::string unpacked("\0\0\x8\1\0\0\0\4", 8);
  unpacked.resize(50'000'000, 'x');
  const std::string bomb = gzip(unpacked);
  EXPECT_NE(error_of([&] {
              read_idx(scratch.write("bomb.gz", bomb));
            }).find("byte 13: bytes behind the elements"),
            std::string::npos);
}

TEST(Stream, IrregularFilesAreRefusedAtOnce) {
  const Scratch scratch;
  const std::string fifo = scratch.path("fifo"), link = scratch.path("link");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(::symlink("fifo", link.c_str()), 0);
  struct Case {
    std::string path, reason;
  };
  const Case all[] = {{fifo, "it is a FIFO"},
                      {link, "it is a FIFO"},
                      {scratch.path(""), "it is a directory"},
                      {"/dev/zero", "it is a character device"}};
  for (const Case& one : all) {
    const std::string message = one.path + ": " + one.reason;
    EXPECT_NE(error_of([&] { read_csv(one.path); }).find(message), std::string::npos);
    EXPECT_NE(error_of([&] { read_idx(one.path); }).find(message), std::string::npos);
  }
  const std::string zero("x\0y", 3);
  EXPECT_NE(error_of([&] { read_csv(scratch.path(zero)); }).find("path"), std::string::npos);
  EXPECT_NE(error_of([&] { read_idx(""); }).find("path"), std::string::npos);
}

TEST(Stream, OutOfMemoryIsAnErrorOfTheFile) {
  const auto message = [](auto&& fn) {
    return error_of([&] { io::detail::with_memory_errors("[read_csv] x", fn); });
  };
  EXPECT_EQ(message([] { throw std::bad_alloc(); }), "[read_csv] x: not enough memory to hold it");
  EXPECT_NE(message([] { throw std::length_error("vector"); }), "");
}

}  // namespace
}  // namespace tenon::data
