#include "ops/conv.hpp"

namespace tenon::cpu {

bool ConvGeometry::pointwise() const {
  for (uint32_t d = 0; d < 3; ++d)
    if (kernel[d] != 1 || stride[d] != 1 || padding[d] != 0) return false;
  return true;
}

ConvGeometry conv_geometry(const ConvShapes& shapes, const tn_call& call, uint32_t at) {
  ConvGeometry g;
  g.batch = shapes.x[0];
  g.groups = call.args[at + 3].as.i;
  g.channels = shapes.x[1] / g.groups;
  g.filters = shapes.weight[0] / g.groups;
  const uint32_t n = shapes.ndim - 2, lead = 3 - n;
  for (uint32_t d = 0; d < 3; ++d) {
    const bool real = d >= lead;
    const uint32_t s = d - lead;
    g.in[d] = real ? shapes.x[s + 2] : 1;
    g.out[d] = real ? shapes.out[s + 2] : 1;
    g.kernel[d] = real ? shapes.weight[s + 2] : 1;
    // A list of one entry stands for all.
    const auto entry = [&](uint32_t arg) {
      return call.args[arg].as.ints[call.args[arg].count == n ? s : 0];
    };
    g.stride[d] = real ? entry(at) : 1;
    g.padding[d] = real ? entry(at + 1) : 0;
    g.dilation[d] = real ? entry(at + 2) : 1;
  }
  return g;
}

}  // namespace tenon::cpu
