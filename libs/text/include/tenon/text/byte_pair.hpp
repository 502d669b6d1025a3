// Byte-level byte-pair encoding, as in GPT-2 and its successors (Sennrich et al. 2016, arXiv:1508.07909; Radford et al. 2019).
#ifndef TENON_TEXT_BYTE_PAIR_HPP
#define TENON_TEXT_BYTE_PAIR_HPP

#include <algorithm>
#include <array>
#include <queue>

#include "tenon/io/gguf.hpp"
#include "tenon/text/detail/unicode.hpp"
#include "tenon/text/detail/vocabulary.hpp"

namespace tenon::text {

// The data of a tokenizer.
struct BytePairModel {
  std::vector<std::string> tokens;   // bytes are written as letters, as in GPT-2: "Ġ" is a space
  std::vector<std::string> merges;   // "a b", in the order they were learned
  std::vector<std::string> control;  // tokens that stand for no text, such as <|im_end|>
  bool digits_alone = false;         // whether each digit is a word of its own
  std::optional<int64_t> unknown{};  // the token for bytes that have none
};

// Several threads may read it at once.
class BytePair {
 public:
  // Errors begin with `where`: the file.
  explicit BytePair(BytePairModel model, const std::string& where = "[BytePair]");

  // Encodes UTF-8 text. `control`: whether control tokens in the text are recognised; pass false for untrusted text.
  std::vector<int64_t> encode(std::string_view text, bool control = true) const;
  // The bytes of a token; none for a control token. A character may be split over two tokens.
  std::string decode(int64_t token) const;
  std::optional<int64_t> find(std::string_view token) const { return vocabulary_.find(token); }
  size_t size() const { return vocabulary_.size(); }

 private:
  struct Merge {
    size_t rank;
    int64_t token;
  };
  struct PairHash {
    size_t operator()(const std::pair<int64_t, int64_t>& pair) const {
      return std::hash<uint64_t>()(static_cast<uint64_t>(pair.first) << 32 ^
                                   static_cast<uint64_t>(pair.second));
    }
  };
  class Word;

  int64_t token_of(const std::string& text, const std::string& where) const {
    const auto found = vocabulary_.find(text);
    if (!found.has_value())
      throw Error(TN_DATA_LOSS, where + ": \"" + text + "\" is no token of the vocabulary");
    return *found;
  }
  void make_letters();
  void encode_plain(std::string_view text, std::vector<int64_t>& tokens) const;
  void encode_words(const detail::CodePoints& p, size_t begin, size_t end,
                    std::vector<int64_t>& tokens) const;
  void encode_word(const std::string& bytes, std::vector<int64_t>& tokens) const;

  detail::Vocabulary vocabulary_;
  std::vector<std::string> control_;  // longest first
  std::vector<bool> is_control_;
  bool digits_alone_ = false;
  std::unordered_map<std::pair<int64_t, int64_t>, Merge, PairHash> merges_;
  std::array<std::optional<int64_t>, 256> letters_{};   // tokens of single bytes
  std::unordered_map<utf8proc_int32_t, char> bytes_{};  // byte that each letter stands for
};

// Reads the tokenizer from a GGUF file, if it is of GPT-2's kind. Errors begin with `path`.
BytePair byte_pair_of(const io::GgufMetadata& metadata, const std::string& path);

}  // namespace tenon::text

#include "tenon/text/detail/byte_pair.hpp"

#endif
