#include "sample.hpp"

namespace tenon::conformance {

// Declared here alone: a new family compiles no other again.
#define SAMPLES(name) void add_##name##_samples(Table& table);
#include "samples/families.def"
#undef SAMPLES

std::vector<const Sample*> Table::of(std::string_view op) const {
  std::vector<const Sample*> found;
  for (const Sample& sample : samples_)
    if (sample.op == op) found.push_back(&sample);
  return found;
}

const Table& table() {
  static const Table all = [] {
    Table table;
#define SAMPLES(name) add_##name##_samples(table);
#include "samples/families.def"
#undef SAMPLES
    return table;
  }();
  return all;
}

}  // namespace tenon::conformance
