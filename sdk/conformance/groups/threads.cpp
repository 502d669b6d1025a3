// Each op from four threads at once: the suite's cases, and one call over and over while threads are made to wait at any place.
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

// Interrupts threads at arbitrary points and lets others run there, so that shared state is seen half updated, even on one core.
// The thread that creates it is not interrupted.
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
    handle(SIG_IGN);  // one may be on its way, and would end the process
  }
  Shaker(const Shaker&) = delete;
  Shaker& operator=(const Shaker&) = delete;
  // Of the calling thread, and those it starts.
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

// Runs `body(thread)` on four threads that begin together; the first problem.
template <class Body>
std::string on_threads(Body&& body) {
  std::vector<std::string> problems(kThreads);
  std::vector<std::thread> threads;
  // On a busy machine the first thread would otherwise be done before the last one begins.
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

// One thread's call, and what it gave when nobody else called.
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

// Enough calls that a window of some nanoseconds is met, in a bounded time.
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
  // Calls on one stream come one at a time: only work on several devices of the type, or on the host, meets in the plugin.
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
