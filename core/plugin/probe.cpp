#include "plugin/probe.hpp"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "plugin/search.hpp"
#include "plugin/verdicts.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

constexpr size_t kMostAnswer = 1 << 16;

std::string cache_directory() {
  const char* cache = environment("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/tenon/probe";
  const char* home = environment("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/tenon/probe" : "";
}

std::string probe_program() {
  const std::filesystem::path own = std::filesystem::path("/") / own_directory();
  const auto built = own.parent_path() / "tools/probe/tenon-probe";  // in a build tree
  std::error_code error;
  return own.filename() == "core" && std::filesystem::exists(built, error)
             ? built.string()
             : (own / "tenon/tenon-probe").string();
}

// The child's output, until it ends or `seconds` have passed; empty on a timeout or if it is too large for a verdict.
std::string answer_of(int from, unsigned seconds) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::seconds(seconds);
  std::string answer;
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
    pollfd ready{from, POLLIN, 0};
    const int count = poll(&ready, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (count == 0 || answer.size() > kMostAnswer) return {};
    if (count < 0 && errno != EINTR) return {};
    const ssize_t bytes = count < 0 ? -1 : read(from, buffer, sizeof buffer);
    if (bytes == 0) return answer;
    if (bytes > 0) answer.append(buffer, static_cast<size_t>(bytes));
  }
}

// Runs tenon-probe on the library. A host may have threads, so this does not fork.
std::string run(std::vector<std::string> words, const Pinned& library, unsigned seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(TN_IO, "cannot be probed: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, library.descriptor(), verdicts::kLibrary);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* nothing = nullptr;
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(),
                                is_privileged() ? &nothing : environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string answer = error == 0 ? answer_of(ends[0], seconds) : "";
  close(ends[0]);
  if (error != 0)
    fail(TN_FAILED_PRECONDITION,
         "cannot be probed: {}: {}; install it there, or load without probing (TENON_PROBE=off)",
         words[0], std::strerror(error));
  kill(child, SIGKILL);  // it may be stopped, or never end
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return answer;
}

}  // namespace

Probed probe(const Pinned& library, const std::string& sha256) {
  // Fit ones that this process has seen, by key.
  static auto& seen = *new std::map<std::string, verdicts::Lines>;
  const char* given = environment("TENON_PROBE");
  const std::string_view mode = given == nullptr ? "" : given;
  const bool off = mode == "off" || is_probe();
  const std::string& key = library.key();
  std::string hash, cache;
  std::optional<verdicts::Lines> verdict;
  if (!off) {
    cache = cache_directory();
    if (const auto found = seen.find(key); found != seen.end()) verdict = found->second;
    if (!verdict && mode != "again") {
      const int folder = verdicts::open_directory(cache);
      verdict = verdicts::parse(verdicts::read_file(folder, key), key);
      if (folder >= 0) close(folder);
    }
    hash = verdict ? (*verdict)[verdicts::kHash] : library.sha256();
  } else if (!sha256.empty()) {
    hash = library.sha256();
  }
  if (!sha256.empty() && hash != sha256)
    fail(TN_DATA_LOSS, "is not the file its identity card speaks of: sha256 {:.12}…, not {:.12}…",
         hash, sha256);
  if (off) return {};
  if (!verdict) {
    const std::string program = mode.starts_with('/') ? given : probe_program();
    const unsigned seconds = 3 * verdicts::allowed_seconds(environment("TENON_PROBE_TIMEOUT")) + 2;
    verdict =
        verdicts::parse(run({program, library.path(), key, hash, cache}, library, seconds), key);
    if (!verdict)
      fail(TN_INTERNAL,
           "cannot be probed: {} gave no answer within {} s (three times TENON_PROBE_TIMEOUT, and "
           "2); TENON_PROBE=off loads without it",
           program, seconds);
  }
  const auto code = static_cast<uint32_t>(std::atoi((*verdict)[verdicts::kCode].c_str()));
  if (code != TN_OK) fail(code, "{}", (*verdict)[verdicts::kReason]);
  seen.insert_or_assign(key, *verdict);
  return {(*verdict)[verdicts::kId], (*verdict)[verdicts::kVersion]};
}

// The child program exports this function; no host does.
using StageFn = void(const char*);
static StageFn* stage_function() {
  static auto* const found = reinterpret_cast<StageFn*>(dlsym(RTLD_DEFAULT, "tn_probe_stage"));
  return found;
}
bool is_probe() { return stage_function() != nullptr; }
void probe_stage(const char* what) {
  if (StageFn* const stage = stage_function()) stage(what);
}

}  // namespace tenon::core
