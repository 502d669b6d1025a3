// Runs each op on four threads at once: the suite's cases, and one repeated call while threads are interrupted at random points.
#include <sys/time.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <latch>
#include <thread>

#include "groups/groups.hpp"
#include "runner.hpp"

namespace tenon::conformance {
namespace {

constexpr size_t kThreads = 4;

std::vector<Device> devices_of_type(Device device) {
  const auto type = [](Device each) { return each.id().substr(0, each.id().find(':')); };
  std::vector<Device> found;
  for (const Device& each : devices())
    if (type(each) == type(device)) found.push_back(each);
  return found;
}

// Interrupts threads at random points and lets others run, so that even one core sees shared state half updated. The thread that creates it
// is not interrupted.
class Shaker {
 public:
  Shaker() {
    handle([](int) {
      const timespec moment{0, 1000};
      nanosleep(&moment, nullptr);
    });
    set_period(100);
  }
  ~Shaker() {
    set_period(0);
    handle(SIG_IGN);  // a pending signal would otherwise end the process
  }
  Shaker(const Shaker&) = delete;
  Shaker& operator=(const Shaker&) = delete;
  // For the calling thread and those it starts.
  static void block(bool blocked) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &alarm, nullptr);
  }

 private:
  static void handle(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
  }
  static void set_period(suseconds_t microseconds) {
    const itimerval timer{{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

// Runs `body(thread)` on four threads that start together; returns the first problem.
template <class Body>
std::string on_threads(Body&& body) {
  std::vector<std::string> problems(kThreads);
  std::vector<std::thread> threads;
  // Otherwise, on a busy machine, the first thread would be done before the last begins.
  std::latch all_here(kThreads);
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      all_here.arrive_and_wait();
      try {
        problems[t] = body(t);
      } catch (const std::exception& error) {
        problems[t] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems)
    if (!problem.empty()) return "beside three others: " + problem;
  return {};
}

// One thread's call, and its result when no other thread called.
struct Part {
  std::unique_ptr<Call> call;
  std::vector<Array> alone;

  Part(const std::string& unit, const Options& options) : call(first_call(unit, options)) {
    if (call == nullptr) return;
    const NoGrad off;
    for (const Tensor& result : call->run()) alone.push_back(to_array(result));
  }
};

bool is_repeatable(const tn_op* op, const Part& part) {
  return part.call != nullptr && part.call->written().empty() &&
         detail::to_view(tn_op_schema(op)).find("generator") == std::string_view::npos &&
         detail::to_view(tn_op_name(op)) != "empty";
}

// Enough calls to hit a window of some nanoseconds, in a bounded time.
std::string again_and_again(const tn_op* op, const Part& part) {
  constexpr int kLeast = 8, kMost = 1000;
  constexpr auto kLong = std::chrono::milliseconds(50);
  Shaker::block(false);
  const NoGrad off;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kMost; ++i) {
    if (auto problem = repeat_differs(op, *part.call, part.alone); !problem.empty()) return problem;
    if (i >= kLeast && std::chrono::steady_clock::now() - start > kLong) break;
  }
  return {};
}

std::string one_call_each(const std::string& unit, const Options& options,
                          const std::vector<Device>& alike) {
  const tn_op* op = tn_op_find(detail::to_str(unit));
  std::vector<Part> parts;
  for (size_t t = 0; t < kThreads; ++t) {
    Options own = options;
    own.seed = options.seed + t;
    own.device = alike[t % alike.size()];
    parts.emplace_back(unit, own);
    if (!is_repeatable(op, parts[t])) return {};
  }
  Shaker::block(true);
  const Shaker shaker;
  std::string problem = on_threads([&](size_t t) { return again_and_again(op, parts[t]); });
  return problem;
}

}  // namespace

std::vector<std::string> threads_units(const Claims& claims) { return claims.all_ops(); }

void run_threads(const Subject& subject, const std::string& unit, Sink& sink) {
  const Options options = options_for(subject, true);
  // Calls on one stream come one at a time, so calls only meet in the plugin on several devices of the type, or on the host.
  const std::vector<Device> alike = devices_of_type(options.device);
  run_case(sink, unit, [&]() -> std::string {
    return on_threads([&](size_t t) -> std::string {
      Options own = options;
      own.seed = options.seed + t;
      own.device = alike[t % alike.size()];
      const Report report = check_values(unit, own);
      return report.failures.empty() ? "" : report.failures.front();
    });
  });
  run_case(sink, unit + "/again and again", [&] { return one_call_each(unit, options, alike); });
}

}  // namespace tenon::conformance
