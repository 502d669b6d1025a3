// Checks of constructor arguments. An error names the class, the argument, the value and what is accepted.
#ifndef TENON_NN_DETAIL_CHECK_HPP
#define TENON_NN_DETAIL_CHECK_HPP

#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tenon/error.hpp"
#include "tenon/value.hpp"

namespace tenon::nn::detail {

[[noreturn]] inline void refuse(std::string_view where, const std::string& problem) {
  throw Error(TN_INVALID_ARGUMENT, "[" + std::string(where) + "] " + problem);
}
[[noreturn]] inline void refuse(std::string_view where, std::string_view name,
                                const std::string& value, const std::string& wanted) {
  refuse(where, std::string(name) + " is " + value + ", " + wanted);
}

// The fewest digits that read back as the same number; 2.0, not 2, as Python writes it.
inline std::string text_of(double value) {
  char digits[32];
  std::string text(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}
// "(1, 2, 3)"
inline std::string text_of(IntList sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return '(' + text + (sizes.size() == 1 ? ",)" : ")");
}

inline int64_t check_least(std::string_view where, std::string_view name, int64_t value,
                           int64_t least = 0) {
  if (value < least)
    refuse(where, name, std::to_string(value), "must be at least " + std::to_string(least));
  return value;
}
inline double check_least(std::string_view where, std::string_view name, double value,
                          int64_t least) {
  if (!(value >= static_cast<double>(least)))
    refuse(where, name, text_of(value), "must be at least " + std::to_string(least));
  return value;
}
inline double check_positive(std::string_view where, std::string_view name, double value) {
  if (!(value > 0)) refuse(where, name, text_of(value), "must be positive");
  return value;
}
// From 0 to 1, inclusive.
inline double check_part(std::string_view where, std::string_view name, double value) {
  if (!(value >= 0 && value <= 1)) refuse(where, name, text_of(value), "must be 0 to 1");
  return value;
}
inline void check_sizes(std::string_view where, std::string_view name, IntList sizes,
                        int64_t least = 0) {
  for (const int64_t size : sizes) check_least(where, name, size, least);
}
// `channels` must divide; names all of them if one does not.
inline void check_groups(std::string_view where, std::initializer_list<int64_t> channels,
                         int64_t groups) {
  std::string text;
  bool divide = true;
  for (const int64_t count : channels) {
    text += (text.empty() ? "" : " and ") + std::to_string(count);
    divide = divide && count % groups == 0;
  }
  if (!divide)
    refuse(where, text + " channels do not divide into " + std::to_string(groups) + " groups");
}
// "mode is "cubic", must be "nearest" or "linear""
inline std::string check_one_of(std::string_view where, std::string_view name, std::string value,
                                std::initializer_list<std::string_view> taken) {
  std::string list;
  for (const std::string_view& word : taken) {
    if (word == value) return value;
    list += list.empty() ? "" : &word == taken.end() - 1 ? " or " : ", ";
    list += '"' + std::string(word) + '"';
  }
  refuse(where, name, '"' + value + '"', "must be " + list);
}

}  // namespace tenon::nn::detail
#endif
