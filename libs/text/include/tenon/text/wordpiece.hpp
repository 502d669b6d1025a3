// WordPiece tokenization, as in BERT (Devlin et al. 2019, arXiv:1810.04805).
#ifndef TENON_TEXT_WORDPIECE_HPP
#define TENON_TEXT_WORDPIECE_HPP

#include <algorithm>
#include <array>

#include "tenon/io/detail/file.hpp"
#include "tenon/text/detail/unicode.hpp"
#include "tenon/text/detail/vocabulary.hpp"

namespace tenon::text {

// Splits text into words and punctuation, and each word into the longest pieces in the vocabulary. Like BERT's uncased tokenizers,
// lowercases and drops accents and control characters. Several threads may read it at once.
class WordPiece {
 public:
  // Reads a vocabulary with one piece in each line; the line number is the token. "##" marks pieces that continue a word. Errors name file
  // and line.
  explicit WordPiece(const std::string& path)
      : WordPiece(io::detail::InputFile(path, "WordPiece")) {}
  explicit WordPiece(const io::detail::Source& file) {
    std::string text(file.size(), '\0');
    file.read(text.data(), text.size(), 0);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::string piece = text.substr(begin, end - begin);
      if (piece.ends_with('\r')) piece.pop_back();
      add(std::move(piece), file.where());
      begin = end + 1;
    }
    for (size_t i = 0; i < kSpecial.size(); ++i) special_[i] = find_special(i, file.where());
  }

  // Returns [CLS], the tokens of the text, [SEP], cut to `longest` tokens. "[SEP]" in the text is ordinary text.
  std::vector<int64_t> encode(std::string_view text, size_t longest = 512) const {
    if (longest < 2)
      throw Error(TN_INVALID_ARGUMENT,
                  "[WordPiece] longest is " + std::to_string(longest) +
                      ", must be at least 2: [CLS] and [SEP] are there always");
    std::vector<int64_t> tokens{special_[kCls]};
    for (const detail::CodePoints& word : words(text)) {
      if (tokens.size() >= longest - 1) break;
      append_pieces(word, tokens);
    }
    tokens.resize(std::min(tokens.size(), longest - 1));
    tokens.push_back(special_[kSep]);
    return tokens;
  }
  // The text of a token, as the vocabulary has it.
  const std::string& piece(int64_t token) const {
    if (token < 0 || static_cast<size_t>(token) >= size())
      throw Error(TN_OUT_OF_RANGE, "[WordPiece] token " + std::to_string(token) +
                                       " is outside a vocabulary of " + std::to_string(size()));
    return vocabulary_[static_cast<size_t>(token)];
  }
  size_t size() const { return vocabulary_.size(); }
  int64_t padding() const { return special_[kPad]; }

 private:
  static constexpr std::array<const char*, 4> kSpecial = {"[CLS]", "[SEP]", "[UNK]", "[PAD]"};
  enum : size_t { kCls, kSep, kUnk, kPad };
  static constexpr size_t kLongestWord = 100;  // code points; BERT treats longer words as unknown

  void add(std::string piece, const std::string& where) {
    const std::string line = where + ": line " + std::to_string(vocabulary_.size() + 1) + ": ";
    for (size_t at = 0; at < piece.size();) {
      utf8proc_int32_t point = 0;
      const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(piece.data()) + at;
      const auto n =
          utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(piece.size() - at), &point);
      if (n <= 0) throw Error(TN_DATA_LOSS, line + "text that is not UTF-8");
      at += static_cast<size_t>(n);
    }
    const auto before = vocabulary_.find(piece);
    if (before.has_value())
      throw Error(TN_DATA_LOSS,
                  line + '"' + piece + "\" is that of line " + std::to_string(*before + 1));
    vocabulary_.add(std::move(piece));
  }
  int64_t find_special(size_t i, const std::string& where) const {
    const auto found = vocabulary_.find(kSpecial[i]);
    if (!found.has_value())
      throw Error(TN_DATA_LOSS,
                  where + ": no line is " + kSpecial[i] + ": this is no vocabulary of BERT's");
    return *found;
  }

  static bool is_ideograph(utf8proc_int32_t c) {
    constexpr std::pair<int, int> kBlocks[] = {
        {0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
        {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
    return std::ranges::any_of(
        kBlocks, [c](const auto& block) { return c >= block.first && c <= block.second; });
  }
  // ASCII symbols count as punctuation.
  static bool is_punctuation(utf8proc_int32_t c) {
    const char kind = detail::kind_of(c);
    return kind == 'P' || (c < 128 && kind == 'S');
  }
  static bool is_dropped(utf8proc_int32_t c) {
    return c == 0xfffd || (detail::kind_of(c) == 'C' && c != '\t' && c != '\n' && c != '\r');
  }
  static std::vector<detail::CodePoints> words(std::string_view text) {
    std::vector<detail::CodePoints> found;
    bool open = false;  // whether the next letter continues the last word
    const auto put = [&](utf8proc_int32_t c, bool alone) {
      if (!open || alone) found.emplace_back();
      found.back().push_back(utf8proc_tolower(c));
      open = !alone;
    };
    detail::CodePoints points = detail::code_points(text, "[WordPiece]");
    std::erase_if(points, is_dropped);
    for (const utf8proc_int32_t whole : points) {
      const bool ideograph = is_ideograph(whole);
      if (ideograph) open = false;
      for (const utf8proc_int32_t c : detail::decomposed({whole})) {
        if (detail::is_nonspacing_mark(c)) continue;
        if (detail::is_space(c))
          open = false;
        else
          put(c, is_punctuation(c));
      }
      if (ideograph) open = false;
    }
    return found;
  }

  // Takes the longest piece first. If the rest of a word cannot be matched, the whole word is unknown.
  void append_pieces(const detail::CodePoints& word, std::vector<int64_t>& tokens) const {
    std::string bytes;
    std::vector<size_t> ends;
    for (const utf8proc_int32_t c : word) {
      detail::append_utf8(bytes, c);
      ends.push_back(bytes.size());
    }
    const size_t before = tokens.size();
    size_t begin = word.size() > kLongestWord ? bytes.size() + 1 : 0;
    while (begin < bytes.size()) {
      const std::string prefix = begin == 0 ? "" : "##";
      std::optional<int64_t> token;
      size_t end = begin;
      for (auto at = ends.rbegin(); at != ends.rend() && *at > begin && !token.has_value(); ++at) {
        end = *at;
        token = vocabulary_.find(prefix + bytes.substr(begin, end - begin));
      }
      if (!token.has_value()) break;
      tokens.push_back(*token);
      begin = end;
    }
    if (begin == bytes.size()) return;
    tokens.resize(before);
    tokens.push_back(special_[kUnk]);
  }

  detail::Vocabulary vocabulary_;
  std::array<int64_t, 4> special_{};
};

}  // namespace tenon::text
#endif
