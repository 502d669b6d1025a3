#include "tuned.hpp"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

#include "../common/cache_file.hpp"

namespace tenon::gpu {
namespace {

std::string variable() {
  std::string name = "TENON_";
  for (const char* c = rt::kName; *c != '\0'; ++c)
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  const char* const value = secure_getenv((name + "_TUNE").c_str());
  return value != nullptr ? value : "";
}

// The files that were read, and what was added: by file, then by problem.
struct Known {
  std::mutex mutex;
  std::map<std::string, std::map<std::string, Tuned>> files;
};
Known& known() {
  static Known& one = *new Known;
  return one;
}

CacheFile cache_of(const std::string& file) {
  const std::string wanted = variable();
  return {wanted.starts_with('/') ? wanted : cache_directory("tuned"), file};
}

std::string hex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto value = static_cast<unsigned char>(c);
    text += {kDigits[value / 16], kDigits[value % 16]};
  }
  return text;
}
std::string from_hex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

// A line for a problem: its text without spaces, the workspace, the algorithm.
std::map<std::string, Tuned> read(const std::string& file) {
  std::map<std::string, Tuned> found;
  std::istringstream lines(cache_of(file).read());
  std::string problem, algorithm;
  for (uint64_t workspace = 0; lines >> problem >> workspace >> algorithm;)
    found[problem] = {from_hex(algorithm), workspace};
  return found;
}

// The lock is held.
std::map<std::string, Tuned>& table_of(const std::string& file) {
  const auto [place, is_new] = known().files.try_emplace(file);
  if (is_new) place->second = read(file);
  return place->second;
}

}  // namespace

bool is_tuning() {
  static const bool yes = [] {
    const std::string wanted = variable();
    return wanted == "1" || wanted.starts_with('/');
  }();
  return yes;
}

std::optional<Tuned> find_tuned(const std::string& file, const std::string& problem) {
  const std::lock_guard lock(known().mutex);
  const auto& table = table_of(file);
  const auto found = table.find(problem);
  return found != table.end() ? std::optional(found->second) : std::nullopt;
}

// With what other processes have found meanwhile.
void keep_tuned(const std::string& file, const std::string& problem, const Tuned& found) {
  const std::lock_guard lock(known().mutex);
  auto& table = table_of(file);
  table[problem] = found;
  table.merge(read(file));
  std::string text;
  for (const auto& [name, one] : table)
    text += name + " " + std::to_string(one.workspace) + " " + hex(one.algorithm) + "\n";
  cache_of(file).write(text);
}

}  // namespace tenon::gpu
