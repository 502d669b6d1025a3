// tenon check: worker processes, seen from the parent.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <list>
#include <nlohmann/json.hpp>

#include "check.hpp"
#include "command.hpp"
#include "tenon/tenon.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
constexpr size_t kTail = 2000;  // bytes of a worker's output that are kept
// A process may be silent this many times longer until its second case, because the first one loads vendors' libraries and compiles.
constexpr double kFirstCase = 3;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw Error(TN_IO, fmt::format("no pipe: {}", std::strerror(errno)));
    read = ends[0], write = ends[1];
  }
};

// A process of this program, with its results on fd 3 and everything it prints on another pipe.
class Process {
 public:
  explicit Process(const std::vector<std::string>& words) {
    Pipe results, output;
    std::vector<std::string> line = {"tenon", "check-worker"};
    line.insert(line.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (std::string& word : line) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output.write, 1);
    posix_spawn_file_actions_adddup2(&actions, output.write, 2);
    posix_spawn_file_actions_adddup2(&actions, results.write, 3);
    // Freed blocks that a thread caches would count as growth.
    std::string tunables = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0";
    std::vector<char*> environment;
    for (char** entry = environ; *entry != nullptr; ++entry)
      if (std::strncmp(*entry, "GLIBC_TUNABLES=", 15) != 0) environment.push_back(*entry);
    environment.push_back(tunables.data());
    environment.push_back(nullptr);
    const int error =
        posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(results.write);
    close(output.write);
    results_ = results.read;
    output_ = output.read;
    if (error != 0) throw Error(TN_IO, fmt::format("no worker process: {}", std::strerror(error)));
    alive_ = Clock::now();
  }
  ~Process() {
    close(results_);
    close(output_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pollfd watch_results() const { return {open_ ? results_ : -1, POLLIN, 0}; }
  pollfd watch_output() const { return {printing_ ? output_ : -1, POLLIN, 0}; }
  bool ended() const { return !open_; }
  double silent_seconds() const { return since(alive_); }

  // Complete lines received so far.
  std::vector<std::string> read_results() {
    std::vector<std::string> lines;
    char buffer[65536];
    const ssize_t n = read(results_, buffer, sizeof buffer);
    if (n <= 0) {
      open_ = false;
      return lines;
    }
    alive_ = Clock::now();
    partial_.append(buffer, static_cast<size_t>(n));
    size_t start = 0;
    for (size_t end; (end = partial_.find('\n', start)) != std::string::npos; start = end + 1)
      lines.push_back(partial_.substr(start, end - start));
    partial_.erase(0, start);
    return lines;
  }
  void read_output() {
    char buffer[4096];
    const ssize_t n = read(output_, buffer, sizeof buffer);
    if (n <= 0) {
      printing_ = false;
      return;
    }
    tail_.append(buffer, static_cast<size_t>(n));
    if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
  }
  void kill_hung() {
    hung_ = true;
    kill(pid_, SIGKILL);
    open_ = false;
  }
  // Waits for the end. If it was not regular, returns how it ended, with the last output.
  std::string outcome(double timeout) {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    while (printing_) {  // the rest of the pipe
      pollfd wait{output_, POLLIN, 0};
      if (poll(&wait, 1, 0) <= 0) break;
      read_output();
    }
    std::string text;
    if (hung_)
      text = fmt::format("hung: it reported nothing for {:g} s and was stopped", timeout);
    else if (WIFSIGNALED(status))
      text = fmt::format("crashed with SIG{} ({})", signal_name(WTERMSIG(status)),
                         strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == kLost)
      text = "the device was lost, and the rest of this did not run";
    else if (WEXITSTATUS(status) != kOk)
      text = fmt::format("the process ended with exit code {}", WEXITSTATUS(status));
    if (!text.empty() && !tail_.empty()) text += "\nlast it printed: " + last_lines(tail_);
    return text;
  }

 private:
  static std::string signal_name(int number) {
    const char* name = sigabbrev_np(number);
    return name != nullptr ? name : std::to_string(number);
  }
  static std::string last_lines(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    size_t at = text.size();
    for (int lines = 0; lines < 6 && at != std::string::npos && at > 0; ++lines)
      at = text.rfind('\n', at - 1);
    return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
  }

  pid_t pid_ = -1;
  int results_ = -1, output_ = -1;
  bool open_ = true, printing_ = true, hung_ = false;
  std::string partial_, tail_;
  Clock::time_point alive_;
};

// A worker and what it is doing.
struct Worker {
  CheckTask task;
  Process process;
  size_t finished = 0;  // units
  std::string unit, name;
  bool failed = false;  // of the running case
  uint64_t cases = 0;
  Clock::time_point start = Clock::now();

  Worker(const CheckOptions& options, const CheckPlan& plan, CheckTask given)
      : task(std::move(given)), process(words(options, plan, task)) {}
  static std::vector<std::string> words(const CheckOptions& options, const CheckPlan& plan,
                                        const CheckTask& task) {
    std::vector<std::string> line = {
        "run",        plan.path,     task.group, task.device, std::to_string(options.seed),
        options.name, options.sample};
    line.insert(line.end(), task.units.begin(), task.units.end());
    return line;
  }
};

class Runner {
 public:
  Runner(const CheckOptions& options, CheckReport& report, const CheckProgress& progress)
      : options_(options), report_(report), progress_(progress) {}

  void run(std::vector<CheckTask> tasks) {
    for (CheckTask& task : tasks) {
      total_ += task.units.size();
      report_.group(task.group);
      waiting_.push_back(std::move(task));
    }
    while (!waiting_.empty() || !workers_.empty()) {
      while (!waiting_.empty() && workers_.size() < options_.jobs) {
        workers_.emplace_back(options_, report_.plan, std::move(waiting_.front()));
        waiting_.pop_front();
      }
      wait();
      for (auto worker = workers_.begin(); worker != workers_.end();) {
        if (worker->process.silent_seconds() > limit(*worker) && !worker->process.ended())
          worker->process.kill_hung();
        if (worker->process.ended()) {
          finish(*worker);
          worker = workers_.erase(worker);
        } else {
          ++worker;
        }
      }
    }
  }

 private:
  double limit(const Worker& worker) const {
    return worker.cases > 1 ? options_.timeout : options_.timeout * kFirstCase;
  }

  void wait() {
    std::vector<pollfd> watched;
    for (Worker& worker : workers_) {
      watched.push_back(worker.process.watch_results());
      watched.push_back(worker.process.watch_output());
    }
    if (poll(watched.data(), watched.size(), 200) <= 0) return;
    size_t at = 0;
    for (Worker& worker : workers_) {
      const bool results = watched[at].revents != 0, output = watched[at + 1].revents != 0;
      at += 2;
      if (output) worker.process.read_output();
      if (!results) continue;
      for (const std::string& line : worker.process.read_results()) take(worker, line);
    }
  }

  void take(Worker& worker, const std::string& line) {
    if (line.size() < 2) return;
    const std::string text = line.substr(2);
    CheckGroup& group = report_.group(worker.task.group);
    switch (line[0]) {
      case 'U':
        worker.unit = text;
        worker.name.clear();
        progress_(report_, done_, total_, worker.task.group + " " + text);
        break;
      case 'C':
        ++group.cases;
        ++worker.cases;
        worker.name = text;
        worker.failed = false;
        break;
      case 'F':
        if (!worker.failed) fail(worker, worker.name, Json::parse(text));
        worker.failed = true;
        break;
      case 'E':
        ++group.cases;
        fail(worker, "", Json::parse(text));
        break;
      case 'S': {
        const Json pair = Json::parse(text);
        report_.add_skip(worker.task.group, pair[0], pair[1]);
        break;
      }
      case 'N': {
        const Json pair = Json::parse(text);
        report_.counts[pair[0]] += pair[1].get<uint64_t>();
        break;
      }
      case 'P': {
        const Json figure = Json::parse(text);
        report_.figures.push_back({figure["work"], figure["unit"], figure["seconds"],
                                   figure["rate"], figure["host_rate"]});
        break;
      }
      case 'D':
        ++worker.finished;
        ++done_;
        worker.unit.clear();
        break;
      default:
        break;
    }
  }

  void fail(const Worker& worker, const std::string& name, const std::string& text) {
    ++report_.group(worker.task.group).failed;
    const std::string& device = worker.task.device;
    report_.failures.push_back(
        {worker.task.group, worker.unit, name, text, device == report_.plan.device ? "" : device});
  }

  // The process has ended. If it died, a new one runs the units that follow.
  void finish(Worker& worker) {
    const std::string problem = worker.process.outcome(limit(worker));
    CheckGroup& group = report_.group(worker.task.group);
    group.seconds += since(worker.start);
    const auto& units = worker.task.units;
    if (worker.finished >= units.size() && problem.empty()) return;
    const std::string how =
        problem.empty()
            ? "the process ended in the middle of it, as if all were well; a plugin must "
              "not call exit"
            : problem;
    if (worker.finished >= units.size()) {  // about to exit
      ++group.cases;
      worker.unit = units.back();
      return fail(worker, "", "after its cases: " + how);
    }
    if (worker.name.empty() || worker.failed) ++group.cases;
    worker.unit = units[worker.finished];
    fail(worker, worker.failed ? "" : worker.name, how);
    ++done_;
    CheckTask rest{worker.task.group, {}, worker.task.device};
    rest.units.assign(units.begin() + static_cast<std::ptrdiff_t>(worker.finished) + 1,
                      units.end());
    if (!rest.units.empty()) waiting_.push_front(std::move(rest));
  }

  const CheckOptions& options_;
  CheckReport& report_;
  const CheckProgress& progress_;
  std::deque<CheckTask> waiting_;
  std::list<Worker> workers_;
  uint64_t done_ = 0, total_ = 0;
};

CheckPlan plan_from(const Json& json) {
  CheckPlan plan;
  const auto text = [&](const char* key) { return json.value(key, std::string()); };
  plan.path = text("path"), plan.id = text("id"), plan.version = text("version");
  plan.abi = text("abi"), plan.device = text("device"), plan.reason = text("reason");
  plan.refused = text("refused");
  plan.kernels = json.value("kernels", uint64_t{0});
  plan.missing = json.value("missing", false);
  plan.devices = json.value("devices", std::vector<std::string>());
  plan.known = json.value("known", std::vector<std::string>());
  plan.ops = json.value("ops", std::vector<std::string>());
  plan.units = json.value("units", CheckPlan::Units());
  plan.further = json.value("further", std::map<std::string, CheckPlan::Units>());
  return plan;
}

}  // namespace

CheckPlan make_plan(const CheckOptions& options) {
  Process process({"plan", options.plugin, options.device});
  std::string answer;
  while (!process.ended()) {
    pollfd watched[] = {process.watch_results(), process.watch_output()};
    poll(watched, 2, 200);
    if (watched[1].revents != 0) process.read_output();
    if (watched[0].revents != 0)
      for (const std::string& line : process.read_results())
        if (line.starts_with("J ")) answer = line.substr(2);
    if (process.silent_seconds() > options.timeout && !process.ended()) process.kill_hung();
  }
  const std::string problem = process.outcome(options.timeout);
  CheckPlan plan = answer.empty() ? CheckPlan() : plan_from(Json::parse(answer));
  if (plan.path.empty()) plan.path = options.plugin;
  if (!problem.empty() && plan.refused.empty()) plan.refused = "loading it " + problem;
  if (answer.empty() && plan.refused.empty())
    plan.refused = "loading it ended the process; a plugin must not call exit";
  return plan;
}

void run_tasks(const CheckOptions& options, std::vector<CheckTask> tasks, CheckReport& report,
               const CheckProgress& progress) {
  const auto start = Clock::now();
  Runner(options, report, progress).run(std::move(tasks));
  report.seconds = since(start);
}

}  // namespace tenon::tool
