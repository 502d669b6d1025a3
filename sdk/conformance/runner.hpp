// Runs the table on a device: values for every dtype and layout, in-place forms, gradients of first and second order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bridge.hpp"
#include "sample.hpp"
#include "suite.hpp"

namespace tenon::conformance {

struct Options {
  Device device;
  uint64_t seed = 1;
  bool brief = false;  // one dtype for each sample; only row-major and mixed layouts
};

// Loads the plugin under test into the core. Throws Error if it has nothing to run on.
Options options_for(Subject subject, bool brief = false);

// The findings of a run. A failure says how to repeat it: op, sample, dtype, layout, seed.
struct Report {
  uint32_t cases = 0;
  std::vector<std::string> failures;
  std::vector<std::string> skipped;  // with the reason
};

// Values of one op: each sample, dtype and layout against the reference, also in place if the op allows it.
void run_values(const std::string& op, const Options& options, Sink& sink);
Report check_values(const std::string& op, const Options& options);
// Gradients of one op: in f64 (c128 if samples have it) against central differences, first and second order, and in f32 against f64 on the
// host.
void run_gradients(const std::string& op, const Options& options, Sink& sink);
Report check_gradients(const std::string& op, const Options& options);
// The suite's call of an op: its first sample, or made-up arguments. NULL if there is none.
std::unique_ptr<Call> first_call(const std::string& op, const Options& options);
// Forward, then backward to every participating floating-point tensor.
void run_backward(const Call& call);
// Ops that a backend may implement but that have no sample.
std::vector<std::string> ops_without_samples();

// Collects into a Report.
class ReportSink : public Sink {
 public:
  ReportSink(Report& report, uint64_t seed) : report_(report), seed_(seed) {}
  bool begin(const std::string& name) override {
    ++report_.cases;
    name_ = name;
    return true;
  }
  void fail(const std::string& text) override {
    report_.failures.push_back(name_ + " (seed " + std::to_string(seed_) + "): " + text);
  }
  void skip(const std::string& name, const std::string& reason) override {
    report_.skipped.push_back(name + ": " + reason);
  }
  void count(const std::string&, uint64_t) override {}

 private:
  Report& report_;
  uint64_t seed_;
  std::string name_;
};

// The arguments of a sample and how they were made: the same for the same seed.
struct Case {
  const Sample& sample;
  DType dtype;
  uint32_t layout;  // a Layout
  uint64_t seed;

  std::string name() const;  // "softmax/rows/f32/sliced"
  // False if the layout makes no difference for this sample.
  bool make(Args& args, Rng& rng) const;
  Rng rng() const;
};
// For an f32 case: empty if its gradients equal those of f64 on the host, within rounding.
std::string check_narrow_gradient(const tn_op* op, const Case& c, Device device);
// Empty if the results are what the sample wants.
std::string compare_results(const Case& c, const Args& args, const std::vector<Tensor>& results);
// Empty if the same call gives the same bits again, or for ops that may add in any order, the same within rounding.
std::string repeat_differs(const tn_op* op, const Call& call, const std::vector<Array>& first);
// Empty if both are equal within the rounding of `precision`.
std::string compare_arrays(const Array& got, const Array& wanted, double factor, DType precision);

}  // namespace tenon::conformance
