// Products of integers of eight bits whose rows are windows of an image (linear_integer): a convolution of that image, which need not be
// copied window by window.
#include <optional>

#include "fuse/anchored.hpp"

namespace tenon::cpu {
namespace {

// Sizes along one dimension of the image: a window starts every `stride` places, its taps lie `dilation` places apart, and the image is
// `size` places long.
struct Along {
  int64_t stride = 1, dilation = 1, size = 1;
};

// From the distances between windows and between taps, and between places. None if they do not fit.
std::optional<Along> along(int64_t windows, int64_t step, int64_t taps, int64_t tap_step,
                           int64_t place) {
  Along made;
  if (windows > 1) {
    if (step % place != 0) return std::nullopt;
    made.stride = step / place;
  }
  if (taps > 1) {
    if (tap_step % place != 0) return std::nullopt;
    made.dilation = tap_step / place;
  }
  made.size = (windows - 1) * made.stride + (taps - 1) * made.dilation + 1;
  if (made.stride < 1 || made.dilation < 1) return std::nullopt;
  return made;
}

// An image may be longer than its last window reaches, but by less than a step.
bool may_end(const Along& along, int64_t size) {
  return size >= along.size && size < along.size + along.stride;
}

constexpr int64_t kMostSteps = 8;  // rows from window to window, or from tap to tap

// By samples, rows, columns, taps down, taps across, channels.
using Six = std::array<int64_t, 6>;

// Reads windows of an image whose channels lie side by side.
bool read_windows(const Six& shape, const Six& strides, ImageWindow& w) {
  const int64_t channels = shape[5];
  if (channels > 1 && strides[5] != 1) return false;
  const auto across = along(shape[2], strides[2], shape[4], strides[4], channels);
  if (!across) return false;
  const int64_t known = shape[3] > 1 ? strides[3] : strides[1];
  for (int64_t rows = 1; rows <= kMostSteps; ++rows) {
    const bool one = shape[3] == 1 && shape[1] == 1;
    const int64_t row = one ? across->size * channels : known / rows;
    if ((!one && known % rows != 0) || row % channels != 0 || !may_end(*across, row / channels))
      continue;
    const auto down = along(shape[1], strides[1], shape[3], strides[3], row);
    if (!down) continue;
    const int64_t height = shape[0] > 1 ? strides[0] / row : down->size;
    if (height * row != (shape[0] > 1 ? strides[0] : height * row) || !may_end(*down, height))
      continue;
    w.in = {height, row / channels};
    w.stride = {down->stride, across->stride};
    w.dilation = {down->dilation, across->dilation};
    return true;
  }
  return false;
}

}  // namespace

bool read_integers(const tn_view& x, const tn_view& weight, const tn_view& y, ImageWindow& w) {
  if (y.ndim != 4 || (y.flags & TN_VIEW_CONTIGUOUS) == 0) return false;
  w.batch = y.shape[0];
  w.filters = y.shape[3];
  w.out = {y.shape[1], y.shape[2]};
  if (x.ndim != 4 && x.ndim != 6) return false;
  Six shape, strides;
  shape.fill(1);
  strides.fill(0);
  for (uint32_t d = 0; d < x.ndim; ++d) {
    const size_t to = d + 1 == x.ndim ? 5 : d;
    shape[to] = x.shape[d];
    strides[to] = x.strides[d];
  }
  w.channels = shape[5];
  w.kernel = {shape[3], shape[4]};
  const bool alike = shape[0] == w.batch && shape[1] == w.out[0] && shape[2] == w.out[1] &&
                     w.channels * w.kernel[0] * w.kernel[1] == weight.shape[1];
  return alike && read_windows(shape, strides, w);
}

// Without VNNI sums of two products saturate.
bool sums_are_exact() {
  static const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [](dnnl::cpu_isa wanted) {
    return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
  };
  return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni);
}

}  // namespace tenon::cpu
