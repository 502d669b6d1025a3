// The trial: a child process acts as a Tenon host that loads and quiesces one plugin, and its parent watches how that ends.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "tenon/tenon.h"
#include "verdict.hpp"

namespace tenon::probe {
namespace {

// What the child leaves behind, however it ends.
struct Record {
  char stage[64];
  volatile uint32_t done;
  uint32_t code;
  char id[260], version[260], reason[3000];
};
Record* g_record = nullptr;

template <size_t N>
void keep(char (&to)[N], tn_str text) {
  const size_t bytes = text.size < N - 1 ? text.size : N - 1;
  if (bytes != 0) std::memcpy(to, text.data, bytes);
  to[bytes] = '\0';
}
tn_str str(const char* text) { return {text, std::strlen(text)}; }

// In addition to what the process has mapped already, which is terabytes under a sanitizer. Memory that is only reserved, as drivers
// reserve terabytes, does not count.
constexpr uint64_t kMostMemory = uint64_t{4} << 30;

void limit_memory() {
  unsigned long pages = 0;
  rlimit most{};
  std::FILE* const sizes = std::fopen("/proc/self/statm", "r");
  if (sizes == nullptr) return;
  if (std::fscanf(sizes, "%*u %*u %*u %*u %*u %lu", &pages) == 1 &&
      getrlimit(RLIMIT_DATA, &most) == 0) {
    const rlim_t mapped = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
    most.rlim_cur = most.rlim_max = std::min(most.rlim_max, mapped + kMostMemory);
    setrlimit(RLIMIT_DATA, &most);
  }
  std::fclose(sizes);
}

// Separated from the host: own process group, no terminal, no core dump, limited memory, first to be killed if memory is short.
void settle(int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  dup2(output, 1);
  dup2(output, 2);
  close(output);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (std::FILE* score = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", score);
    std::fclose(score);
  }
  limit_memory();
  sigset_t all;
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
}

void note_refusal(uint32_t code, tn_str reason) {
  g_record->code = code;
  keep(g_record->reason, reason);
}

[[noreturn]] void host(const char* library) {
  unsetenv("TENON_VALIDATE");  // the plugin is judged, not watched
  tn_status* status = tn_plugin_load(str(library));
  tn_plugin_info info{};
  info.struct_size = sizeof info;
  if (tn_status* unknown = tn_plugin_get_info(0, &info)) {  // no such file
    tn_status_release(unknown);
    info.reason = tn_status_message(status);
  }
  keep(g_record->id, info.id);
  keep(g_record->version, info.version);
  if (status != nullptr) {
    note_refusal(tn_status_code(status), info.reason);
  } else if (tn_status* problem = tn_plugin_quiesce(info.id)) {
    // quiesce may report an error, but not throw.
    const tn_str text = tn_status_message(problem);
    if (std::string_view(text.data, text.size).starts_with("an exception left its"))
      note_refusal(TN_INTERNAL, text);
    tn_status_release(problem);
  }
  tn_status_release(status);
  std::strcpy(g_record->stage, "static destructors");
  g_record->done = 1;
  std::exit(0);
}

// False if the time runs out first.
bool wait_for(pid_t child, unsigned seconds, const sigset_t& ended, int& how) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const time_t last = now.tv_sec + static_cast<time_t>(seconds);
  const long nanoseconds = now.tv_nsec;
  while (waitpid(child, &how, WNOHANG) == 0) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    timespec left{last - now.tv_sec, nanoseconds - now.tv_nsec};
    if (left.tv_nsec < 0) left.tv_sec -= 1, left.tv_nsec += 1'000'000'000;
    if (left.tv_sec < 0) return false;
    sigtimedwait(&ended, nullptr, &left);
  }
  return true;
}

// The last output of the child, on one line.
std::string printed(int from) {
  std::string text;
  char buffer[4096];
  for (ssize_t bytes; (bytes = read(from, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(bytes));
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.pop_back();
  if (text.size() > 300) text = "…" + text.substr(text.size() - 300);
  return text.empty() ? "" : "; it printed: " + text;
}

std::string blame(bool in_time, int how, unsigned seconds) {
  const std::string stage = g_record->stage;
  if (!in_time)
    return "hung in its " + stage + ": no end within " + std::to_string(seconds) +
           " s (TENON_PROBE_TIMEOUT)";
  if (!WIFSIGNALED(how))
    return "ended the process in its " + stage + ", with exit status " +
           std::to_string(WEXITSTATUS(how));
  const char* name = sigabbrev_np(WTERMSIG(how));
  return "crashed in its " + stage + ": " +
         (name == nullptr ? "signal " + std::to_string(WTERMSIG(how)) : std::string("SIG") + name);
}

}  // namespace

Verdict try_library(const char* library, unsigned seconds) {
  void* shared =
      mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (shared == MAP_FAILED || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return {TN_OUT_OF_MEMORY, "", "", "cannot be probed: no memory or no pipe"};
  g_record = static_cast<Record*>(shared);
  std::strcpy(g_record->stage, "file");
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ended, nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    settle(ends[1], parent);
    host(library);
  }
  close(ends[1]);
  int how = 0;
  if (child < 0) return {TN_OUT_OF_MEMORY, "", "", "cannot be probed: no new process"};
  setpgid(child, child);  // in case it did not get that far
  const bool in_time = wait_for(child, seconds, ended, how);
  kill(-child, SIGKILL);  // and whatever it started
  if (!in_time) waitpid(child, &how, 0);

  Verdict verdict{g_record->code, g_record->id, g_record->version, g_record->reason};
  // A non-zero exit status after everything is done comes from a leak checker, or is the plugin's own business.
  if (!in_time || WIFSIGNALED(how) || g_record->done == 0) {
    verdict.code = TN_INTERNAL;
    verdict.reason = blame(in_time, how, seconds) + printed(ends[0]);
    verdict.dangerous = true;
  }
  return verdict;
}

}  // namespace tenon::probe

// libtenon calls this with its next step. Because the function exists, libtenon knows that it runs in the child.
extern "C" TN_EXPORT void tn_probe_stage(const char* what) {
  using tenon::probe::g_record;
  if (g_record != nullptr) std::snprintf(g_record->stage, sizeof g_record->stage, "%s", what);
}
