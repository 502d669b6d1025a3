// Loads and quiesces a plugin repeatedly in one process: heap, mappings, files and threads must return to where they were.
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "groups/groups.hpp"
#include "groups/raw_device.hpp"
#include "runner.hpp"

namespace tenon::conformance {
namespace {

constexpr int kWarm = 6, kCycles = 24;

// A driver's threads may free a block later; more than this in every cycle is a leak.
constexpr int64_t kSmallestBlock = 32, kNoise = kCycles * kSmallestBlock - 1;

// What a process holds.
struct Holdings {
  int64_t heap = 0, mappings = 0, files = 0, threads = 0;

  static Holdings now() {
    namespace fs = std::filesystem;
    Holdings found;
    const auto heap = mallinfo2();
    found.heap = static_cast<int64_t>(heap.uordblks + heap.hblkhd);
    std::string line;
    for (std::ifstream maps("/proc/self/maps"); std::getline(maps, line);) ++found.mappings;
    const auto entries = [](const char* path) {
      return std::distance(fs::directory_iterator(path), fs::directory_iterator());
    };
    found.files = entries("/proc/self/fd");
    found.threads = entries("/proc/self/task");
    return found;
  }
};

std::string growth(const Holdings& before, const Holdings& after, int64_t heap_slack) {
  const auto line = [](const char* what, int64_t from, int64_t to) {
    return std::string(what) + " grew from " + std::to_string(from) + " to " + std::to_string(to) +
           " in " + std::to_string(kCycles) + " cycles";
  };
  if (after.heap > before.heap + heap_slack)
    return line("heap bytes in use", before.heap, after.heap);
  if (after.files > before.files) return line("open files", before.files, after.files);
  if (after.threads > before.threads) return line("threads", before.threads, after.threads);
  // A few may come and go with the heap's own arenas.
  if (after.mappings > before.mappings + kCycles / 4)
    return line("memory mappings", before.mappings, after.mappings);
  return {};
}

// ---- The plugin alone

void use(const RawDevice& device) {
  const RawStream stream(device);
  const RawBlock block(device, 4096);
  const Bytes bytes = pattern(4096, 1);
  block.write(stream, 0, bytes);
  if (auto problem = difference(block.contents(stream, 0, 4096), bytes); !problem.empty())
    throw Error(TN_INTERNAL, "a round trip on " + device.id() + " differs: " + problem);
}

void raw_cycle(Stage& stage) {
  if (auto text = text_of(stage.start()); !text.empty())
    throw Error(TN_INTERNAL, "start answered " + text);
  for (const RawDevice& device : devices_of(stage)) use(device);
  if (auto text = text_of(stage.quiesce()); !text.empty())
    throw Error(TN_INTERNAL, "quiesce answered " + text);
  stage.stop();
}

void check_raw(const Subject& subject, Sink& sink) {
  run_case(sink, "start, use, quiesce, stop", [&]() -> std::string {
    Stage stage(subject.path);
    static_cast<void>(Holdings::now());
    for (int i = 0; i < kWarm; ++i) raw_cycle(stage);
    const Holdings before = Holdings::now();
    for (int i = 0; i < kCycles; ++i) raw_cycle(stage);
    return growth(before, Holdings::now(), kNoise);
  });
  run_case(sink, "statuses", [&]() -> std::string {
    const int64_t before = Stage::live_statuses();
    Stage stage(subject.path);
    raw_cycle(stage);
    return Stage::live_statuses() == before ? "" : "made statuses that it did not hand over";
  });
}

// ---- Through the core

// The core keeps a plugin's tables for good, because running calls may still read them.
constexpr int64_t kCoreBytesPerKernel = 4096;

void check_loaded(Subject subject, Sink& sink) {
  load_subject(subject);
  const Claims claims = claims_of(subject);
  uint32_t kernels = 0;
  for (const PluginInfo& info : plugins())
    if (info.id == subject.id) kernels = info.kernels;
  std::vector<std::string> some(
      claims.ops.begin(),
      claims.ops.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(claims.ops.size(), 3)));
  const auto cycle = [&]() -> std::string {
    quiesce_plugin(subject.id);
    load_plugin(subject.path);
    for (const std::string& op : some) {
      const Report report = check_values(op, {Device(subject.device), subject.seed, true});
      if (!report.failures.empty()) return "after a new start: " + report.failures.front();
    }
    return {};
  };
  run_case(sink, "load, use, quiesce", [&]() -> std::string {
    for (int i = 0; i < kWarm; ++i)
      if (auto problem = cycle(); !problem.empty()) return problem;
    const Holdings before = Holdings::now();
    for (int i = 0; i < kCycles; ++i)
      if (auto problem = cycle(); !problem.empty()) return problem;
    return growth(before, Holdings::now(),
                  kCycles * kCoreBytesPerKernel * (static_cast<int64_t>(kernels) + 16));
  });
  if (!claims.has_device) return;
  run_case(sink, "refuses to go while a tensor lives", [&]() -> std::string {
    Tensor alive = empty({16}, DType::F32, Device(subject.device));
    tn_status* status = tn_plugin_quiesce(detail::to_str(subject.id));
    const uint32_t code = tn_status_code(status);
    tn_status_release(status);
    alive = Tensor();
    if (code != TN_FAILED_PRECONDITION) return "quiesce went through with a tensor alive";
    quiesce_plugin(subject.id);
    load_plugin(subject.path);
    return {};
  });
}

// ---- Plans

// Ops that the plugin has kernels for, and whether these prepare plans. Called before the core loads the plugin.
std::map<std::string, bool> kernel_ops(const Subject& subject) {
  Stage stage(subject.path);
  text_of(stage.start());
  std::map<std::string, bool> found;
  for (const StagedKernel& kernel : stage.kernels)
    found[kernel.schema.substr(0, kernel.schema.find('('))] |= kernel.table.prepare != nullptr;
  return found;
}

// A new start drops every plan, so running the op again prepares as many. If memory grows more than for an op without plans, plans leak.
void check_plans(Subject subject, Sink& sink) {
  const std::map<std::string, bool> kernels = kernel_ops(subject);
  load_subject(subject);
  std::vector<std::string> ops, others;
  for (const std::string& op : claims_of(subject).all_ops())
    if (const auto kernel = kernels.find(op); kernel != kernels.end())
      (kernel->second ? ops : others).push_back(op);
  if (ops.empty()) return sink.skip("plans", "no kernel of the plugin prepares one");
  constexpr int kRounds = 8,
                kUnsteady = 256;  // bytes per round that the core's own tables vary by
  const auto growth_with = [&](const std::string& op) {
    const auto cycle = [&] {
      quiesce_plugin(subject.id);
      load_plugin(subject.path);
      static_cast<void>(check_values(op, {Device(subject.device), subject.seed, true}));
    };
    for (int i = 0; i < 2; ++i) cycle();
    const int64_t before = Holdings::now().heap;
    for (int i = 0; i < kRounds; ++i) cycle();
    return Holdings::now().heap - before;
  };
  // The core keeps something of each start, and more if a device was used.
  const int64_t usual = growth_with(others.empty() ? ops.front() : others.front());
  for (const std::string& op : ops)
    run_case(sink, "plans/" + op, [&]() -> std::string {
      // A plugin's own threads come and go between measurements; a leak shows each time.
      int64_t lost = growth_with(op) - usual;
      for (int i = 0; i < 2 && lost >= kRounds * kUnsteady; ++i)
        lost = std::min(lost, growth_with(op) - usual);
      return lost < kRounds * kUnsteady
                 ? ""
                 : "its plans leave " + std::to_string(lost / kRounds) +
                       " bytes on the heap each time they are made and released";
    });
}

}  // namespace

std::vector<std::string> cycles_units(const Claims&) { return {"alone", "in the core", "plans"}; }

void run_cycles(const Subject& subject, const std::string& unit, Sink& sink) {
  if (unit == "alone")
    check_raw(subject, sink);
  else if (unit == "plans")
    check_plans(subject, sink);
  else
    check_loaded(subject, sink);
}

}  // namespace tenon::conformance
