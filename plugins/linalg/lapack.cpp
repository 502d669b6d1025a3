#include "lapack.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "tenon/plugin.hpp"

namespace tenon::linalg {
namespace {

constexpr const char* kLibrary = "libscipy_openblas.so";

struct Library {
  void (*set_threads)(int);
  Routines<float> s;
  Routines<double> d;
  Routines<std::complex<float>> c;
  Routines<std::complex<double>> z;
};

template <class Fn>
void find(void* handle, const char* name, Fn& fn) {
  fn = reinterpret_cast<Fn>(dlsym(handle, name));
  if (fn == nullptr) sdk::fail(TN_UNIMPLEMENTED, "[linalg] ", kLibrary, " has no ", name);
}

// Searches the plugin's own run path, folder by folder: a sanitizer or another tool that intercepts dlopen would be the caller, with
// another run path.
void* open_along_run_path() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&open_along_run_path), &self) == 0) return nullptr;
  void* own = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (own == nullptr) return nullptr;
  void* handle = nullptr;
  Dl_serinfo size{};
  if (dlinfo(own, RTLD_DI_SERINFOSIZE, &size) == 0) {
    const std::unique_ptr<Dl_serinfo, void (*)(void*)> info(
        static_cast<Dl_serinfo*>(std::calloc(1, size.dls_size)), std::free);
    *info = size;
    if (dlinfo(own, RTLD_DI_SERINFO, info.get()) == 0)
      for (unsigned i = 0; i < info->dls_cnt && handle == nullptr; ++i)
        handle = dlopen((std::string(info->dls_serpath[i].dls_name) + "/" + kLibrary).c_str(),
                        RTLD_LAZY | RTLD_LOCAL);
  }
  dlclose(own);
  return handle;
}

// OpenBLAS ends the process where it gets no memory. It maps a buffer for each thread that is inside at a time, and keeps it. A stack
// is what a thread takes; the library itself needs no more than both.
constexpr size_t kBuffer = size_t{32} << 20, kStack = size_t{8} << 20;

void require_memory(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    sdk::fail(TN_OUT_OF_MEMORY, "[linalg] LAPACK wants ", bytes >> 20,
              " MiB, which the system refuses");
  munmap(at, bytes);
}

Library open_library() {
  // It starts a thread for each core at once.
  require_memory((kBuffer + kStack) * (2 + std::thread::hardware_concurrency()));
  // Opened by name alone: the plugin's run path finds it.
  void* handle = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string reason = dlerror();
    handle = open_along_run_path();
    if (handle == nullptr)
      sdk::fail(TN_UNIMPLEMENTED, "[linalg] LAPACK cannot be opened: ", reason,
                "; it belongs into native/ beside the plugin");
  }
  Library found{};
  find(handle, "scipy_openblas_set_num_threads", found.set_threads);
#define TN_LAPACK_FIND_S(routine, name) find(handle, "scipy_" #name "_", found.s.routine);
#define TN_LAPACK_FIND_D(routine, name) find(handle, "scipy_" #name "_", found.d.routine);
#define TN_LAPACK_FIND_C(routine, name) find(handle, "scipy_" #name "_", found.c.routine);
#define TN_LAPACK_FIND_Z(routine, name) find(handle, "scipy_" #name "_", found.z.routine);
  TN_LAPACK_REAL(TN_LAPACK_FIND_S, s)
  TN_LAPACK_REAL(TN_LAPACK_FIND_D, d)
  TN_LAPACK_COMPLEX(TN_LAPACK_FIND_C, c)
  TN_LAPACK_COMPLEX(TN_LAPACK_FIND_Z, z)
  found.set_threads(1);
  return found;
}

const Library& library() {
  static const Library opened = open_library();  // retried after a failure
  return opened;
}

}  // namespace

template <>
const Routines<float>& lapack() {
  return library().s;
}
template <>
const Routines<double>& lapack() {
  return library().d;
}
template <>
const Routines<std::complex<float>>& lapack() {
  return library().c;
}
template <>
const Routines<std::complex<double>>& lapack() {
  return library().z;
}

namespace {
std::atomic<int> g_callers{0}, g_most_callers{0};  // at a time
}

Caller::Caller() {
  const int now = ++g_callers;
  int most = g_most_callers.load();
  if (now <= most) return;
  try {
    require_memory(2 * kBuffer);
  } catch (...) {
    --g_callers;
    throw;
  }
  while (most < now && !g_most_callers.compare_exchange_weak(most, now)) {
  }
}
Caller::~Caller() { --g_callers; }

// Below this many rows, OpenBLAS's threads, which often wait for each other, gain little alone and lose much beside other programs or
// pools: 512 rows took 2.3 to 200 ms with two threads, 3.3 with one.
constexpr int64_t kManyRows = 1024;

// The number of threads belongs to the library, not to a call, so only one caller at a time may raise it.
WholeMachine::WholeMachine(int64_t matrices, int64_t n)
    : team_(n >= kManyRows && matrices < host::max_threads()) {
  if (team_) library().set_threads(host::max_threads());
}

WholeMachine::~WholeMachine() {
  if (team_) library().set_threads(1);
}

}  // namespace tenon::linalg
