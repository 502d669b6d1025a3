// The threads of plugins that compute on the host: plugins/common/pool.hpp by itself, then through ops.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ops.hpp"
#include "plugins/common/pool.hpp"
#include "tenon/threads.hpp"

namespace {

using tenon::Tensor;
using tenon::host::Pool;

// Runs body(begin, end) over [0, n) with a pool, as its owner.
template <class Body>
void run(Pool& pool, int64_t n, int64_t pieces, int width, Body body, int64_t unit = 1) {
  ASSERT_TRUE(pool.take());
  struct Given {
    Pool& pool;
    ~Given() { pool.give(); }
  } given{pool};
  pool.run({n, pieces, unit, width, &body, [](void* context, int64_t begin, int64_t end) {
              (*static_cast<Body*>(context))(begin, end);
            }});
}

// How often each of n positions was visited.
struct Tally {
  explicit Tally(int64_t n) : done(static_cast<size_t>(n)) {}
  void add(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) done[static_cast<size_t>(i)].fetch_add(1);
  }
  bool once() const {
    for (const std::atomic<int>& count : done)
      if (count != 1) return false;
    return true;
  }
  std::vector<std::atomic<int>> done;
};

TEST(Threads, EveryPlaceIsDoneOnce) {
  const auto pool = std::make_unique<Pool>();
  for (const int width : {1, 2, 3, 8})
    for (const int64_t n : {1, 2, 7, 64, 1000, 4097})
      for (const int64_t pieces : {1, 3, 16, 64})
        for (const int64_t unit : {1, 64}) {
          Tally tally(n);
          run(
              *pool, n, pieces, width, [&](int64_t begin, int64_t end) { tally.add(begin, end); },
              unit);
          EXPECT_TRUE(tally.once())
              << n << " in " << pieces << " of " << unit << ", " << width << " threads";
        }
}

TEST(Threads, ManyShortLoopsFollowOneAnother) {
  const auto pool = std::make_unique<Pool>();
  std::vector<int64_t> sums(64);
  for (int64_t round = 0; round < 5000;
       ++round)  // not atomic: a thread that is still running would be a race
    run(*pool, 64, 64, 4,
        [&](int64_t begin, int64_t) { sums[static_cast<size_t>(begin)] += round; });
  for (const int64_t sum : sums) EXPECT_EQ(sum, 5000 * 4999 / 2);
}

TEST(Threads, TheFirstExceptionComesThroughAndTheLoopAfterItRuns) {
  const auto pool = std::make_unique<Pool>();
  for (int round = 0; round < 200; ++round) {
    std::string caught;
    try {
      run(*pool, 100, 100, 4, [&](int64_t begin, int64_t) {
        if (begin >= 20 && begin % 20 == 0) throw std::runtime_error(std::to_string(begin));
      });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    EXPECT_EQ(caught, "20");
    Tally tally(100);
    run(*pool, 100, 50, 4, [&](int64_t begin, int64_t end) { tally.add(begin, end); });
    EXPECT_TRUE(tally.once());
  }
}

// ---- A worker that is stopped ------------------------------------------------------------------------------------------

std::atomic<bool> g_stopped{false}, g_reached{false};

void stop_worker(int) {
  while (g_stopped) {
    g_reached = true;
    std::this_thread::yield();
  }
}

TEST(Threads, AStoppedWorkerDoesNotStopTheCaller) {
  g_stopped = true;
  g_reached = false;
  {
    const auto pool = std::make_unique<Pool>(stop_worker);
    for (int round = 0; round < 100;
         ++round) {  // each round would wait forever if it waited for the worker
      const auto self = std::this_thread::get_id();
      std::atomic<bool> foreign{false};
      Tally tally(256);
      run(*pool, 256, 32, 2, [&](int64_t begin, int64_t end) {
        if (std::this_thread::get_id() != self) foreign = true;
        tally.add(begin, end);
      });
      EXPECT_TRUE(tally.once());
      EXPECT_FALSE(foreign);
    }
    while (!g_reached) std::this_thread::yield();  // it was called indeed
    g_stopped = false;
    // The worker returns and takes part in what follows; whoever comes first waits for the other.
    std::atomic<int> there{0};
    run(*pool, 2, 2, 2, [&](int64_t, int64_t) {
      ++there;
      while (there < 2) std::this_thread::yield();
    });
    EXPECT_EQ(there, 2);
  }
}

TEST(Threads, TheShareOfALateThreadIsTakenOver) {
  const auto pool = std::make_unique<Pool>();
  const auto self = std::this_thread::get_id();
  std::atomic<int> others{0}, own{0};
  std::atomic<bool> begun{false};
  run(*pool, 64, 64, 2, [&](int64_t, int64_t) {
    if (std::this_thread::get_id() == self) {
      while (!begun) std::this_thread::yield();
      ++own;
      return;
    }
    begun = true;
    ++others;
    while (own < 63)
      std::this_thread::yield();  // stays in its first piece until all others are done
  });
  EXPECT_EQ(others, 1);
  EXPECT_EQ(own, 63);
}

// ---- Where a worker wakes --------------------------------------------------------------------------------------------------

// What the worker saw when it was called, and where it then goes to sleep: on the owner's core.
struct Seat {
  int owner = -1;
  std::atomic<int> thread{0}, core{-1};
  std::atomic<bool> free{false};
  cpu_set_t all{};
} g_seat;

void sit_on_the_owners_core(int) {
  g_seat.core = sched_getcpu();
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  g_seat.free = CPU_EQUAL(&mask, &g_seat.all) != 0;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(g_seat.owner), &one);
  sched_setaffinity(0, sizeof one, &one);
  sched_setaffinity(0, sizeof mask, &mask);
  g_seat.thread = gettid();
}

