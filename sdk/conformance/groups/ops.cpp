// Groups that run the table of samples: values, gradients, leaks.
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

uint64_t used(Device device) {
  device.synchronize();
  return device.memory().used;
}

}  // namespace

std::vector<std::string> values_units(const Claims& claims) { return claims.all_ops(); }
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

std::vector<std::string> leaks_units(const Claims& claims) { return claims.all_ops(); }
void run_leaks(const Subject& subject, const std::string& unit, Sink& sink) {
  const Options options = options_for(subject, true);
  static_cast<void>(check_values(unit, options));  // plans and caches are made once
  run_case(sink, unit, [&]() -> std::string {
    const uint64_t device = used(options.device), host = used(Device("cpu"));
    static_cast<void>(
        check_values(unit, options));  // wrong values are reported by the group `values`
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

}  // namespace tenon::conformance
