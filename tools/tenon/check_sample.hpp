// tenon check --sample K:SALT: one case in K of each op, by a hash of its name; another salt draws others.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "command.hpp"

namespace tenon::tool {

class Sample {
 public:
  // "8" or "8:a salt"; empty: every case. Throws UsageError.
  explicit Sample(std::string_view text) {
    if (text.empty()) return;
    const size_t colon = std::min(text.find(':'), text.size());
    const char* end = text.data() + colon;
    const auto [stop, error] = std::from_chars(text.data(), end, one_in_);
    if (error != std::errc() || stop != end || one_in_ == 0)
      throw UsageError("--sample must be K or K:SALT, with a whole number K of at least 1");
    salt_ = text.substr(std::min(colon + 1, text.size()));
  }
  // Whether the case runs. The first of an op always does, so that every op has one.
  bool draws(const std::string& name) {
    if (one_in_ == 1) return true;
    const std::string_view op = std::string_view(name).substr(0, name.find('/'));
    if (op != op_) {
      op_ = op;
      return true;
    }
    if (hash(salt_ + '/' + name) % one_in_ == 0) return true;
    ++left_out_;
    return false;
  }
  uint64_t left_out() const { return left_out_; }

 private:
  // FNV-1a with 64 bits (Fowler, Noll, Vo), its high half folded in: the low bits alone are weak.
  static uint64_t hash(std::string_view text) {
    uint64_t h = 14695981039346656037U;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return h ^ (h >> 32);
  }

  uint64_t one_in_ = 1, left_out_ = 0;
  std::string salt_, op_;
};

}  // namespace tenon::tool
