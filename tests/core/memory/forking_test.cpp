#include "memory/forking.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

namespace tenon::test {
namespace {

using tenon::core::Mutex;

Mutex& mutex() {
  static auto& made = *new Mutex;  // they live for good
  return made;
}

// Whether a child of fork() can take the lock.
bool is_free_in_a_child() {
  const pid_t child = fork();
  if (child == 0) _exit(mutex().try_lock() ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(Forking, AChildFindsNoLockThatAnotherThreadHeld) {
  std::promise<void> taken;
  std::thread holder([&] {
    const std::lock_guard lock(mutex());
    taken.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // while the other one forks
  });
  taken.get_future().wait();
  EXPECT_TRUE(is_free_in_a_child());
  holder.join();
}

TEST(Forking, AThreadForksUnderItsOwnLock) {
  {
    const std::lock_guard lock(mutex());
    EXPECT_TRUE(is_free_in_a_child());
  }
  std::thread([] {
    EXPECT_TRUE(mutex().try_lock());
    mutex().unlock();
  }).join();
}

}  // namespace
}  // namespace tenon::test
