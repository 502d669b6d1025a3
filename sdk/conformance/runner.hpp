// Runs the table on a device: values for every dtype and layout, in-place forms, gradients of first and second order.
#pragma once

#include <string>
#include <vector>

#include "sample.hpp"

namespace tenon::conformance {

struct Options {
  Device device;
  uint64_t seed = 1;
};

// What a run found. A failure says what to repeat: op, sample, dtype, layout, seed.
struct Report {
  uint32_t cases = 0;
  std::vector<std::string> failures;
  std::vector<std::string> skipped;  // with the reason
};

// Values of one op: each sample × dtype × layout against the reference, and in place where the op allows it.
Report check_values(const std::string& op, const Options& options);
// Gradients of one op in f64 (c128 where samples have it) against central differences, first and second order.
Report check_gradients(const std::string& op, const Options& options);
// Ops that a backend may implement but the table has no sample for.
std::vector<std::string> ops_without_samples();

}  // namespace tenon::conformance
