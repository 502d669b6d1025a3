// A plugin that commits the fault named by the text after "KIND=", such as "start.segv"; a test writes the text into a copy of the file.
// Its static constructor writes the process's id into the file TEST_MARKER, so that a test can tell who opened it.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "tenon/plugin.h"

namespace {

volatile char kind_text[] = "KIND=--------------------------------";

std::string kind() {
  std::string text;
  for (size_t i = 5; kind_text[i] != '\0' && kind_text[i] != '-'; ++i) text += kind_text[i];
  return text;
}
bool is(const char* wanted) { return kind() == wanted; }

tn_str str(const char* text) { return {text, std::strlen(text)}; }
template <class T>
T* wild() {
  return reinterpret_cast<T*>(uintptr_t{0x1000});
}

int recurse(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? frame[0] : recurse(depth + 1) + frame[0];
}

[[noreturn]] void crash() {
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
  std::abort();
}

// Asks for 75 GiB but touches none of it. The limit is not a multiple of a block, so there is memory left for the error's text.
void hoard() {
  constexpr size_t kBlock = size_t{300} << 20;
  for (int i = 0; i < 256; ++i)
    if (mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0) == MAP_FAILED)
      throw std::bad_alloc();
}

void act(const std::string& what) {
  if (what == "segv") crash();
  if (what == "ill") {
#if defined(__x86_64__)
    __asm__ volatile("ud2");
#else
    raise(SIGILL);
#endif
  }
  if (what == "abort") std::abort();
  if (what == "kill") kill(getpid(), SIGKILL);
  if (what == "exit") std::exit(0);
  if (what == "quick") _exit(7);
  if (what == "sleep")
    for (;;) pause();
  if (what == "overflow") std::printf("%d", recurse(0));
  if (what == "throw") throw std::runtime_error("no barrier here");
  if (what == "number") throw 42;
  if (what == "memory") throw std::bad_alloc();
  if (what == "thread") std::thread([] { throw std::runtime_error("nobody waits"); }).join();
  if (what == "hoard") hoard();
  if (what == "loop")
    for (;;) __asm__ volatile("");
  if (what == "talk") {
    for (int i = 0; i < 100'000; ++i) std::puts("and on it goes, line after line");
    std::abort();
  }
}
void at(const char* stage) {
  const std::string wanted = kind(), prefix = std::string(stage) + ".";
  if (wanted.compare(0, prefix.size(), prefix) == 0) act(wanted.substr(prefix.size()));
}

struct Marker {
  Marker() {
    if (const char* path = std::getenv("TEST_MARKER"))
      if (std::FILE* file = std::fopen(path, "a")) {
        std::fprintf(file, "%d\n", static_cast<int>(getpid()));
        std::fclose(file);
      }
    at("constructor");
  }
  ~Marker() { at("destructor"); }
} marker;

tn_status* count(void*, uint32_t* devices, tn_str*) {
  at("count");
  *devices = 1;
  return nullptr;
}
tn_status* info(void*, uint32_t, tn_device_info* out) {
  out->kind = TN_DEVICE_KIND_OTHER;
  return nullptr;
}
const tn_device_table devices = {sizeof devices, 0, count, info, nullptr};

tn_status* start(const tn_host* host, void* plugin, tn_str, void**) {
  at("start");
  if (is("start.status")) return wild<tn_status>();
  if (is("start.error"))
    return host->make_status(TN_OUT_OF_MEMORY, str("no memory left on the device"));
  if (is("start.endless")) {
    const tn_kernel kernel = {};
    return host->register_kernels(plugin, str("cpu"), &kernel, 1, 0xffffffffu);
  }
  if (is("start.many")) return host->register_kernels(plugin, str("cpu"), wild<tn_kernel>(), 9, 96);
  tn_device_type type{};
  type.struct_size = sizeof type;
  type.name = str("test.faulty");
  type.device = is("start.device") ? wild<tn_device_table>() : &devices;
  return host->register_device_type(plugin, &type);
}
tn_status* quiesce(void*) {
  at("quiesce");
  return nullptr;
}
void stop(void*) { at("stop"); }

std::string long_id(300, 'x');
tn_plugin table = {sizeof table, TN_ABI_MAJOR, TN_ABI_MINOR, 0,    str("test.faulty"),
                   str("1.2.3"), start,        quiesce,      stop, nullptr};

void spoil() {
  if (is("table.huge")) table.struct_size = 0xffffffffu;
  if (is("table.newline")) table.id = str("test\nfaulty");
  if (is("table.bytes")) table.id = str("test.\xff\xfe");
  if (is("table.long")) table.id = {long_id.data(), long_id.size()};
  if (is("table.endless")) table.id.size = uint64_t{1} << 60;
  if (is("table.wild")) table.id = {wild<char>(), 4};
  if (is("table.core")) table.id = str("core");
  if (is("table.version")) table.version = {nullptr, 0};
  if (is("table.jump")) table.start = wild<tn_status*(const tn_host*, void*, tn_str, void**)>();
}

}  // namespace

extern "C" TN_EXPORT tn_status* tn_plugin_query(uint32_t, uint32_t, const tn_plugin** out) {
  at("query");
  spoil();
  if (is("query.status")) return wild<tn_status>();
  *out = is("query.table") ? wild<tn_plugin>() : &table;
  return nullptr;
}
