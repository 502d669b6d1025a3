// Reads a conv, conv_backward_input or conv_backward_weight call.
#ifndef TENON_PLUGINS_COMMON_CONV_GEOMETRY_HPP
#define TENON_PLUGINS_COMMON_CONV_GEOMETRY_HPP

#include <array>
#include <vector>

#include "call.hpp"
#include "tenon/schemas.h"

namespace tenon {

enum ConvPass : uint32_t { kForward, kInput, kWeight };

// A call brought to three spatial dimensions; if it has fewer, the first ones have size 1.
struct ConvGeometry {
  using Three = std::array<int64_t, 3>;
  static int64_t product(const Three& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

  int64_t batch = 0, groups = 1, channels = 0, filters = 0;  // the last two are for one group
  Three in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0},
      dilation{1, 1, 1};

  // Only the last `spatial` of them count.
  static std::vector<int64_t> last(const Three& sizes, uint32_t spatial) {
    return {sizes.end() - spatial, sizes.end()};
  }

  // Operands: x and weight, g and weight, or g and x. All three ops have them and the attributes in the positions of conv.
  template <class Op>
  static constexpr bool attributes_as_conv =
      Op::stride == arg::conv::stride&& Op::padding == arg::conv::padding&& Op::dilation ==
      arg::conv::dilation&& Op::groups == arg::conv::groups;
  static_assert(attributes_as_conv<arg::conv_backward_input> &&
                arg::conv_backward_input::g == arg::conv::x &&
                arg::conv_backward_input::weight == arg::conv::weight);
  static_assert(attributes_as_conv<arg::conv_backward_weight> &&
                arg::conv_backward_weight::g == arg::conv::x &&
                arg::conv_backward_weight::x == arg::conv::weight);

  ConvGeometry(const tn_call& call, ConvPass pass) {
    const tn_view &first = input(call, arg::conv::x), &second = input(call, arg::conv::weight),
                  &result = output(call);
    const tn_view& x = pass == kForward ? first : pass == kInput ? result : second;
    const tn_view& weight = pass == kWeight ? result : second;
    const tn_view& y = pass == kForward ? result : first;
    groups = int_arg(call, arg::conv::groups);
    batch = x.shape[0];
    channels = weight.shape[1];
    filters = weight.shape[0] / groups;
    const uint32_t lead = 5 - x.ndim;
    for (uint32_t d = lead; d < 3; ++d) {
      const uint32_t s = d - lead;
      in[d] = x.shape[s + 2];
      out[d] = y.shape[s + 2];
      kernel[d] = weight.shape[s + 2];
      stride[d] = call.args[arg::conv::stride].as.ints[s];
      padding[d] = call.args[arg::conv::padding].as.ints[s];
      dilation[d] = call.args[arg::conv::dilation].as.ints[s];
    }
  }

  int64_t in_plane() const { return product(in); }
  int64_t out_plane() const { return product(out); }
  int64_t taps() const { return product(kernel); }
  int64_t depth() const { return channels * taps(); }  // terms in the sum of each output
  // Whether every output reads a single place of x.
  bool pointwise() const {
    return taps() == 1 && product(stride) == 1 && padding == Three{0, 0, 0};
  }
  // The number of multiplications of the convolution.
  double work() const {
    return static_cast<double>(batch * groups * filters) * static_cast<double>(out_plane()) *
           static_cast<double>(depth());
  }
};

}  // namespace tenon

#endif
