// Tokens and their numbers, in both directions.
#ifndef TENON_TEXT_DETAIL_VOCABULARY_HPP
#define TENON_TEXT_DETAIL_VOCABULARY_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tenon::text::detail {

class Vocabulary {
 public:
  // False if the token is already there.
  bool add(std::string text) {
    const bool added = index_.emplace(text, static_cast<int64_t>(texts_.size())).second;
    if (added) texts_.push_back(std::move(text));
    return added;
  }
  std::optional<int64_t> find(std::string_view text) const {
    const auto found = index_.find(text);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }
  const std::string& operator[](size_t i) const { return texts_[i]; }
  size_t size() const { return texts_.size(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::vector<std::string> texts_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> index_;
};

}  // namespace tenon::text::detail
#endif
