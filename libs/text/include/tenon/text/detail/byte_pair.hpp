// How BytePair encodes: splits text into words and words into bytes, then merges pairs in the order they were learned.
#ifndef TENON_TEXT_DETAIL_BYTE_PAIR_HPP
#define TENON_TEXT_DETAIL_BYTE_PAIR_HPP

#include "tenon/text/byte_pair.hpp"

namespace tenon::text {

inline BytePair::BytePair(BytePairModel model, const std::string& where)
    : is_control_(model.tokens.size()), digits_alone_(model.digits_alone) {
  for (size_t i = 0; i < model.tokens.size(); ++i)
    if (!vocabulary_.add(model.tokens[i]))
      throw Error(TN_DATA_LOSS, std::string(where)
                                    .append(": token ")
                                    .append(std::to_string(i))
                                    .append(", \"")
                                    .append(model.tokens[i])
                                    .append("\", is there already"));
  for (size_t i = 0; i < model.merges.size(); ++i) {
    const std::string& pair = model.merges[i];
    const std::string line = std::string(where)
                                 .append(": merge ")
                                 .append(std::to_string(i))
                                 .append(", \"")
                                 .append(pair)
                                 .append("\"");
    const size_t space = pair.find(' ');
    if (space == std::string::npos) throw Error(TN_DATA_LOSS, line + ": no space between its two");
    const std::string left = pair.substr(0, space), right = pair.substr(space + 1);
    merges_.try_emplace({token_of(left, line), token_of(right, line)},
                        Merge{i, token_of(left + right, line)});
  }
  for (const std::string& each : model.control) {
    if (each.empty()) throw Error(TN_DATA_LOSS, where + ": a control token without text");
    is_control_[static_cast<size_t>(token_of(each, where + ": control tokens"))] = true;
  }
  control_ = std::move(model.control);
  std::ranges::sort(control_, std::greater(), &std::string::size);
  if (model.unknown.has_value() &&
      (*model.unknown < 0 || static_cast<size_t>(*model.unknown) >= size()))
    throw Error(TN_DATA_LOSS, where + ": the unknown token " + std::to_string(*model.unknown) +
                                  " is outside a vocabulary of " + std::to_string(size()));
  make_letters();
  for (auto& letter : letters_)
    if (!letter.has_value()) letter = model.unknown;
}

// Bytes that are visible Latin-1 letters stand for themselves; the others become letters from U+0100 on.
inline void BytePair::make_letters() {
  for (int byte = 0, next = 256; byte < 256; ++byte) {
    const bool seen = (byte >= 33 && byte < 127) || (byte >= 161 && byte != 173);
    const utf8proc_int32_t letter = seen ? byte : next++;
    std::string text;
    detail::append_utf8(text, letter);
    letters_[static_cast<size_t>(byte)] = vocabulary_.find(text);
    bytes_[letter] = static_cast<char>(byte);
  }
}

// The tokens of a word while they merge: a list linked by `next` and `last`. The ends are those of the vector.
class BytePair::Word {
 public:
  Word(const BytePair& owner, const std::string& bytes) : owner_(owner) {
    for (const char byte : bytes) {
      const auto& token = owner.letters_[static_cast<unsigned char>(byte)];
      if (token.has_value()) tokens_.push_back(*token);
    }
    for (size_t i = 0; i < tokens_.size(); ++i) {
      before_.push_back(i - 1);
      after_.push_back(i + 1);
    }
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) offer(i);
  }

  void merge() {
    while (!offers_.empty()) {
      const Offer best = offers_.top();
      offers_.pop();
      const size_t i = best.place, j = after_[i];
      if (j >= tokens_.size() || tokens_[i] != best.left || tokens_[j] != best.right) continue;
      tokens_[i] = best.merged;
      tokens_[j] = kGone;
      after_[i] = after_[j];
      if (after_[i] < tokens_.size()) {
        before_[after_[i]] = i;
        offer(i);
      }
      if (i > 0) offer(before_[i]);
    }
  }
  void append_to(std::vector<int64_t>& tokens) const {
    for (const int64_t token : tokens_)
      if (token != kGone) tokens.push_back(token);
  }

 private:
  static constexpr int64_t kGone = -1;
  struct Offer {
    size_t rank, place;
    int64_t left, right, merged;
    // The pair learned first comes first, and of equal pairs the leftmost.
    bool operator<(const Offer& other) const {
      return std::pair(rank, place) > std::pair(other.rank, other.place);
    }
  };
  void offer(size_t i) {
    const int64_t left = tokens_[i], right = tokens_[after_[i]];
    const auto found = owner_.merges_.find({left, right});
    if (found != owner_.merges_.end())
      offers_.push({found->second.rank, i, left, right, found->second.token});
  }

  const BytePair& owner_;
  std::vector<int64_t> tokens_;
  std::vector<size_t> before_, after_;
  std::priority_queue<Offer> offers_;
};

