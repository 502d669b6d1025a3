#include "capture.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <map>
#include <set>
#include <thread>

#include "fill.hpp"
#include "tenon/ext/draft/capture.h"
#include "timeline.hpp"

namespace tenon::gpu {
namespace {

// A recording, and the graph that it becomes.
struct Captured {
  Stream& recorded;       // its kernels report to this stream's note
  uint64_t seed, offset;  // of the default generator at the start
  std::thread::id thread = std::this_thread::get_id();
  bool open = true;
  rt::Graph graph = nullptr;
  std::map<void*, uint64_t> used = {};        // memory that the core holds, with sizes
  std::multimap<uint64_t, void*> spare = {};  // memory that came back
  std::set<Stream*> launched = {};            // the streams it was launched on
  uint64_t* draws = nullptr;                  // on the device

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& [address, size] : used) sum += size;
    for (const auto& [size, address] : spare) sum += size;
    return sum;
  }
};

struct Captures {
  std::atomic<uint32_t> count{0};  // of all
  std::mutex mutex;
  std::list<Captured> all;
};
Captures& captures() {
  static Captures& one = *new Captures;
  return one;
}
bool none() { return captures().count.load(std::memory_order_relaxed) == 0; }

// The lock is held.
Captured* open_on(rt::Stream stream) {
  for (Captured& one : captures().all)
    if (one.open && one.recorded.handle() == stream) return &one;
  return nullptr;
}

// Returns spare memory to the device; the rest now counts as ordinary memory. Nothing in the graph runs any more.
void erase(Captured& gone) {
  std::multimap<uint64_t, void*> spare;
  uint64_t* const draws = gone.draws;
  {
    const std::lock_guard lock(captures().mutex);
    spare = std::move(gone.spare);
    captures().all.remove_if([&](const Captured& one) { return &one == &gone; });
    --captures().count;
  }
  for (const auto& [bytes, address] : spare) rt::free(address);
  if (draws != nullptr) rt::free(draws);
}

void begin(Stream& stream, uint64_t seed, uint64_t offset) {
  refuse_captured(stream.handle(), "another capture");
  rt::use(stream.device());
  rt::synchronize(stream.handle());  // graphs run on other streams
  Captured* made = nullptr;
  {
    const std::lock_guard lock(captures().mutex);
    made = &captures().all.emplace_back(Captured{stream, seed, offset});
    ++captures().count;
  }
  try {
    rt::capture_begin(stream.handle());
  } catch (...) {
    erase(*made);
    throw;
  }
}

// NULL unless `keep`.
Captured* end(Stream& stream, bool keep, tn_capture_info& info) {
  Captured* made = nullptr;
  {
    const std::lock_guard lock(captures().mutex);
    made = open_on(stream.handle());
    if (made == nullptr)
      sdk::fail(TN_FAILED_PRECONDITION, "[", rt::kName, "] the stream is not captured");
    made->open = false;
    info.bytes = made->bytes();
  }
  rt::use(stream.device());
  try {
    made->graph = rt::capture_end(stream.handle(), keep, info.nodes);
  } catch (...) {
    erase(*made);
    throw;
  }
  if (keep) return made;
  erase(*made);
  return nullptr;
}

void launch(Captured& captured, Stream& stream, uint64_t seed, uint64_t offset) {
  refuse_captured(stream.handle(), "the launch of another graph");
  {
    const std::lock_guard lock(captures().mutex);
    captured.launched.insert(&stream);
  }
  rt::use(stream.device());
  const Timed timed(stream.device(), stream.handle(), "graph");
  if (captured.draws != nullptr) {
    const uint64_t moved = offset - captured.offset;
    fill(stream, captured.draws, sizeof seed, &seed, sizeof seed);
    fill(stream, captured.draws + 1, sizeof moved, &moved, sizeof moved);
  }
  rt::graph_launch(captured.graph, stream.handle());
}

// Hands the note of a graph that ends to the stream that ran it.
void hand_note(const Stream& from, const Stream& to) {
  if (from.note()->set == 0 || to.note()->set != 0) return;
  *to.note() = *from.note();
}

void destroy(Captured& captured) {
  std::set<Stream*> launched;
  {
    const std::lock_guard lock(captures().mutex);
    launched = captured.launched;
  }
  rt::use(captured.recorded.device());
  for (const Stream* stream : launched) {
    try {
      rt::synchronize(stream->handle());
    } catch (const sdk::Error&) {  // reported again when the stream is waited for
    }
    hand_note(captured.recorded, *stream);
  }
  rt::graph_destroy(captured.graph);
  erase(captured);
}

}  // namespace

bool is_captured(rt::Stream stream) {
  if (none()) return false;
  const std::lock_guard lock(captures().mutex);
  return open_on(stream) != nullptr;
}

