// What libtenon and tenon-probe agree on: the lines of a verdict on a library, its name, the time a trial may take, and whose
// files are trusted.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include "tenon/tenon.h"

namespace tenon::verdicts {

enum Line : uint8_t { kKey, kHash, kUntil, kCode, kId, kVersion, kReason, kEnd, kLines };
using Lines = std::array<std::string, kLines>;

// The descriptor by which tenon-probe gets the library: the path may lead elsewhere by then.
constexpr int kLibrary = 3;

// The time that TENON_PROBE_TIMEOUT gives the plugin. tenon-probe ends itself after twice as long, and
// the host stops waiting some time after that.
inline unsigned allowed_seconds(const char* given) {
  const int seconds = given == nullptr ? 10 : std::atoi(given);
  return seconds < 1 ? 1 : seconds > 3600 ? 3600 : static_cast<unsigned>(seconds);
}

// Nothing when the text is not a whole verdict of this key that still holds.
inline std::optional<Lines> parse(std::string_view text, std::string_view key) {
  Lines lines;
  for (std::string& line : lines) {
    const size_t end = text.find('\n');
    if (end == text.npos) return std::nullopt;
    line = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  const int64_t until = std::atoll(lines[kUntil].c_str());
  if (lines[kKey] != key || lines[kEnd] != "end" || !text.empty() ||
      (until != 0 && until < std::time(nullptr)))
    return std::nullopt;
  return lines;
}

// Another core may judge differently.
inline std::string core_name() {
  uint32_t major = 0, minor = 0;
  tn_str version{};
  tn_version(&major, &minor, &version);
  return std::string(version.data, version.size) + "-" + std::to_string(major) + "." +
         std::to_string(minor);
}

// Changes whenever the file does, or the core.
inline std::string key_of(const struct stat& file) {
  const auto hex = [](auto number) { return static_cast<uintmax_t>(number); };
  char key[192];
  std::snprintf(key, sizeof key, "-%jx-%jx-%jx-%jx.%jx-%jx.%jx", hex(file.st_dev), hex(file.st_ino),
                hex(file.st_size), hex(file.st_mtim.tv_sec), hex(file.st_mtim.tv_nsec),
                hex(file.st_ctim.tv_sec), hex(file.st_ctim.tv_nsec));
  return core_name() + key;
}

// Whether anybody but the user and root may change a file. Who may write to `also` is trusted as well.
inline bool others_may_write(const struct stat& about, const struct stat& also = {}) {
  const mode_t groups = about.st_gid == also.st_gid ? also.st_mode & S_IWGRP : 0;
  const bool owned = about.st_uid == geteuid() || about.st_uid == 0 || about.st_uid == also.st_uid;
  return !owned || (about.st_mode & (S_IWGRP | S_IWOTH) & ~groups) != 0;
}

inline bool is_ours(int descriptor, mode_t kind) {
  struct stat about {};
  return fstat(descriptor, &about) == 0 && (about.st_mode & S_IFMT) == kind &&
         !others_may_write(about);
}

// The directory of verdicts; -1 when there is none, or somebody else could write there.
inline int open_directory(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0 || is_ours(folder, S_IFDIR)) return folder;
  close(folder);
  return -1;
}

// A file there; empty when there is none, or somebody else could have written it.
inline std::string read_file(int folder, const std::string& name) {
  const int file = openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return {};
  std::string text(8192, '\0');
  const ssize_t bytes = is_ours(file, S_IFREG) ? read(file, text.data(), text.size()) : 0;
  close(file);
  return text.substr(0, bytes > 0 ? static_cast<size_t>(bytes) : 0);
}

}  // namespace tenon::verdicts
