// Safetensors: round trips, files of the reference implementation, every malformed header, atomic saving.
#include "tenon/io.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "../scratch.hpp"
#include "tenon/print.hpp"

namespace tenon {
namespace {

using io::load_safetensors;
using io::save_safetensors;

// A file made of a header and `data` bytes of elements.
std::string file_of(const std::string& header, size_t data) {
  std::string out(8, '\0');
  for (size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + std::string(data, '\1');
}

TEST(SafeTensors, RoundTripOfEveryDtype) {
  const Scratch scratch;
  io::TensorMap tensors;
  for (uint32_t code = 0; code < TN_DTYPE_COUNT; ++code) {
    const DType dtype = static_cast<DType>(code);
    tensors[std::string(name_of(dtype))] = tensor({{1, 0, 1}, {0, 1, 1}}, dtype);
  }
  tensors["rank 0"] = tensor(2.5);
  tensors["empty"] = empty({0, 3});
  tensors["view"] = tensor({{1.f, 2.f}, {3.f, 4.f}}).t();
  const io::Metadata metadata{{"epoch", "3"}, {"text \"quoted\"\n", "äöü\\"}};
  const std::string path = scratch.path("all.safetensors");
  save_safetensors(path, tensors, metadata);
  const io::SafeTensors loaded = load_safetensors(path);
  EXPECT_EQ(loaded.metadata, metadata);
  ASSERT_EQ(loaded.tensors.size(), tensors.size());
  for (const auto& [name, x] : tensors) {
    const Tensor& y = loaded.tensors.at(name);
    EXPECT_EQ(y.dtype(), x.dtype()) << name;
    EXPECT_EQ(to_string(y), to_string(x)) << name;
    EXPECT_TRUE(std::ranges::equal(y.shape(), x.shape())) << name;
  }
  EXPECT_EQ(loaded.tensors.at("view").to_vector<float>(), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(Scratch::read(path)[8], '{');
}

TEST(SafeTensors, ElementsAreAligned) {
  const Scratch scratch;
  const std::string path = scratch.path("x");
  save_safetensors(path,
                   {{"a", tensor({1}, DType::U8)}, {"b", tensor({1.0})}, {"c", tensor({1.f})}});
  const std::string bytes = Scratch::read(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_LT(bytes.find("\"b\""), bytes.find("\"c\""));
  EXPECT_LT(bytes.find("\"c\""), bytes.find("\"a\""));
}

TEST(SafeTensors, ReadsFilesOfTheReferenceImplementation) {
  const Scratch scratch;
  const std::string bytes =
      std::string("\xe0\0\0\0\0\0\0\0", 8) +
      R"({"__metadata__":{"who":"ünï\"","format":"pt"},"a":{"dtype":"I64","shape":[3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"F32","shape":[2,2],"data_offsets":[24,40]},"flag":{"dtype":"BOOL","shape":[2],"data_offsets":[40,42]}}      )" +
      std::string("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 24) +
      std::string("\0\0\xc0?\0\0\0\xc0\0\0@@\0\0\x80@\1\0", 18);
  const io::SafeTensors loaded = load_safetensors(scratch.write("reference", bytes));
  EXPECT_EQ(loaded.metadata.at("who"), "ünï\"");
  EXPECT_EQ(loaded.tensors.at("a").to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(loaded.tensors.at("b").to_vector<float>(), (std::vector<float>{1.5, -2, 3, 4}));
  EXPECT_EQ(loaded.tensors.at("flag").to_vector<bool>(), (std::vector<bool>{true, false}));
}

TEST(SafeTensors, MalformedFilesAreNamedWithByteAndReason) {
  const Scratch scratch;
  const std::string good = R"("x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  struct Bad {
    std::string content;
    const char* reason;
  };
  const auto one = [](const std::string& fields, size_t data = 2) {
    return file_of("{\"x\":{" + fields + "}}", data);
  };
  const std::vector<Bad> all = {
      {"", "has no header"},
      {"1234567", "has no header"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10), "is more than"},
      {std::string("\x10\0\0\0\0\0\0\0{}", 10), "in a file of"},
      {file_of("", 0), "does not begin with {"},
      {file_of(" {}", 0), "does not begin with {"},
      {file_of("[]", 0), "does not begin with {"},
      {file_of("{", 0), "expected a string"},
      {file_of("{}x", 0), "behind the end"},
      {file_of("{" + good + ",}", 2), "expected a string"},
      {file_of("{" + good + " " + good + "}", 2), "expected a comma"},
      {file_of("{" + good + "," + good + "}", 2), "appears twice"},
      {file_of("{\"x\" 1}", 0), "expected a colon"},
      {file_of("{\"x\":1}", 0), "expected an object"},
      {file_of("{\"x", 0), "a string without end"},
      {file_of("{\"x\n\":{}}", 0), "control character"},
      {file_of("{\"\\q\":{}}", 0), "unknown escape"},
      {file_of("{\"\\u12\":{}}", 0), "hexadecimal"},
      {file_of("{\"\\ud800x\":{}}", 0), "surrogate"},
      {file_of("{\"\\udc00\":{}}", 0), "surrogate"},
      {file_of("{\"\xff\":{}}", 0), "UTF-8"},
      {file_of("{\"\xc0\x80\":{}}", 0), "UTF-8"},
      {file_of("{\"\xe0\x80\x80\":{}}", 0), "UTF-8"},
      {file_of("{\"\xed\xa0\x80\":{}}", 0), "UTF-8"},
      {file_of("{\"__metadata__\":{\"a\":1}}", 0), "expected a string"},
      {file_of("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0), "appears twice"},
      {file_of("{\"__metadata__\":{},\"__metadata__\":{}}", 0), "appears twice"},
      {one(""), "lacks dtype"},
      {one(R"("dtype":"U8")"), "lacks shape"},
      {one(R"("dtype":"U8","shape":[2])"), "lacks data_offsets"},
      {one(R"("dtype":"U8","dtype":"U8")"), "appears twice"},
      {one(R"("dtype":"U7","shape":[2],"data_offsets":[0,2])"), "unknown dtype \"U7\""},
      {one(R"("dtype":"U8","shape":[2],"data_offsets":[0,2],"more":1)"), "unknown field"},
      {one(R"("dtype":"U8","shape":[-2],"data_offsets":[0,2])"), "not negative"},
      {one(R"("dtype":"U8","shape":[2.0],"data_offsets":[0,2])"), "whole number"},
      {one(R"("dtype":"U8","shape":[02],"data_offsets":[0,2])"), "leading zero"},
      {one(R"("dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,2])"),
       "beyond 64 bits"},
      {one(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,2])"), "beyond 63 bits"},
      {one(R"("dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,2])"), "overflow"},
      {one(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2],"data_offsets":[0,2])"),
       "dimensions"},
      {one(R"("dtype":"U8","shape":[2],"data_offsets":[0])"), "not two numbers"},
      {one(R"("dtype":"U8","shape":[2],"data_offsets":[2,0])"), "reaches from"},
      {one(R"("dtype":"U8","shape":[4],"data_offsets":[0,4])"), "reaches from"},
      {one(R"("dtype":"U8","shape":[2],"data_offsets":[0,18446744073709551615])"), "reaches from"},
      {one(R"("dtype":"U16","shape":[2],"data_offsets":[0,2])"), "needs 4 bytes"},
      {one(R"("dtype":"U8","shape":[1],"data_offsets":[1,2])"), "behind a hole"},
      {one(R"("dtype":"U8","shape":[2],"data_offsets":[0,2])", 3), "belong to none"},
      {file_of(
           R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
           3),
       "inside another"},
      {file_of(R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 0) + "\1\2",
       "neither 0 nor 1"},
  };
  for (const Bad& bad : all) {
    const std::string path = scratch.write("bad", bad.content);
    const std::string message = error_of([&] { load_safetensors(path); });
    EXPECT_NE(message.find(bad.reason), std::string::npos)
        << bad.content << "\n gives: " << message;
    EXPECT_NE(message.find(path + ": byte "), std::string::npos) << message;
  }
}

// Whatever a byte is changed to, the answer is a result or an Error.
TEST(SafeTensors, AnyChangedByteIsHarmless) {
  const Scratch scratch;
  const std::string path = scratch.path("x");
  save_safetensors(path, {{"weight", tensor({1.f, 2.f})}, {"b", tensor({1})}}, {{"k", "v"}});
  const std::string good = Scratch::read(path);
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char byte : {'\0', '"', '}', '9', '\\', '\xff'}) {
      std::string bytes = good;
      bytes[at] = byte;
      scratch.write("x", bytes);
      error_of([&] { load_safetensors(path); });
    }
    scratch.write("x", good.substr(0, at));
    EXPECT_NE(error_of([&] { load_safetensors(path); }), "") << at;
  }
}

TEST(SafeTensors, AsManyDimensionsAsTensorsHave) {
  const Scratch scratch;
  for (size_t rank : {8, 9, TN_MAX_DIMS}) {
    const std::vector<int64_t> shape(rank, 1);
    save_safetensors(scratch.path("x"), {{"x", tensor({2.f}).reshape(shape)}});
    EXPECT_TRUE(
        std::ranges::equal(load_safetensors(scratch.path("x")).tensors.at("x").shape(), shape));
  }
}

TEST(SafeTensors, OtherFilesOfWeightsAreRecognised) {
  const Scratch scratch;
  for (const std::string& bytes :
       {std::string("PK\3\4 and a zip archive"), std::string("\x80\2 and a pickle")})
    EXPECT_NE(error_of([&] { load_safetensors(scratch.write("x.pth", bytes)); }).find("torch.save"),
              std::string::npos);
}

TEST(SafeTensors, MissingFilesAndFolders) {
  const Scratch scratch;
  EXPECT_NE(error_of([&] { load_safetensors(scratch.path("none")); }).find("No such file"),
            std::string::npos);
  EXPECT_NE(error_of([&] { load_safetensors(scratch.path("")); }).find("regular file"),
            std::string::npos);
  EXPECT_NE(error_of([&] { save_safetensors(scratch.path("no/folder"), {}); }), "");
  save_safetensors(scratch.path("nothing"), {});
  EXPECT_TRUE(load_safetensors(scratch.path("nothing")).tensors.empty());
}

TEST(SafeTensors, AFailedSaveLeavesTheOldFile) {
  const Scratch scratch;
  const std::string path = scratch.path("weights");
  save_safetensors(path, {{"x", tensor({1})}});
  ::chmod(path.c_str(), 0640);
  EXPECT_NE(error_of([&] {
              save_safetensors(path, {{"x", Tensor()}});
            }).find("undefined"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              save_safetensors(path, {{"\xff", tensor({1})}});
            }).find("UTF-8"),
            std::string::npos);
  EXPECT_NE(error_of([&] { save_safetensors(path, {{"__metadata__", tensor({1})}}); }), "");
  EXPECT_EQ(load_safetensors(path).tensors.at("x").item<int>(), 1);
  save_safetensors(path, {{"x", tensor({2})}});
  EXPECT_EQ(load_safetensors(path).tensors.at("x").item<int>(), 2);
  EXPECT_EQ(scratch.file_count(), 1u);
  struct stat info {};
  ::stat(path.c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

}  // namespace
}  // namespace tenon