namespace detail {

// The end of the word that begins at `at`, by the pattern of GPT-2:
// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
inline size_t word_end(const CodePoints& p, size_t at, size_t end) {
  enum class Kind { kSpace, kLetter, kNumber, kOther };
  const auto kind = [&](size_t i) {
    if (is_space(p[i])) return Kind::kSpace;
    const char c = kind_of(p[i]);
    return c == 'L' ? Kind::kLetter : c == 'N' ? Kind::kNumber : Kind::kOther;
  };
  if (p[at] == '\'')
    for (const std::string_view tail : {"s", "t", "re", "ve", "m", "ll", "d"})
      if (end - at > tail.size() &&
          std::equal(tail.begin(), tail.end(), p.begin() + static_cast<std::ptrdiff_t>(at) + 1))
        return at + 1 + tail.size();
  const bool led = p[at] == ' ' && at + 1 < end && kind(at + 1) != Kind::kSpace;
  const size_t begin = at + (led ? 1 : 0);
  size_t i = begin;
  while (i < end && kind(i) == kind(begin)) ++i;
  // The last of several spaces belongs to the next word.
  return kind(begin) == Kind::kSpace && i < end && i - begin > 1 ? i - 1 : i;
}

}  // namespace detail

inline void BytePair::encode_word(const std::string& bytes, std::vector<int64_t>& tokens) const {
  Word word(*this, bytes);
  word.merge();
  word.append_to(tokens);
}

inline void BytePair::encode_words(const detail::CodePoints& p, size_t begin, size_t end,
                                   std::vector<int64_t>& tokens) const {
  for (size_t at = begin; at < end;) {
    const size_t next = detail::word_end(p, at, end);
    std::string bytes;
    for (size_t i = at; i < next; ++i) detail::append_utf8(bytes, p[i]);
    encode_word(bytes, tokens);
    at = next;
  }
}

inline void BytePair::encode_plain(std::string_view text, std::vector<int64_t>& tokens) const {
  const detail::CodePoints points = detail::code_points(text, "[BytePair]");
  size_t begin = 0;
  for (size_t i = 0; digits_alone_ && i < points.size(); ++i) {
    if (detail::kind_of(points[i]) != 'N') continue;
    encode_words(points, begin, i, tokens);
    encode_words(points, i, i + 1, tokens);
    begin = i + 1;
  }
  encode_words(points, begin, points.size(), tokens);
}

inline std::vector<int64_t> BytePair::encode(std::string_view text, bool control) const {
  std::vector<int64_t> tokens;
  size_t begin = 0;
  for (size_t i = 0; control && i < text.size();) {
    const auto found = std::ranges::find_if(
        control_, [&](const std::string& each) { return text.substr(i).starts_with(each); });
    if (found == control_.end()) {
      ++i;
      continue;
    }
    encode_plain(text.substr(begin, i - begin), tokens);
    tokens.push_back(*vocabulary_.find(*found));
    begin = i += found->size();
  }
  encode_plain(text.substr(begin), tokens);
  return tokens;
}

inline std::string BytePair::decode(int64_t token) const {
  if (token < 0 || static_cast<size_t>(token) >= size())
    throw Error(TN_OUT_OF_RANGE, "[BytePair] token " + std::to_string(token) +
                                     " is outside a vocabulary of " + std::to_string(size()));
  const auto i = static_cast<size_t>(token);
  std::string bytes;
  if (is_control_[i]) return bytes;
  for (const utf8proc_int32_t letter : detail::code_points(vocabulary_[i], "[BytePair]")) {
    const auto byte = bytes_.find(letter);
    bytes += byte == bytes_.end() ? '?' : byte->second;
  }
  return bytes;
}

inline BytePair byte_pair_of(const io::GgufMetadata& metadata, const std::string& path) {
  const std::string start = "tokenizer.ggml.";
  const auto word = [&](const char* name) -> const std::string& {
    return io::metadata_value<std::string>(metadata, start + name, path);
  };
  if (word("model") != "gpt2")
    throw Error(TN_UNIMPLEMENTED, path + ": its tokenizer is \"" + word("model") +
                                      "\", not byte-level byte pairs (\"gpt2\")");
  // The patterns for splitting text that this class supports, of those that files name.
  const std::string& cut = word("pre");
  if (cut != "gpt-2" && cut != "smollm")
    throw Error(TN_UNIMPLEMENTED, path + ": its tokenizer cuts words as \"" + cut +
                                      "\" does; known are \"gpt-2\" and \"smollm\"");
  BytePairModel model{.tokens = io::metadata_list<std::string>(metadata, start + "tokens", path),
                      .merges = io::metadata_list<std::string>(metadata, start + "merges", path),
                      .control = {},
                      .digits_alone = cut == "smollm"};
  const auto kinds = io::metadata_list<int64_t>(metadata, start + "token_type", path);
  if (kinds.size() != model.tokens.size())
    throw Error(TN_DATA_LOSS, path + ": " + std::to_string(model.tokens.size()) + " tokens, but " +
                                  std::to_string(kinds.size()) + " kinds of them");
  constexpr int64_t kControl = 3;
  for (size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] == kControl) model.control.push_back(model.tokens[i]);
  if (metadata.contains(start + "unknown_token_id"))
    model.unknown = static_cast<int64_t>(
        io::metadata_value<uint64_t>(metadata, start + "unknown_token_id", path));
  return BytePair(std::move(model), path);
}

}  // namespace tenon::text
#endif
