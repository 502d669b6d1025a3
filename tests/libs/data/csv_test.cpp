// CSV tables, valid and broken.
#include <gtest/gtest.h>

#include <cmath>

#include "../scratch.hpp"
#include "tenon/data.hpp"

namespace tenon::data {
namespace {

TEST(Csv, NumbersNamesAndText) {
  const Scratch scratch;
  const std::string path = scratch.write("iris.csv",
                                         "\xef\xbb\xbflength,\"width, cm\",kind\r\n5.1, 3.5 "
                                         ",setosa\r\n\r\n-4e1,+.25,\"a \"\"b\"\"\nc\"\n7,0,");
  const CsvTable table = read_csv(path, {.text = {2}, .dtype = DType::F64});
  EXPECT_EQ(table.names, (std::vector<std::string>{"length", "width, cm", "kind"}));
  EXPECT_EQ(table.rows, 3);
  EXPECT_EQ(table.numbers.shape(1), 2);
  EXPECT_EQ(table.numbers.to_vector<double>(), (std::vector<double>{5.1, 3.5, -40, 0.25, 7, 0}));
  EXPECT_EQ(table.text[0], (std::vector<std::string>{"setosa", "a \"b\"\nc", ""}));
}

TEST(Csv, WithoutHeaderAndWithGaps) {
  const Scratch scratch;
  const CsvTable table = read_csv(scratch.write("x", "1;;3\n"),
                                  {.delimiter = ';', .header = false, .empty_is_nan = true});
  EXPECT_TRUE(table.names.empty());
  EXPECT_TRUE(std::isnan(table.numbers.to_vector<float>()[1]));
  EXPECT_EQ(read_csv(scratch.write("empty", "")).rows, 0);
  EXPECT_EQ(read_csv(scratch.write("names", "a,b\n")).numbers.shape(1), 2);
}

TEST(Csv, BrokenFilesAreNamedWithByteAndReason) {
  const Scratch scratch;
  struct Bad {
    const char* content;
    const char* reason;
  };
  const std::vector<Bad> all = {
      {"a,b\n1,2\n3\n", "byte 8: a row of 1 fields, expected 2"},
      {"a,b\n1,2,3\n", "byte 4: a row of 3 fields, expected 2"},
      {"a\nx1\n", "byte 2: \"x1\" is no number"},
      {"a\n+-1\n", "byte 2: \"+-1\" is no number"},
      {"a\n1x\n", "byte 2: \"1x\" is no number"},
      {"a,b\n1,\n", "byte 6: an empty field"},
      {"a\n1e999\n", "byte 2: \"1e999\" is beyond"},
      {"a\n\"1\n", "byte 2: a quoted field without end"},
      {"a\n\"1\"2\n", "byte 5: text behind the closing quote"},
      {"a\n1\"2\n", "byte 3: a quote inside"},
  };
  for (const Bad& bad : all) {
    const std::string path = scratch.write("bad", bad.content);
    const std::string message = error_of([&] { read_csv(path); });
    EXPECT_NE(message.find(path + ": " + bad.reason), std::string::npos)
        << bad.content << " gives " << message;
  }
  EXPECT_NE(error_of([&] { read_csv(scratch.write("x", "a,b\n1,2\n"), {.text = {2}}); }), "");
  EXPECT_NE(error_of([&] { read_csv(scratch.write("x", "a,b\n1,2\n"), {.text = {1, 1}}); }), "");
  EXPECT_NE(error_of([&] { read_csv(scratch.path("x"), {.delimiter = '"'}); }), "");
  EXPECT_NE(error_of([&] { read_csv(scratch.path("missing")); }).find("No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::data
