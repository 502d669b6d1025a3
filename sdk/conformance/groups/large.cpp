// Ops at the sizes of real networks, for which plugins use vendors' libraries.
#include "large/large.hpp"

#include <algorithm>

#include "groups/groups.hpp"
#include "runner.hpp"

namespace tenon::conformance {
namespace {

const large::Cases& cases() {
  static const large::Cases all = [] {
    large::Cases made;
    large::add_products(made);
    large::add_convolutions(made);
    large::add_attention(made);
    large::add_rows(made);
    return made;
  }();
  return all;
}

uint64_t seed_of(const std::string& name, uint64_t seed) {
  for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
  return seed;
}

}  // namespace

std::vector<std::string> large_units(const Claims& claims) {
  std::vector<std::string> ops;
  for (const large::Case& one : cases())
    if (std::ranges::find(claims.ops, one.op) != claims.ops.end() &&
        std::ranges::find(ops, one.op) == ops.end())
      ops.push_back(one.op);
  return ops;
}

void run_large(const Subject& subject, const std::string& unit, Sink& sink) {
  const Options options = options_for(subject);
  const bool small = options.device.info().kind == TN_DEVICE_KIND_SOFTWARE;
  for (const large::Case& one : cases())
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16, DType::F64}) {
      if (one.op != unit || (one.dtypes & TN_MASK(static_cast<uint32_t>(dtype))) == 0) continue;
      const std::string name = one.op + "/" + one.label + "/" + std::string(name_of(dtype));
      run_case(sink, name, [&] {
        NoGrad off;
        large::Setting setting{dtype, options.device, Rng(seed_of(name, options.seed)), small};
        return one.run(setting);
      });
    }
}

}  // namespace tenon::conformance
