// Tests streams and events through the plugin's own tables: order, waiting, queries, times.
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "groups/capture.hpp"
#include "groups/dlpack.hpp"
#include "groups/groups.hpp"
#include "groups/raw_device.hpp"

namespace tenon::conformance {
namespace {

using DeviceCase = void (*)(const RawDevice& device, uint64_t seed, Sink& sink);
constexpr const char* kCapture = "capture";
constexpr const char* kDlpack = "dlpack";
constexpr uint64_t kBytes = 1 << 16;

// ---- Order on one stream

void check_order(const RawDevice& device, uint64_t seed, Sink& sink) {
  run_case(sink, device.id() + "/copies in order", [&]() -> std::string {
    const RawStream stream(device);
    const RawBlock a(device, kBytes), b(device, kBytes);
    const Bytes wanted = pattern(kBytes, seed);
    Bytes got(kBytes);
    a.write(stream, 0, pattern(kBytes, seed + 1));
    a.write(stream, 0, wanted);  // the later write must win
    for (int hop = 0; hop < 16; ++hop) {
      a.copy_to(stream, 0, b, 0, kBytes);
      b.copy_to(stream, 0, a, 0, kBytes);
    }
    a.read(stream, 0, got);
    stream.wait();
    return difference(got, wanted);
  });
  run_case(sink, device.id() + "/a write after a read does not change it", [&]() -> std::string {
    const RawStream stream(device);
    const RawBlock a(device, kBytes), b(device, kBytes);
    const Bytes wanted = pattern(kBytes, seed + 2);
    a.write(stream, 0, wanted);
    a.copy_to(stream, 0, b, 0, kBytes);
    a.write(stream, 0, pattern(kBytes, seed + 3));
    return difference(b.contents(stream, 0, kBytes), wanted);
  });
  run_case(sink, device.id() + "/synchronize the device", [&]() -> std::string {
    const RawStream stream(device);
    const RawBlock a(device, kBytes);
    const Bytes wanted = pattern(kBytes, seed + 4);
    Bytes got(kBytes);
    a.write(stream, 0, wanted);
    a.read(stream, 0, got);
    call(device.type().device.synchronize, "device.synchronize", device.type().self,
         device.index());
    return difference(got, wanted);
  });
}

void check_many(const RawDevice& device, uint64_t seed, Sink& sink) {
  run_case(sink, device.id() + "/create and destroy", [&]() -> std::string {
    for (int i = 0; i < 64; ++i) {
      const RawStream stream(device);
      stream.wait();  // an idle stream
    }
    return {};
  });
  run_case(sink, device.id() + "/16 streams at once", [&]() -> std::string {
    std::vector<std::unique_ptr<RawStream>> streams;
    std::vector<std::unique_ptr<RawBlock>> blocks;
    std::vector<Bytes> got(16, Bytes(kBytes));
    for (size_t i = 0; i < got.size(); ++i) {
      streams.push_back(std::make_unique<RawStream>(device));
      blocks.push_back(std::make_unique<RawBlock>(device, kBytes));
      blocks[i]->write(*streams[i], 0, pattern(kBytes, seed + i));
    }
    for (size_t i = 0; i < got.size(); ++i) blocks[i]->read(*streams[i], 0, got[i]);
    for (size_t i = got.size(); i-- > 0;) streams[i]->wait();
    for (size_t i = 0; i < got.size(); ++i)
      if (auto problem = difference(got[i], pattern(kBytes, seed + i)); !problem.empty())
        return "stream " + std::to_string(i) + ": " + problem;
    return {};
  });
  run_case(sink, device.id() + "/a stream for each of 4 threads", [&]() -> std::string {
    std::vector<std::string> problems(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < problems.size(); ++t)
      threads.emplace_back([&, t] {
        try {
          const RawBlock a(device, kBytes), b(device, kBytes);
          for (size_t i = 0; i < 20 && problems[t].empty(); ++i) {
            const RawStream stream(device);
            const Bytes wanted = pattern(kBytes, seed + 100 * t + i);
            a.write(stream, 0, wanted);
            a.copy_to(stream, 0, b, 0, kBytes);
            problems[t] = difference(b.contents(stream, 0, kBytes), wanted);
          }
        } catch (const std::exception& error) {
          problems[t] = error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& problem : problems)
      if (!problem.empty()) return problem;
    return {};
  });
}

// ---- Between streams

// Two streams, and work for the first one that takes a while.
class TwoStreams {
 public:
  explicit TwoStreams(const RawDevice& device)
      : producer(device),
        consumer(device),
        a(device, kLong),
        b(device, kLong),
        c(device, kBytes),
        ready(device) {}

  // `copies` of a to b, and the event behind them.
  void produce(const Bytes& bytes, size_t copies) const {
    a.write(producer, 0, bytes);
    for (size_t i = 0; i < copies; ++i) a.copy_to(producer, 0, b, 0, kLong);
    ready.record(producer);
  }
  // How many copies another stream overtakes if it does not wait; 0 if it never does. Devices differ in speed: with too few copies, a
  // stream that fails to wait would often be late enough by chance.
  size_t overtaken(uint64_t seed) const {
    constexpr size_t kMost = 2048;
    for (size_t copies = 8; copies <= kMost; copies *= 4) {
      bool always = true;
      for (int i = 0; i < 3 && always; ++i) {
        produce(pattern(kLong, seed), copies);
        c.write(consumer, 0, pattern(kBytes, seed + 1));
        consumer.wait();
        always = !ready.done();
        producer.wait();
      }
      if (always) return 2 * copies;
    }
    return 0;
  }

  static constexpr uint64_t kLong = 1 << 20;
  const RawStream producer, consumer;
  const RawBlock a, b, c;
  const RawEvent ready;
};

std::string hand_over(const TwoStreams& two, size_t copies, uint64_t seed) {
  const Bytes wanted = pattern(TwoStreams::kLong, seed);
  Bytes got(kBytes);
  two.b.write(two.producer, 0, pattern(TwoStreams::kLong, seed + 1));
  two.c.write(two.consumer, 0, pattern(kBytes, seed + 2));
  two.producer.wait();
  two.consumer.wait();
  two.produce(wanted, copies);
  two.ready.wait_on(two.consumer);
  two.b.copy_to(two.consumer, 0, two.c, 0, kBytes);
  two.c.read(two.consumer, 0, got);
  two.consumer.wait();  // the producer is not waited for, so only the event orders the two
  const bool done = two.ready.done();
  std::string problem = difference(got, {wanted.begin(), wanted.begin() + kBytes});
  two.producer.wait();
  if (!problem.empty())
    return "the waiting stream did not see what was done before the event: " + problem;
  return done ? "" : "the waiting stream went on before the event it was told to wait for";
}

void check_events(const RawDevice& device, uint64_t seed, Sink& sink) {
  run_case(sink, device.id() + "/create and destroy", [&]() -> std::string {
    for (int i = 0; i < 256; ++i) const RawEvent event(device);
    return {};
  });
  run_case(sink, device.id() + "/a stream waits for another", [&]() -> std::string {
    const TwoStreams two(device);
    const size_t copies = std::max<size_t>(two.overtaken(seed), 8);
    for (uint64_t i = 0; i < 10; ++i)
      if (auto problem = hand_over(two, copies, seed + 10 * i); !problem.empty()) return problem;
    return {};
  });
  run_case(sink, device.id() + "/done after its stream was waited for", [&]() -> std::string {
    const RawStream stream(device);
    const RawBlock block(device, kBytes);
    const RawEvent event(device);
    block.write(stream, 0, pattern(kBytes, seed));
    event.record(stream);
    static_cast<void>(event.done());  // either answer is right here
    stream.wait();
    return event.done() ? "" : "event_query says it is not done, after stream.synchronize";
  });
  run_case(sink, device.id() + "/waiting for the event completes the work before it",
           [&]() -> std::string {
             const RawStream stream(device);
             const RawBlock block(device, kBytes);
             const RawEvent event(device);
             const Bytes wanted = pattern(kBytes, seed + 5);
             Bytes got(kBytes);
             block.write(stream, 0, wanted);
             block.read(stream, 0, got);
             event.record(stream);
             event.synchronize();
             if (auto problem = difference(got, wanted); !problem.empty()) return problem;
             return event.done() ? "" : "event_query says it is not done, after synchronize";
           });
  run_case(sink, device.id() + "/polled until it is done", [&]() -> std::string {
    const RawStream stream(device);
    const RawBlock block(device, kBytes);
    const RawEvent event(device);
    const Bytes wanted = pattern(kBytes, seed + 6);
    Bytes got(kBytes);
    block.write(stream, 0, wanted);
    block.read(stream, 0, got);
    event.record(stream);
    while (!event.done()) std::this_thread::yield();  // if it never is, the unit times out
    return difference(got, wanted);
  });
  run_case(sink, device.id() + "/recorded again", [&]() -> std::string {
    const RawStream stream(device);
    const RawBlock block(device, kBytes);
    const RawEvent event(device);
    Bytes got(kBytes);
    for (uint64_t i = 0; i < 5; ++i) {
      const Bytes wanted = pattern(kBytes, seed + i);
      block.write(stream, 0, wanted);
      block.read(stream, 0, got);
      event.record(stream);
      event.synchronize();
      if (auto problem = difference(got, wanted); !problem.empty())
        return "round " + std::to_string(i) + ": " + problem;
    }
    return {};
  });
}

void check_times(const RawDevice& device, uint64_t seed, Sink& sink) {
  const StagedType& type = device.type();
  if (type.stream.event_elapsed == nullptr)
    return sink.skip(device.id() + "/elapsed", "the plugin has no stream.event_elapsed");
  const auto elapsed = [&](const RawEvent& start, const RawEvent& end) {
    double seconds = std::numeric_limits<double>::quiet_NaN();
    call(type.stream.event_elapsed, "stream.event_elapsed", type.self, start.get(), end.get(),
         &seconds);
    return seconds;
  };
  run_case(sink, device.id() + "/elapsed", [&]() -> std::string {
    const RawStream stream(device);
    const RawBlock block(device, kBytes);
    const RawEvent first(device), second(device), third(device);
    first.record(stream);
    block.write(stream, 0, pattern(kBytes, seed));
    second.record(stream);
    for (uint64_t i = 0; i < 20; ++i) block.write(stream, 0, pattern(kBytes, seed + i));
    third.record(stream);
    third.synchronize();
    const double a = elapsed(first, second), b = elapsed(second, third), c = elapsed(first, third);
    for (double seconds : {a, b, c})
      if (!(seconds >= 0) || seconds > 3600)
        return "took " + std::to_string(seconds) + " seconds, says stream.event_elapsed";
    // The parts add up to the whole, within the clock's resolution.
    if (std::abs(a + b - c) > 1e-4 + 0.01 * c)
      return "the parts take " + std::to_string(a) + " and " + std::to_string(b) +
             " seconds, the whole " + std::to_string(c);
    return {};
  });
}

const std::vector<std::pair<std::string, DeviceCase>>& areas() {
  static const std::vector<std::pair<std::string, DeviceCase>> all = {{"order", check_order},
                                                                      {"many", check_many},
                                                                      {"events", check_events},
                                                                      {"times", check_times}};
  return all;
}

}  // namespace

std::vector<std::string> streams_units(const Claims&) {
  std::vector<std::string> names;
  for (const auto& [name, run] : areas()) names.push_back(name);
  names.emplace_back(kCapture);
  names.emplace_back(kDlpack);
  return names;
}

void run_streams(const Subject& subject, const std::string& unit, Sink& sink) {
  Stage stage(subject.path);
  const std::vector<RawDevice> devices =
      devices_for(stage, unit, "the plugin has no device type of its own", sink);
  for (const RawDevice& device : devices) {
    if (unit == kCapture) check_capture(stage, device, subject.seed, sink);
    if (unit == kDlpack) check_dlpack(stage, device, subject.seed, sink);
    for (const auto& [name, run] : areas()) {
      if (name != unit) continue;
      if (!device.type().has_streams && unit != "order")
        sink.skip(device.id() + "/" + unit,
                  "the plugin has no stream table: work is done when a call returns");
      else if (device.type().memory.copy_within == nullptr)
        sink.skip(device.id() + "/" + unit, "the plugin has no memory.copy_within to order");
      else
        run(device, subject.seed, sink);
    }
  }
}

}  // namespace tenon::conformance