void refuse_captured(rt::Stream stream, std::string_view what) {
  if (is_captured(stream))
    // The core prefixes the op's name.
    sdk::fail(TN_FAILED_PRECONDITION, "a graph of ", rt::kName, " is being captured, and ", what,
              " cannot be part of it: do it before the capture, or after it");
}

const uint64_t* captured_draws(const Stream& stream, uint64_t seed, uint64_t offset) {
  if (none()) return nullptr;
  {
    const std::lock_guard lock(captures().mutex);
    Captured* const captured = open_on(stream.handle());
    if (captured == nullptr) return nullptr;
    if (seed == captured->seed && offset >= captured->offset) {
      if (captured->draws == nullptr)
        captured->draws = static_cast<uint64_t*>(rt::allocate(2 * sizeof(uint64_t)));
      if (captured->draws != nullptr) return captured->draws;
      sdk::fail(TN_OUT_OF_MEMORY, "no memory for a graph's random numbers");
    }
  }
  refuse_captured(stream.handle(), "drawing from a generator other than the default one");
  return nullptr;
}

bool is_device_captured(uint32_t device, std::string_view what) {
  if (none()) return false;
  rt::Stream own = nullptr;
  bool found = false;
  {
    const std::lock_guard lock(captures().mutex);
    for (const Captured& one : captures().all) {
      if (!one.open || one.recorded.device() != device) continue;
      found = true;
      if (one.thread == std::this_thread::get_id()) own = one.recorded.handle();
    }
  }
  if (own != nullptr) refuse_captured(own, what);
  return found;
}

bool allocate_captured(uint32_t device, uint64_t bytes, void** made) {
  if (none()) return false;
  const std::lock_guard lock(captures().mutex);
  for (Captured& one : captures().all) {
    if (!one.open || one.recorded.device() != device || one.thread != std::this_thread::get_id())
      continue;
    const auto spare = one.spare.lower_bound(bytes);
    if (spare != one.spare.end() && spare->first <= bytes + bytes / 4) {
      *made = spare->second;
      one.used.insert({spare->second, spare->first});
      one.spare.erase(spare);
      return true;
    }
    *made = rt::allocate(bytes);
    if (*made != nullptr) one.used[*made] = bytes;
    return true;
  }
  return false;
}

bool free_captured(void* address) {
  if (none()) return false;
  const std::lock_guard lock(captures().mutex);
  for (Captured& one : captures().all) {
    const auto found = one.used.find(address);
    if (found == one.used.end()) continue;
    one.spare.emplace(found->second, address);
    one.used.erase(found);
    return true;
  }
  return false;
}

void take_notes(Stream& stream) {
  if (none()) return;
  const std::lock_guard lock(captures().mutex);
  for (Captured& one : captures().all) {
    if (one.launched.count(&stream) == 0 || one.recorded.note()->set == 0) continue;
    hand_note(one.recorded, stream);
    *one.recorded.note() = {};
    // Ordered with later launches, unlike the stream that recorded.
    rt::fill(one.recorded.claim(), 0, sizeof(uint32_t), stream.handle());
  }
}

void forget_stream(Stream& stream) noexcept {
  if (none()) return;
  const std::lock_guard lock(captures().mutex);
  for (Captured& one : captures().all) one.launched.erase(&stream);
}

const void* capture_interface(tn_str name, uint32_t revision) {
  static const tn_capture table = {
      sizeof(tn_capture),
      0,
      sdk::str_of(rt::kName),
      nullptr,
      [](void*, uint32_t, void* stream, uint64_t seed, uint64_t offset) {
        return sdk::guard([&] { begin(*static_cast<Stream*>(stream), seed, offset); });
      },
      [](void*, uint32_t, void* stream, void** graph, tn_capture_info* info) {
        return sdk::guard([&] {
          tn_capture_info made_of{};
          Captured* const made = end(*static_cast<Stream*>(stream), graph != nullptr, made_of);
          if (info != nullptr) {
            made_of.struct_size = std::min<uint32_t>(info->struct_size, sizeof made_of);
            std::memcpy(info, &made_of, made_of.struct_size);
          }
          if (graph != nullptr) *graph = made;
        });
      },
      [](void*, void* graph, void* stream, uint64_t seed, uint64_t offset) {
        return sdk::guard([&] {
          launch(*static_cast<Captured*>(graph), *static_cast<Stream*>(stream), seed, offset);
        });
      },
      [](void*, void* graph) {
        // There is nobody to report an error to.
        sdk::host()->status_release(sdk::guard([&] { destroy(*static_cast<Captured*>(graph)); }));
      }};
  if (sdk::view_of(name) != TN_CAPTURE_NAME || revision != TN_CAPTURE_REVISION) return nullptr;
  return &table;
}

}  // namespace tenon::gpu
