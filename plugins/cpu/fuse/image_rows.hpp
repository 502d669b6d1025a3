// Norms, averages and resampling of images whose channels lie side by side: a place is a row of channels. They are anchors so that images
// between convolutions need not change their layout.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "fuse/anchored_kernel.hpp"

namespace tenon::cpu {

enum class RowActivation : uint8_t { kNone, kRelu, kSilu };

// Which places of one dimension each result mixes: those of result o lie from first[o] to first[o + 1].
struct PlaceTaps {
  std::vector<size_t> first{0};
  std::vector<int64_t> at;
  std::vector<float> weight;
  void add(int64_t place, double by) {
    at.push_back(place);
    weight.push_back(static_cast<float>(by));
  }
  void end() { first.push_back(at.size()); }
};

// An expression as it was read. Numbers of operands, where 0 says that there is none.
struct ImageRowsRecipe {
  enum class Kind : uint8_t { kBatchNorm, kGroupNorm, kMix };
  Kind kind = Kind::kMix;
  int64_t batch = 1, channels = 1, groups = 1;
  std::array<int64_t, 2> in{1, 1}, out{1, 1};
  uint32_t x = 0, weight = 0, bias = 0, mean = 0, var = 0;
  double eps = 0;
  RowActivation activation = RowActivation::kNone;
  std::array<PlaceTaps, 2> taps;  // of kMix: down, across

  int64_t in_plane() const { return in[0] * in[1]; }
  int64_t out_plane() const { return out[0] * out[1]; }
  int64_t elements() const { return batch * channels * (in_plane() + out_plane()); }
};
// Whether these are kernels of that op.
bool is_of_image_rows(std::string_view op);
// None where the anchor is something else. Throws as cost_of_anchored does. Looks at sizes only, since layouts are decided afterwards.
std::optional<ImageRowsRecipe> read_image_rows(const tn_graph_expression& expression,
                                               const KnownKernels& kernels);

class ImageRows : public AnchoredKernel {
 public:
  // Throws TN_UNIMPLEMENTED if channels do not lie side by side.
  ImageRows(const tn_graph_expression& expression, ImageRowsRecipe recipe);
  void pack(const tn_view* const* views) override;
  void run(const tn_call& call) const override;

 private:
  void batch_norm(const float* x, float* y) const;
  void group_norm(const float* x, float* y, const float* weight, const float* bias) const;
  void mix(const float* x, float* y) const;

  ImageRowsRecipe recipe_;
  std::vector<float> mean_, scale_, shift_;  // of a batch norm, by channel
};

// Functions for the best instruction set.
struct RowFunctions {
  // y = activation((x - mean)·scale + shift) for rows of n channels.
  void (*affine)(const float* x, float* y, int64_t rows, int64_t n, const float* const* parameters,
                 RowActivation activation);
  // to = Σ weight[k]·from[k], of n elements each; count > 0.
  void (*mix)(float* to, int64_t n, const float* const* from, const float* weight, int64_t count);
  // Sums over rows of n channels: of x, or of (x - mean)² unless mean is NULL.
  void (*sums)(const float* x, int64_t rows, int64_t n, const float* mean, float* to);
};
const RowFunctions& row_functions();

}  // namespace tenon::cpu
