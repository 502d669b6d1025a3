// tenon check --sample K:SALT runs one in K of the pairs of op and dtype, with all cases of each; another salt selects others. Devices
// compile kernels per pair, and on a software device that takes longer than the cases.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "command.hpp"
#include "tenon/tenon.hpp"

namespace tenon::tool {

class Sample {
 public:
  // "8" or "8:a salt"; empty selects every case. Throws UsageError.
  explicit Sample(std::string_view text) {
    if (text.empty()) return;
    const size_t colon = std::min(text.find(':'), text.size());
    const char* end = text.data() + colon;
    const auto [stop, error] = std::from_chars(text.data(), end, one_in_);
    if (error != std::errc() || stop != end || one_in_ == 0)
      throw UsageError("--sample must be K or K:SALT, with a whole number K of at least 1");
    salt_ = text.substr(std::min(colon + 1, text.size()));
  }
  // Whether the case runs. The first case of an op always does, so that every op has one. Cases are named op/…/dtype/….
  bool draws(const std::string& name) {
    if (one_in_ == 1) return true;
    const std::string_view op = std::string_view(name).substr(0, name.find('/'));
    if (op != op_) {
      op_ = op;
      return true;
    }
    if (hash(salt_ + '/' + stratum(name)) % one_in_ == 0) return true;
    ++left_out_;
    return false;
  }
  uint64_t left_out() const { return left_out_; }

 private:
  static bool is_dtype(std::string_view word) {
    for (uint32_t dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype)
      if (word == name_of(static_cast<DType>(dtype))) return true;
    return false;
  }
  // "add/f32" for "add/(2,3)/f32/sliced"; the name itself if it has no dtype.
  static std::string stratum(const std::string& name) {
    for (size_t start = name.find('/'); start != std::string::npos;
         start = name.find('/', start + 1)) {
      const std::string word = name.substr(start + 1, name.find('/', start + 1) - start - 1);
      if (is_dtype(word)) return name.substr(0, name.find('/') + 1) + word;
    }
    return name;
  }
  // FNV-1a with 64 bits (Fowler, Noll, Vo), with its high half folded in because the low bits alone are weak.
  static uint64_t hash(std::string_view text) {
    uint64_t h = 14695981039346656037U;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return h ^ (h >> 32);
  }

  uint64_t one_in_ = 1, left_out_ = 0;
  std::string salt_, op_;
};

}  // namespace tenon::tool
