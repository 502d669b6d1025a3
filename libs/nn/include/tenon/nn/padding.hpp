// Padding of the last one, two or three dimensions.
#ifndef TENON_NN_PADDING_HPP
#define TENON_NN_PADDING_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

namespace functional {
// Pads by (left, right, top, bottom, front, back) of the last dimensions; negative pads cut. Modes "constant", "reflect", "replicate"
// and "circular".
inline Tensor pad(const Tensor& x, IntList padding, std::string_view mode = "constant",
                  double value = 0) {
  std::vector<int64_t> pads = padding.vec();
  const auto dims = static_cast<int64_t>(pads.size() / 2);
  if (pads.size() % 2 != 0)
    nn::detail::refuse("pad", "padding " + nn::detail::text_of(padding) +
                                  " must have two sizes for each dimension");
  if (x.ndim() < dims || (mode != "constant" && x.ndim() != dims + 1 && x.ndim() != dims + 2))
    nn::detail::refuse("pad", std::to_string(dims) + " dimensions of a tensor of rank " +
                                  std::to_string(x.ndim()));
  Tensor y = x;
  for (size_t i = 0; i < pads.size(); i += 2) {
    const int64_t dim = x.ndim() - 1 - static_cast<int64_t>(i / 2), n = x.shape(dim);
    const int64_t start = std::max<int64_t>(-pads[i], 0),
                  end = n + std::min<int64_t>(pads[i + 1], 0);
    if (start > end)
      nn::detail::refuse("pad", "by " + std::to_string(pads[i]) + " and " +
                                    std::to_string(pads[i + 1]) + " of " + std::to_string(n) +
                                    " entries");
    if (start > 0 || end < n) y = y.slice(dim, start, end);
    pads[i] = std::max<int64_t>(pads[i], 0);
    pads[i + 1] = std::max<int64_t>(pads[i + 1], 0);
  }
  return tenon::pad(y, pads, mode, value);
}
}  // namespace functional

namespace detail {
// (left, right, top, bottom, front, back) of the last `dims` dimensions, or one number for all sides.
class Padding : public Module {
 public:
  Tensor forward(const Tensor& x) override { return functional::pad(x, pads_, mode_, value_); }

 protected:
  Padding(const std::string& name, size_t dims, IntList padding, std::string_view mode,
          double value = 0)
      : pads_(padding.vec()), mode_(mode), value_(value) {
    if (pads_.size() == 1) pads_.resize(2 * dims, pads_[0]);
    if (pads_.size() != 2 * dims)
      refuse(name, "padding " + text_of(padding) + " has " + std::to_string(padding.size()) +
                       " sizes: give one, or " + std::to_string(2 * dims));
  }
  std::string title(const char* kind) const {
    return kind + ("Pad" + std::to_string(pads_.size() / 2)) + 'd' + text_of(pads_);
  }

 private:
  std::vector<int64_t> pads_;
  std::string_view mode_;
  double value_;
};
}  // namespace detail

// Pads with one value.
template <size_t Dims>
class ConstantPad : public detail::Padding {
 public:
  ConstantPad(IntList padding, double value)
      : Padding("ConstantPad" + std::to_string(Dims) + 'd', Dims, padding, "constant", value) {}
  std::string describe() const override { return title("Constant"); }
};
using ConstantPad1d = ConstantPad<1>;
using ConstantPad2d = ConstantPad<2>;
using ConstantPad3d = ConstantPad<3>;

// Zeros; entries reflected at the edge; the edge entry repeated; entries from the other end.
#define TENON_PADDING(Kind, mode)                                                               \
  template <size_t Dims>                                                                        \
  class Kind##Pad : public detail::Padding {                                                    \
   public:                                                                                      \
    explicit Kind##Pad(IntList padding)                                                         \
        : Padding(#Kind "Pad" + std::to_string(Dims) + 'd', Dims, padding, mode) {}             \
    explicit Kind##Pad(std::initializer_list<int64_t> padding) : Kind##Pad(IntList(padding)) {} \
    std::string describe() const override { return title(#Kind); }                              \
  };                                                                                            \
  using Kind##Pad1d = Kind##Pad<1>;                                                             \
  using Kind##Pad2d = Kind##Pad<2>;                                                             \
  using Kind##Pad3d = Kind##Pad<3>;
TENON_PADDING(Zero, "constant")
TENON_PADDING(Reflection, "reflect")
TENON_PADDING(Replication, "replicate")
TENON_PADDING(Circular, "circular")
#undef TENON_PADDING

}  // namespace tenon::nn
#endif
