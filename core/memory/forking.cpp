#include "memory/forking.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace tenon::core {
namespace {

std::atomic<Mutex*> g_all{nullptr};
Mutex *g_first, *g_end;  // what the thread that forks has taken

void give() {
  for (; g_first != g_end; g_first = g_first->next) g_first->unlock();
}

// They nest in no order that is known here, so who waits for one holds none. One that never comes free waits for this thread.
void take() {
  for (int milliseconds = 0; milliseconds < 60'000; ++milliseconds, usleep(1000)) {
    g_end = g_first = g_all.load();
    while (g_end != nullptr && g_end->try_lock()) g_end = g_end->next;
    if (g_end == nullptr) return;
    give();
  }
}

// The thread has another number in the child, by which it holds none of them.
void renew() {
  for (; g_first != g_end; g_first = g_first->next)
    new (static_cast<std::recursive_mutex*>(g_first)) std::recursive_mutex;
}

}  // namespace

Mutex::Mutex() noexcept {
  [[maybe_unused]] static const int once = pthread_atfork(take, give, renew);
  do next = g_all.load();
  while (!g_all.compare_exchange_weak(next, this));
}

}  // namespace tenon::core
