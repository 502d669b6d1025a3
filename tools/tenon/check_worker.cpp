// tenon check: the worker, a process that runs units of one group and writes a line for each event:
// U unit   C case   F "text"   S ["name", "reason"]   N ["what", n]   P {figure}   D
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "check.hpp"
#include "check_sample.hpp"
#include "command.hpp"
#include "stage.hpp"
#include "suite.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;
using conformance::Subject;
constexpr int kResults = 3;

void write_line(char tag, const std::string& text) {
  const std::string line = std::string(1, tag) + " " + text + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(kResults, line.data() + done, line.size() - done);
    if (n <= 0) _exit(kFailed);  // nobody is listening any more
    done += static_cast<size_t>(n);
  }
}
// A plugin's text may contain anything.
std::string safe(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class PipeSink : public conformance::Sink {
 public:
  PipeSink(std::string wanted, const std::string& sample)
      : wanted_(std::move(wanted)), sample_(sample) {}
  bool begin(const std::string& name) override {
    if (!wanted_.empty() && name != wanted_ && !name.starts_with(wanted_ + "/")) return false;
    if (!sample_.draws(name)) return false;
    write_line('C', name);
    return true;
  }
  void fail(const std::string& text) override { write_line('F', safe(Json(text))); }
  void skip(const std::string& name, const std::string& reason) override {
    if (wanted_.empty()) write_line('S', safe(Json{name, reason}));
  }
  void count(const std::string& what, uint64_t n) override { write_line('N', safe(Json{what, n})); }

  // Without destructors, which might wait for the device.
  void lost() override { _exit(kLost); }

  void end() {
    if (sample_.left_out() > 0) count("left out by --sample", sample_.left_out());
  }

 private:
  std::string wanted_;
  Sample sample_;
};

// ---- Planning

// The plugin found under an id, or NULL.
const PluginInfo* find_by_id(const std::vector<PluginInfo>& infos, std::string_view id) {
  for (const PluginInfo& info : infos)
    if (info.id == id && info.state == PluginInfo::State::Loaded) return &info;
  for (const PluginInfo& info : infos)
    if (info.id == id) return &info;
  return nullptr;
}

// For ops on one device, an op's kernels for it, and the units that the groups by op and `faults` make of them.
void describe_further(const Subject& subject, Json& plan) {
  for (const std::string& device : conformance::further_devices(subject)) {
    Subject there = subject;
    there.device = device;
    const conformance::Claims claims = conformance::claims_of(there);
    for (const conformance::Group& group : conformance::groups())
      if (group.by_op || group.name == "faults")
        plan["further"][device][std::string(group.name)] = group.units(claims);
  }
}

Json describe(Subject& subject) {
  const bool any_device = subject.device.empty();
  Json plan;
  plan["path"] = subject.path;
  try {
    conformance::load_subject(subject);
  } catch (const Error& error) {
    plan["refused"] = error.what();
    return plan;
  }
  for (const PluginInfo& info : plugins())
    if (info.id == subject.id && info.state == PluginInfo::State::Loaded) {
      plan["version"] = info.version;
      plan["kernels"] = info.kernels;
      plan["reason"] = info.reason;
    }
  const conformance::Stage stage(subject.path);  // queried, not started
  plan["abi"] =
      std::to_string(stage.table().abi_major) + "." + std::to_string(stage.table().abi_minor);
  plan["id"] = subject.id;
  plan["device"] = subject.device;
  plan["devices"] = Json::array();
  for (const Device& device : devices())
    if (device.plugin() == subject.id) plan["devices"].push_back(std::string(device.id()));
  const conformance::Claims claims = conformance::claims_of(subject);
  for (const conformance::Group& group : conformance::groups())
    plan["units"][std::string(group.name)] = group.units(claims);
  plan["units"]["perf"] = perf_units(claims.ops);
  if (any_device) describe_further(subject, plan);
  for (uint32_t i = 0; i < tn_op_count(); ++i)
    plan["ops"].push_back(std::string(detail::to_view(tn_op_name(tn_op_at(i)))));
  return plan;
}

void plan(const std::string& given, const std::string& device) {
  Subject subject;
  subject.path = given;
  subject.device = device;
  std::error_code error;
  if (!std::filesystem::exists(given, error)) {
    discover_plugins();
    const std::vector<PluginInfo> infos = plugins();
    const PluginInfo* info = find_by_id(infos, given);
    if (info == nullptr) {
      Json answer;
      answer["missing"] = true;
      answer["known"] = Json::array();
      for (const PluginInfo& other : infos)
        if (!other.id.empty()) answer["known"].push_back(std::string(other.id));
      return write_line('J', safe(answer));
    }
    subject.path = info->path;
  }
  write_line('J', safe(describe(subject)));
}

// ---- Running

void run_perf(const std::string& unit, Subject subject) {
  conformance::load_subject(subject);
  const CheckFigure figure = measure_perf(unit, subject.device);
  write_line('P', safe(Json{{"work", figure.work},
                            {"unit", figure.unit},
                            {"seconds", figure.seconds},
                            {"rate", figure.rate},
                            {"host_rate", figure.host_rate}}));
}

void run_unit(const std::string& group, const Subject& subject, const std::string& unit,
              PipeSink& sink) {
  write_line('U', unit);
  try {
    if (group == "perf")
      run_perf(unit, subject);
    else
      conformance::find_group(group)->run(subject, unit, sink);
  } catch (const Error& error) {
    write_line('E', safe(Json(error.what())));
    if (error.code() == TN_DEVICE_LOST) sink.lost();
  } catch (const std::exception& error) {
    // Not inside a case, so it concerns the unit as a whole.
    write_line('E', safe(Json(error.what())));
  }
  write_line('D', unit);
}

}  // namespace

int run_check_worker(const std::vector<std::string>& words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (words.size() >= 3 && words[0] == "plan") {
    plan(words[1], words[2]);
    return kOk;
  }
  if (words.size() < 7 || words[0] != "run")
    throw UsageError("check-worker is started by `tenon check` only");
  Subject subject;
  subject.path = words[1];
  subject.device = words[3];
  subject.seed = std::stoull(words[4]);
  PipeSink sink(words[5], words[6]);
  for (size_t i = 7; i < words.size(); ++i) run_unit(words[2], subject, words[i], sink);
  sink.end();
  return kOk;
}

}  // namespace tenon::tool
