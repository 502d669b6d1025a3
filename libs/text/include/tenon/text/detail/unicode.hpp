// Code points of UTF-8 text and their Unicode properties, from the library utf8proc.
#ifndef TENON_TEXT_DETAIL_UNICODE_HPP
#define TENON_TEXT_DETAIL_UNICODE_HPP

#include <utf8proc.h>

#include <string>
#include <string_view>
#include <vector>

#include "tenon/error.hpp"

namespace tenon::text::detail {

using CodePoints = std::vector<utf8proc_int32_t>;

// `where` is "[class]". The error for invalid UTF-8 begins with it.
inline CodePoints code_points(std::string_view text, const std::string& where) {
  CodePoints found;
  found.reserve(text.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t point = 0;
    const utf8proc_ssize_t n =
        utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &point);
    if (n <= 0)
      throw Error(TN_INVALID_ARGUMENT,
                  where + " byte " + std::to_string(at) + " of the text is no UTF-8");
    found.push_back(point);
    at += static_cast<size_t>(n);
  }
  return found;
}

inline void append_utf8(std::string& text, utf8proc_int32_t point) {
  utf8proc_uint8_t bytes[4];
  const auto n = static_cast<size_t>(utf8proc_encode_char(point, bytes));
  text.append(reinterpret_cast<const char*>(bytes), n);
}

// The canonical decomposition (NFD), which separates letters from accents.
inline CodePoints decomposed(const CodePoints& points) {
  CodePoints found;
  for (const utf8proc_int32_t point : points) {
    utf8proc_int32_t parts[8];  // the longest decomposition has four
    const utf8proc_ssize_t n =
        utf8proc_decompose_char(point, parts, std::size(parts), UTF8PROC_DECOMPOSE, nullptr);
    found.insert(found.end(), parts, parts + std::max<utf8proc_ssize_t>(n, 0));
  }
  return found;
}

// The first letter of the general category: 'L' for Lu, Ll, …
inline char kind_of(utf8proc_int32_t point) { return *utf8proc_category_string(point); }
inline bool is_nonspacing_mark(utf8proc_int32_t point) {
  return utf8proc_category(point) == UTF8PROC_CATEGORY_MN;
}
// Unicode's property White_Space.
inline bool is_space(utf8proc_int32_t point) {
  return kind_of(point) == 'Z' || (point >= '\t' && point <= '\r') || point == 0x85;
}

}  // namespace tenon::text::detail
#endif
