#include "children.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

#include "tenon/device.h"
#include "tenon/op.h"
#include "tenon/plugins.h"

namespace tenon::fuzz {
namespace {

// Processor time that a call may take, so that the load of the machine does not matter. A call over huge operands may take forever.
constexpr int64_t kPatience = 30'000'000, kHugePatience = 200'000;  // µs
constexpr uint64_t kTensorMemory = 32 << 20, kAddressSpace = uint64_t{4} << 30;
constexpr uint64_t kEnough = 3;  // findings of an op in one round

// What a child reports, however it ends.
struct Shared {
  std::atomic<uint64_t> call{0};
  std::atomic<bool> huge{false};
  Counts counts;
  uint64_t found = 0;
};

void set_timer(int64_t microseconds) {
  itimerval timer{};
  timer.it_value = {microseconds / 1'000'000, microseconds % 1'000'000};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

// Sizes out of all proportion must be refused, not tried.
void limit_memory() {
  tn_memory_set_limit(tn_device_at(0), kTensorMemory);
#ifndef __SANITIZE_ADDRESS__  // its shadow memory takes terabytes of addresses
  const rlimit space{kAddressSpace, kAddressSpace};
  setrlimit(RLIMIT_AS, &space);
#endif
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

void report(const Signature& signature, const Options& options, uint64_t call,
            const std::string& what) {
  const std::string text = describe(signature, draw_call(signature, options.seed, call));
  std::printf("FOUND %s: %s\n  %s\n  again: %s --op %s --seed %llu --first %llu --calls 1 --here\n",
              signature.op.c_str(), what.c_str(), text.c_str(), program_invocation_name,
              signature.op.c_str(), static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(call));
  std::fflush(stdout);
}

void run_calls(const Signature& signature, const Options& options, uint64_t first, uint64_t last,
               Shared& shared) {
  for (uint64_t number = first; number < last; ++number) {
    const Call call = draw_call(signature, options.seed, number);
    shared.call = number;
    shared.huge = call.huge;
    if (!options.here) set_timer(call.huge ? kHugePatience : kPatience);
    execute(signature, call, shared.counts, [&](const std::string& what) {
      if (shared.found++ < kEnough) report(signature, options, number, what);
    });
  }
  set_timer(0);
}

void add(Totals& totals, const Shared& shared) {
  totals.counts.calls += shared.counts.calls;
  totals.counts.answered += shared.counts.answered;
  totals.counts.refused += shared.counts.refused;
  totals.counts.backward += shared.counts.backward;
  totals.found += shared.found;
}

// One op's share of a round. If a call ends the process, a new process goes on after that call.
class Child {
 public:
  Child(const Signature& signature, const Options& options, uint64_t first)
      : signature_(signature), options_(options), next_(first), last_(first + options.calls) {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    shared_ = new (memory) Shared;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { munmap(shared_, sizeof(Shared)); }

  pid_t start() {
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("no process can be started");
    if (pid != 0) return pid;
    limit_memory();
    run_calls(signature_, options_, next_, last_, *shared_);
    _exit(0);
  }

  // Whether calls are left to make.
  bool ended(int status, Totals& totals) {
    const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
    if (late && shared_->huge) {
      ++totals.cut;
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      ++shared_->found;
      report(signature_, options_, shared_->call,
             late                  ? "takes more than 30 s of processor time"
             : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                   : "ended the process");
    } else {
      next_ = last_;
    }
    next_ = std::max(next_, shared_->call + 1);
    if (next_ < last_ && shared_->found < kEnough) return true;
    add(totals, *shared_);
    return false;
  }

 private:
  const Signature& signature_;
  const Options& options_;
  uint64_t next_, last_;
  Shared* shared_;
};

}  // namespace

std::vector<Signature> all_signatures() {
  // Plugins bring ops, but also start threads, which a process that forks must not have. So a child process lists the ops.
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe can be made");
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    tn_status_release(tn_plugins_discover());
    for (uint32_t i = 0; i < tn_op_count(); ++i) {
      const tn_str schema = tn_op_schema(tn_op_at(i));
      dprintf(ends[1], "%.*s\n", static_cast<int>(schema.size), schema.data);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<Signature> signatures;
  FILE* lines = fdopen(ends[0], "r");
  char* line = nullptr;
  for (size_t room = 0; getline(&line, &room, lines) > 0;)
    signatures.push_back(parse_signature(line));
  std::free(line);
  std::fclose(lines);
  waitpid(pid, nullptr, 0);
  return signatures;
}

void run_round(const std::vector<Signature>& signatures, const Options& options, uint64_t first,
               Totals& totals) {
  std::map<pid_t, std::unique_ptr<Child>> running;
  size_t next = 0;
  std::fflush(nullptr);
  while (next < signatures.size() || !running.empty()) {
    if (next < signatures.size() && running.size() < options.jobs) {
      auto child = std::make_unique<Child>(signatures[next++], options, first);
      const pid_t pid = child->start();
      running.emplace(pid, std::move(child));
      continue;
    }
    int status = 0;
    const pid_t pid = wait(&status);
    auto found = running.extract(pid);
    if (found.empty()) continue;
    if (!found.mapped()->ended(status, totals)) continue;
    found.key() = found.mapped()->start();
    running.insert(std::move(found));
  }
}

void run_here(const Signature& signature, const Options& options, Totals& totals) {
  tn_memory_set_limit(tn_device_at(0), kTensorMemory);
  Shared shared;
  for (uint64_t call = options.first; call < options.first + options.calls; ++call)
    std::printf("%llu: %s\n", static_cast<unsigned long long>(call),
                describe(signature, draw_call(signature, options.seed, call)).c_str());
  std::fflush(stdout);
  run_calls(signature, options, options.first, options.first + options.calls, shared);
  add(totals, shared);
}

}  // namespace tenon::fuzz
