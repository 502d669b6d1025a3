// tenon-probe LIBRARY KEY SHA256 CACHE: says on standard output whether libtenon may open a library. The library itself is passed as a
// descriptor; its path serves for files beside it.
// libtenon starts it for each library that it has not seen; users need not run it.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "cache.hpp"
#include "plugin/verdicts.hpp"
#include "tenon/tenon.h"
#include "verdict.hpp"

namespace tenon::probe {

std::string to_text(const Verdict& verdict, const std::string& key, const std::string& hash,
                    int64_t until) {
  std::string text;
  for (std::string line : {key, hash, std::to_string(until), std::to_string(verdict.code),
                           verdict.id, verdict.version, verdict.reason, std::string("end")}) {
    for (char& c : line)
      if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
    text += line + '\n';
  }
  return text;
}

namespace {

constexpr int64_t kDay = 24 * 60 * 60;

// A host may ignore or block signals and pass on open files; the plugin should see none of that.
void start_afresh() {
  close_range(verdicts::kLibrary + 1, ~0u, 0);
  for (int signal_number = 1; signal_number < NSIG; ++signal_number) signal(signal_number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The stored verdict for this content with a new first line, or nothing.
std::string recall(const Cache& cache, const std::string& name, const std::string& key) {
  const std::string text = cache.read(name);
  return verdicts::parse(text, name) ? key + text.substr(name.size()) : "";
}

// Empty if there is no file.
std::string key_of_library(time_t& changed) {
  struct stat about {};
  if (fstat(verdicts::kLibrary, &about) != 0) return {};
  changed = about.st_ctime;
  return verdicts::key_of(about);
}

std::string judge(const char* library, const std::string& key, const std::string& hash,
                  const Cache& cache) {
  const std::string name = hash + "-" + verdicts::core_name();
  const char* mode = std::getenv("TENON_PROBE");
  std::string answer;
  if (mode == nullptr || std::strcmp(mode, "again") != 0) answer = recall(cache, name, key);
  bool keep = !answer.empty();
  if (!keep) {
    const unsigned seconds = verdicts::allowed_seconds(std::getenv("TENON_PROBE_TIMEOUT"));
    alarm(2 * seconds);  // the host waits for us
    Verdict verdict = try_library(library, seconds);
    // Errors may be temporary, so they are not stored. A crash is stored for a day, because it is costly to see again.
    keep = verdict.code == TN_OK || verdict.dangerous;
    if (verdict.dangerous)
      verdict.reason += "; it is not tried again for a day unless TENON_PROBE=again";
    const int64_t until = verdict.dangerous ? std::time(nullptr) + kDay : 0;
    answer = to_text(verdict, key, hash, until);
  }
  time_t changed = 0;
  if (key_of_library(changed) != key)
    return to_text({TN_DATA_LOSS, "", "", "was replaced while it was being tried"}, key, hash, 0);
  if (!keep) return answer;
  cache.write(name, name + answer.substr(key.size()));
  // A file that changed a few clock ticks ago may change again and keep its times, so only its hash can identify it.
  if (std::time(nullptr) - changed >= 2) cache.write(key, answer);
  cache.prune();
  return answer;
}

}  // namespace
}  // namespace tenon::probe

int main(int argc, char** argv) {
  using namespace tenon::probe;
  if (argc != 5) {
    std::fputs("usage: tenon-probe LIBRARY KEY SHA256 CACHE    (started by libtenon)\n", stderr);
    return 2;
  }
  start_afresh();
  const Cache cache(argv[4]);
  const std::string answer = judge(argv[1], argv[2], argv[3], cache);
  std::fwrite(answer.data(), 1, answer.size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
