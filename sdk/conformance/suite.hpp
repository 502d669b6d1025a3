// The suite as `tenon check` runs it: groups of cases. A group consists of units (an op, or an area such as "copies"), so that a unit that
// crashes or hangs costs only its own process.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::conformance {

// The plugin under test. Groups load it themselves, into the core or onto a Stage.
struct Subject {
  std::string path;    // of the library or its card, as tn_plugin_load takes it
  std::string id;      // empty until the plugin was loaded
  std::string device;  // "cpu:0": where its kernels run; empty if there is no device
  uint64_t seed = 1;
};

// Collects the findings of a run. Not thread-safe.
class Sink {
 public:
  virtual ~Sink() = default;
  // Begins a case. Returns false if the case was not selected; the caller then goes on to the next.
  virtual bool begin(const std::string& name) = 0;
  // Marks the case that began last as wrong. Only the first reason of a case is kept.
  virtual void fail(const std::string& text) = 0;
  // Something that cannot run here, and the reason.
  virtual void skip(const std::string& name, const std::string& reason) = 0;
  // Figures of the report ("injected", "survived").
  virtual void count(const std::string& what, uint64_t n) = 0;
  // The case's device is lost: nothing more can run on it in this process. Called after fail().
  virtual void lost() {}
};

// What a plugin claims. Units are made from it.
struct Claims {
  std::vector<std::string> ops;  // those that have samples and run on its device or by its kernels
  std::vector<std::string> new_ops;  // those that it registered itself
  std::vector<std::string> layers;   // over calls; those that it offers
  bool has_device = false;

  // The things by which groups that call ops are divided into units.
  std::vector<std::string> all_ops() const;
};

struct Group {
  std::string_view name;
  std::string_view mode;     // "test", "grad", "support", "perf"
  std::string_view summary;  // one line
  std::vector<std::string> (*units)(const Claims& claims);
  bool by_op;  // its units are ops, among which --only chooses
  void (*run)(const Subject& subject, const std::string& unit, Sink& sink);
};

// In the order in which the report shows them.
std::span<const Group> groups();
const Group* find_group(std::string_view name);

// Loads the plugin into the core once, and fills in id and device where they are empty. Throws Error with the loader's reason.
void load_subject(Subject& subject);
// Other device types for which the plugin brings kernels, as "cpu:0". Call it after load_subject.
std::vector<std::string> further_devices(const Subject& subject);
// Call it after load_subject.
Claims claims_of(const Subject& subject);

// Layers over calls that a plugin offers ("tn.layers"); empty if it offers none. Call it after load_subject.
std::vector<tn_offered_layer> layers_of(const Subject& subject);

// Whether a plugin registered a kernel for the op, even if another plugin's kernel comes first.
bool claims_kernel(std::string_view id, const tn_op* op, Device device, DType dtype);

// A case that passes unless `body` returns a reason or throws.
template <class Body>
void run_case(Sink& sink, const std::string& name, Body&& body) {
  if (!sink.begin(name)) return;
  try {
    const std::string problem = body();
    if (!problem.empty()) sink.fail(problem);
  } catch (const Error& error) {
    sink.fail(error.what());
    if (error.code() == TN_DEVICE_LOST) sink.lost();
  } catch (const std::exception& error) {
    sink.fail(error.what());
  }
}

}  // namespace tenon::conformance
