#include "memory/host.hpp"

#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "memory/allocator.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

constexpr uint64_t kHugePage = 2 << 20;

// The value of `key` in a file of "key: value" lines such as /proc/meminfo; empty when
// there is none.
std::string value_of(const char* file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != line.npos) return line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
  }
  return {};
}

uint64_t meminfo(std::string_view key) {
  return std::strtoull(value_of("/proc/meminfo", key).c_str(), nullptr, 10) * 1024;
}

// A number in a file of one line; `otherwise` when it is absent or "max".
uint64_t number_in(const char* file, uint64_t otherwise) {
  uint64_t number = 0;
  return std::ifstream(file) >> number ? number : otherwise;
}

// A container may have less than the machine.
uint64_t memory_total() {
  static const uint64_t total =
      std::min(meminfo("MemTotal"), number_in("/sys/fs/cgroup/memory.max", ~uint64_t{0}));
  return total;
}
uint64_t memory_free() {
  const uint64_t used = number_in("/sys/fs/cgroup/memory.current", 0);
  return std::min(meminfo("MemAvailable"), memory_total() - std::min(used, memory_total()));
}

const std::string& cpu_name() {
  static const std::string name = [] {
    for (const char* key : {"model name", "Model", "cpu model", "uarch"})
      if (std::string found = value_of("/proc/cpuinfo", key); !found.empty()) return found;
    return std::string("CPU");
  }();
  return name;
}

tn_status* count(void*, uint32_t* count, tn_str* reason) {
  *count = 1;
  *reason = {"", 0};
  return nullptr;
}

tn_status* info(void*, uint32_t, tn_device_info* out) {
  return guarded([&] {
    out->kind = TN_DEVICE_KIND_CPU;
    out->name = to_str(cpu_name());
    out->memory_total = memory_total();
    out->memory_free = memory_free();
    out->compute_units = usable_cores();
    out->subgroup_size = 1;
    out->dtypes = TN_MASK_ALL | TN_MASK_F8;
    out->pci_id = {"", 0};
    out->peak_flops = 0;
  });
}

tn_status* synchronize(void*, uint32_t) { return nullptr; }

tn_status* allocate_host(void*, uint32_t, uint64_t bytes, void** buffer, void** address) {
  // Linux would promise more memory than it has and kill the process later.
  if (bytes > (uint64_t{1} << 30) && bytes > memory_total())
    return make_status(TN_OUT_OF_MEMORY, "more than the machine has");
  const bool huge = bytes >= kHugePage;
  void* block = nullptr;  // of any size; aligned_alloc wants a multiple of the alignment
  const uint64_t size = huge ? (bytes + kHugePage - 1) / kHugePage * kHugePage : bytes;
  if (posix_memalign(&block, huge ? kHugePage : 64, size) != 0)
    return make_status(TN_OUT_OF_MEMORY, "the system refused");
#ifdef MADV_HUGEPAGE
  if (huge) madvise(block, bytes, MADV_HUGEPAGE);  // fewer page faults and TLB misses; advice only
#endif
  *buffer = *address = block;
  return nullptr;
}

// The C library keeps what it calls small, which may be many MiB.
void free_host(void*, uint32_t, void* buffer) {
  if (const size_t bytes = malloc_usable_size(buffer); bytes > kSmallBytes)
    drop_pages(buffer, bytes);
  std::free(buffer);
}

tn_status* host_allocate(void* self, uint32_t index, uint64_t bytes, void** address) {
  void* buffer = nullptr;
  return allocate_host(self, index, (bytes + 63) / 64 * 64, &buffer, address);
}

char* at(const void* buffer, uint64_t offset) {
  return static_cast<char*>(const_cast<void*>(buffer)) + offset;
}

tn_status* copy_in(void*, uint32_t, void*, const void* src, void* buffer, uint64_t offset,
                   uint64_t bytes) {
  std::memcpy(at(buffer, offset), src, bytes);
  return nullptr;
}
tn_status* copy_out(void*, uint32_t, void*, void* buffer, uint64_t offset, void* dst,
                    uint64_t bytes) {
  std::memcpy(dst, at(buffer, offset), bytes);
  return nullptr;
}
tn_status* copy_within(void*, uint32_t, void*, void* src, uint64_t src_offset, void* dst,
                       uint64_t dst_offset, uint64_t bytes) {
  std::memmove(at(dst, dst_offset), at(src, src_offset), bytes);
  return nullptr;
}

tn_status* fill(void*, uint32_t, void*, void* buffer, uint64_t offset, uint64_t bytes,
                const void* pattern, uint32_t pattern_size) {
  char* to = at(buffer, offset);
  if (pattern_size == 1) {
    std::memset(to, *static_cast<const unsigned char*>(pattern), bytes);
    return nullptr;
  }
  if ((pattern_size != 2 && pattern_size != 4 && pattern_size != 8) || bytes % pattern_size != 0)
    return make_status(TN_INVALID_ARGUMENT,
                       fmt::format("a pattern of {} bytes over {} bytes", pattern_size, bytes));
  if (bytes == 0) return nullptr;
  std::memcpy(to, pattern, pattern_size);
  for (uint64_t done = pattern_size; done < bytes; done *= 2)
    std::memcpy(to + done, to, std::min(done, bytes - done));
  return nullptr;
}

constexpr tn_device_table kDevice = {sizeof(tn_device_table), 0, count, info, synchronize};
constexpr tn_memory_table kMemory = {sizeof(tn_memory_table),
                                     TN_MEMORY_ADDRESSABLE,
                                     allocate_host,
                                     free_host,
                                     host_allocate,
                                     [](void*, uint32_t, void* address) { std::free(address); },
                                     copy_in,
                                     copy_out,
                                     copy_within,
                                     nullptr,  // there is one host
                                     fill};
constexpr tn_device_type kHost = {
    sizeof(tn_device_type), 0, {"cpu", 3}, nullptr, &kDevice, &kMemory, nullptr};

}  // namespace

void drop_pages(void* data, uint64_t bytes) {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t before = -reinterpret_cast<uintptr_t>(data) % page;
  if (bytes >= before + page)
    madvise(static_cast<char*>(data) + before, (bytes - before) / page * page, MADV_DONTNEED);
}

const tn_device_type& host_device_type() { return kHost; }

uint32_t usable_cores() {
  cpu_set_t set;
  const int count = sched_getaffinity(0, sizeof set, &set) == 0
                        ? CPU_COUNT(&set)
                        : static_cast<int>(std::thread::hardware_concurrency());
  return static_cast<uint32_t>(std::max(count, 1));
}

}  // namespace tenon::core