bool sleeps(int thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string line(std::istreambuf_iterator<char>(stat), {});
  return line.find(") S ") != std::string::npos;
}

TEST(Threads, AWorkerDoesNotWakeBehindItsOwner) {
  ASSERT_EQ(sched_getaffinity(0, sizeof g_seat.all, &g_seat.all), 0);
  const bool has_others = CPU_COUNT(&g_seat.all) > 1;
  const auto pool = std::make_unique<Pool>(sit_on_the_owners_core);
  std::thread owner([&] {
    g_seat.owner = sched_getcpu();
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> there{0};
      run(*pool, 2, 2, 2, [&](int64_t, int64_t) {
        ++there;
        while (there < 2) std::this_thread::yield();
      });
      if (round > 0) {
        EXPECT_EQ(g_seat.core != g_seat.owner, has_others);
        EXPECT_TRUE(g_seat.free);
      }
      while (!sleeps(g_seat.thread)) std::this_thread::yield();
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<size_t>(g_seat.owner), &one);
      sched_setaffinity(0, sizeof one, &one);
    }
  });
  owner.join();
}

// ---- Owners ------------------------------------------------------------------------------------------------------------

TEST(Threads, APoolHasOneOwnerAtATime) {
  const auto pool = std::make_unique<Pool>();
  std::atomic<int64_t> total{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        if (!pool->take()) {
          total += 10;
          continue;
        }
        auto body = [&](int64_t begin, int64_t end) { total += end - begin; };
        pool->run({10, 10, 1, 3, &body, [](void* context, int64_t begin, int64_t end) {
                     (*static_cast<decltype(body)*>(context))(begin, end);
                   }});
        pool->give();
      }
    });
  for (std::thread& user : users) user.join();
  EXPECT_EQ(total, 4 * 500 * 10);
}

TEST(Threads, InsideIsKnownOnEveryThreadOfALoop) {
  const auto pool = std::make_unique<Pool>();
  EXPECT_FALSE(Pool::inside());
  std::atomic<int> outside{0};
  run(*pool, 64, 64, 4, [&](int64_t, int64_t) { outside += !Pool::inside(); });
  EXPECT_EQ(outside, 0);
  EXPECT_FALSE(Pool::inside());
}

TEST(Threads, AForkedChildHasAPoolOfItsOwn) {
  const auto pool = std::make_unique<Pool>();
  run(*pool, 64, 64, 4, [](int64_t, int64_t) {});
  const pid_t child = fork();
  if (child == 0) {
    pool->forked();
    Tally tally(64);
    run(*pool, 64, 64, 1, [&](int64_t begin, int64_t end) { tally.add(begin, end); });
    _exit(tally.once() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// ---- Through ops -------------------------------------------------------------------------------------------------------

// The results of an op that has enough work for several threads.
std::vector<float> compute() {
  const Tensor x = tenon::ones({512, 512});
  const Tensor sums = testing_ops::binary("matmul", x, x);
  const Tensor y = testing_ops::unary("exp", testing_ops::unary("neg", sums));
  const float* data = y.data<float>();
  return {data, data + y.numel()};
}

class Number : public ::testing::Test {
 protected:
  void TearDown() override { tenon::set_num_threads(before_); }
  const int64_t before_ = tenon::num_threads();
};

TEST_F(Number, IsKeptAndChecked) {
  tenon::set_num_threads(3);
  EXPECT_EQ(tenon::num_threads(), 3);
  for (const int64_t wrong : {int64_t{0}, int64_t{-2}, int64_t{1025}, INT64_MIN}) {
    try {
      tenon::set_num_threads(wrong);
      ADD_FAILURE() << wrong << " was taken";
    } catch (const tenon::Error& error) {
      EXPECT_EQ(error.code(), TN_INVALID_ARGUMENT);
      EXPECT_EQ(std::string(error.what()),
                "[set_num_threads] n is " + std::to_string(wrong) + "; it must be from 1 to 1024");
    }
  }
  EXPECT_EQ(tenon::num_threads(), 3);
}

// The threads of this process, as the system lists them.
size_t threads_of_the_process() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

TEST_F(Number, HoldsFromTheNextOpOn) {
  tenon::set_num_threads(1);
  const std::vector<float> alone = compute();
  const size_t before = threads_of_the_process();
  EXPECT_EQ(compute(), alone);
  EXPECT_EQ(threads_of_the_process(), before);
  tenon::set_num_threads(static_cast<int64_t>(before) + 4);
  EXPECT_EQ(compute(), alone);
  EXPECT_GT(threads_of_the_process(), before);
}

TEST_F(Number, ChangesWhileOthersCompute) {
  tenon::set_num_threads(1);
  const std::vector<float> wanted = compute();
  std::atomic<bool> done{false};
  std::thread changer([&] {
    for (int64_t n = 1; !done; n = n % 6 + 1) tenon::set_num_threads(n);
  });
  std::vector<std::thread> users;
  std::atomic<int> wrong{0};
  for (int user = 0; user < 3; ++user)
    users.emplace_back([&] {
      for (int round = 0; round < 10; ++round) wrong += compute() != wanted;
    });
  for (std::thread& user : users) user.join();
  done = true;
  changer.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Number, IsOneInAForkedChild) {
  tenon::set_num_threads(4);
  const std::vector<float> wanted = compute();
  const pid_t child = fork();
  if (child == 0) {
    const bool alone =
        tenon::num_threads() == 1 && compute() == wanted && threads_of_the_process() == 1;
    tenon::set_num_threads(2);  // with its own threads
    _exit(alone && compute() == wanted && threads_of_the_process() == 2 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
