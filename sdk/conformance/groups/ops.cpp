// Groups that run the table of samples: values, gradients, leaks, threads.
#include <thread>

#include "groups/groups.hpp"
#include "runner.hpp"

namespace tenon::conformance {

Options options_for(Subject subject, bool brief) {
  load_subject(subject);
  if (subject.device.empty())
    throw Error(TN_FAILED_PRECONDITION, "the plugin has neither a device nor a kernel for one");
  return {Device(subject.device), subject.seed, brief};
}

namespace {

std::vector<Device> devices_of_type(Device device) {
  const auto type = [](Device each) { return each.id().substr(0, each.id().find(':')); };
  std::vector<Device> found;
  for (const Device& each : devices())
    if (type(each) == type(device)) found.push_back(each);
  return found;
}

uint64_t used(Device device) {
  device.synchronize();
  return device.memory().used;
}

}  // namespace

std::vector<std::string> values_units(const Claims& claims) { return claims.ops; }
void run_values(const Subject& subject, const std::string& unit, Sink& sink) {
  run_values(unit, options_for(subject), sink);
}

std::vector<std::string> gradients_units(const Claims& claims) {
  std::vector<std::string> names;
  for (const std::string& name : claims.ops)
    if (tn_op_is_differentiable(tn_op_find(detail::to_str(name))) != 0) names.push_back(name);
  return names;
}
void run_gradients(const Subject& subject, const std::string& unit, Sink& sink) {
  run_gradients(unit, options_for(subject), sink);
}

std::vector<std::string> leaks_units(const Claims& claims) { return claims.ops; }
void run_leaks(const Subject& subject, const std::string& unit, Sink& sink) {
  const Options options = options_for(subject, true);
  static_cast<void>(check_values(unit, options));  // plans and caches are made once
  run_case(sink, unit, [&]() -> std::string {
    const uint64_t device = used(options.device), host = used(Device("cpu"));
    static_cast<void>(check_values(unit, options));  // what is wrong there, `values` tells
    const uint64_t device_after = used(options.device), host_after = used(Device("cpu"));
    if (device_after != device)
      return std::to_string(static_cast<int64_t>(device_after - device)) +
             " bytes more are in use on " + std::string(options.device.id()) + " after the op";
    if (host_after != host)
      return std::to_string(static_cast<int64_t>(host_after - host)) +
             " bytes more are in use on the host after the op";
    return {};
  });
}

std::vector<std::string> threads_units(const Claims& claims) { return claims.ops; }
void run_threads(const Subject& subject, const std::string& unit, Sink& sink) {
  const Options options = options_for(subject, true);
  run_case(sink, unit, [&]() -> std::string {
    // Calls on one stream come one at a time: only work on several devices of the type, or on the host, meets in the plugin.
    const std::vector<Device> alike = devices_of_type(options.device);
    std::vector<Report> reports(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < reports.size(); ++t)
      threads.emplace_back([&, t] {
        Options own = options;
        own.seed = options.seed + t;
        own.device = alike[t % alike.size()];
        try {
          reports[t] = check_values(unit, own);
        } catch (const std::exception& error) {
          reports[t].failures.emplace_back(error.what());
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const Report& report : reports)
      if (!report.failures.empty()) return "beside three others: " + report.failures.front();
    return {};
  });
}

}  // namespace tenon::conformance
