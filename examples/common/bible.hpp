// The King James Bible as printed by Debian's program bible, as symbols. Every tenth chapter is kept for the test, as in
// examples/python/common.py.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "packages.hpp"
#include "tenon/tenon.hpp"

namespace bible {

struct Text {
  std::string symbols;        // indexed by the tensors below
  tenon::Tensor train, test;  // i64
};

struct Verse {
  std::string place, text;  // "Ge1:1", "In the beginning …"
};

inline std::vector<Verse> verses() {
  const std::string whole = output_of("bible -f gen1:1-rev22:21");
  if (whole.empty())
    throw tenon::Error(TN_NOT_FOUND,
                       "the King James Bible is not there: apt-get install bible-kjv");
  std::vector<Verse> found;
  for (size_t begin = 0; begin < whole.size();) {
    const size_t end = whole.find('\n', begin), space = whole.find(' ', begin);
    found.push_back({whole.substr(begin, space - begin), whole.substr(space + 1, end - space - 1)});
    begin = end + 1;
  }
  return found;
}

// The first verses, one on each line.
inline std::string beginning(size_t count) {
  std::string text;
  for (const Verse& verse : verses())
    if (count-- > 0)
      text += (text.empty() ? "" : "\n") + verse.text;
    else
      break;
  return text;
}

inline Text load() {
  std::string parts[2], chapter;
  std::set<char> symbols;
  int64_t chapters = -1;
  for (const Verse& verse : verses()) {
    const std::string place = verse.place.substr(0, verse.place.find(':'));
    if (place != chapter) ++chapters;
    chapter = place;
    const std::string line = verse.text + '\n';
    symbols.insert(line.begin(), line.end());
    parts[chapters % 10 == 9 ? 1 : 0] += line;
  }
  Text found{std::string(symbols.begin(), symbols.end()), {}, {}};
  const auto indices = [&](const std::string& part) {
    std::vector<int64_t> index;
    for (char c : part) index.push_back(static_cast<int64_t>(found.symbols.find(c)));
    return tenon::tensor(index);
  };
  found.train = indices(parts[0]);
  found.test = indices(parts[1]);
  return found;
}

inline std::string sizes_of(const Text& text) {
  return std::to_string(text.train.shape(0)) + " characters to learn from, " +
         std::to_string(text.test.shape(0)) + " to test with; " +
         std::to_string(text.symbols.size()) + " symbols";
}

// The indices of a text to continue, (1, N).
inline tenon::Tensor indices_of(const std::string& prompt, const Text& text) {
  std::vector<int64_t> index;
  for (const char c : prompt) index.push_back(static_cast<int64_t>(text.symbols.find(c)));
  const auto unknown = std::find(index.begin(), index.end(), -1);
  if (prompt.empty()) throw tenon::Error(TN_INVALID_ARGUMENT, "--prompt: at least one character");
  if (unknown != index.end())
    throw tenon::Error(TN_INVALID_ARGUMENT, "--prompt " + prompt + ": byte " +
                                                std::to_string(unknown - index.begin()) +
                                                " is no character of the text that is learned");
  return tenon::tensor(index).unsqueeze(0);
}

}  // namespace bible
