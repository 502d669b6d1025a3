#include "dispatch.hpp"
#include "fuse/anchor_reader.hpp"
#include "fuse/image_rows.hpp"
#include "ops/pool.hpp"
#include "ops/resample.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kFewChannels = 8;  // rows that leave most lanes of vectors empty

PlaceTaps taps_of(const std::vector<Window>& windows) {
  PlaceTaps taps;
  for (const Window& window : windows) {
    for (int64_t at = window.begin; at < window.end; ++at)
      taps.add(at, 1.0 / static_cast<double>(window.size));
    taps.end();
  }
  return taps;
}

PlaceTaps taps_of(const Taps& from, int64_t out) {
  PlaceTaps taps;
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t k = o * from.count; k < (o + 1) * from.count; ++k)
      taps.add(from.at[static_cast<size_t>(k)], from.weight[static_cast<size_t>(k)]);
    taps.end();
  }
  return taps;
}

class Reader : AnchorReader {
 public:
  using AnchorReader::AnchorReader;
  using Kind = ImageRowsRecipe::Kind;

  std::optional<ImageRowsRecipe> read() {
    for (uint32_t i = 0; i < expression_.nnodes; ++i) {
      const tn_graph_node& node = expression_.nodes[i];
      if (node.kind == TN_GRAPH_ANCHOR) {
        if (!is_of_image_rows(schema(node))) return std::nullopt;
        anchor(node);
        before_ = i;
      } else if (node.kind == TN_GRAPH_OP) {
        if (before_ == kNone) return std::nullopt;
        activation(node);
        before_ = i;
      }
    }
    return std::move(recipe_);
  }

 private:
  void anchor(const tn_graph_node& node) {
    const auto found = operand(node, 0);
    const tn_view& y = *expression_.views[0];
    if (!found) cannot("it is not of images");
    const tn_view& x = *expression_.views[*found];
    if (x.ndim != 4 || y.ndim != 4 || x.dtype != TN_DTYPE_F32 || y.dtype != TN_DTYPE_F32)
      cannot("it is not of images in f32");
    recipe_.x = *found;
    recipe_.batch = x.shape[0], recipe_.channels = x.shape[1];
    recipe_.in = {x.shape[2], x.shape[3]}, recipe_.out = {y.shape[2], y.shape[3]};
    if (recipe_.channels < kFewChannels || recipe_.batch * recipe_.in_plane() == 0 ||
        recipe_.out_plane() == 0)
      cannot("its rows of channels are too short");
    const std::string_view op = schema(node);
    if (op == TN_SCHEMA_BATCH_NORM)
      batch_norm(node);
    else if (op == TN_SCHEMA_GROUP_NORM)
      group_norm(node);
    else if (op == TN_SCHEMA_INTERPOLATE)
      interpolate(node);
    else
      average(node, op == TN_SCHEMA_AVG_POOL ? kAvgPool : kAdaptiveAvgPool);
  }

  void batch_norm(const tn_graph_node& node) {
    using arg = arg::batch_norm;
    if (node.args[arg::training].as.i != 0) cannot("its statistics are the batch's");
    recipe_.kind = Kind::kBatchNorm;
    recipe_.weight = constant(node, arg::weight), recipe_.bias = constant(node, arg::bias);
    recipe_.mean = constant(node, arg::running_mean);
    recipe_.var = constant(node, arg::running_var);
    recipe_.eps = node.args[arg::eps].as.f;
    if (recipe_.mean == 0 || recipe_.var == 0) cannot("it has no statistics");
  }

  void group_norm(const tn_graph_node& node) {
    using arg = arg::group_norm;
    recipe_.kind = Kind::kGroupNorm;
    recipe_.groups = node.args[arg::groups].as.i;
    recipe_.weight = values(node, arg::weight), recipe_.bias = values(node, arg::bias);
    recipe_.eps = node.args[arg::eps].as.f;
  }

  // Parameters that are read in each run; 0 where there are none.
  uint32_t values(const tn_graph_node& node, uint32_t arg) const {
    if (node.inputs[arg] == TN_GRAPH_ATTRIBUTE) return 0;
    const auto found = operand(node, arg);
    const tn_view* const view = found ? expression_.views[*found] : nullptr;
    if (view == nullptr || view->dtype != TN_DTYPE_F32 || (view->flags & TN_VIEW_CONTIGUOUS) == 0)
      cannot("its parameters are not dense");
    return *found;
  }

  void interpolate(const tn_graph_node& node) {
    using arg = arg::interpolate;
    const std::string_view mode(node.args[arg::mode].as.str, node.args[arg::mode].count);
    const bool align = node.args[arg::align_corners].as.i != 0;
    for (size_t d = 0; d < 2; ++d)
      recipe_.taps[d] =
          taps_of(resample_taps(recipe_.in[d], recipe_.out[d], mode, align), recipe_.out[d]);
  }

  void average(const tn_graph_node& node, PoolOp op) {
    with_call(node, [&](const tn_call& call) {
      const Pooling pool(call, op);
      for (size_t d = 0; d < 2; ++d) {
        for (const Window& window : pool.windows[1 + d])
          if (window.begin >= window.end) cannot("a window is empty");
        recipe_.taps[d] = taps_of(pool.windows[1 + d]);
      }
    });
  }

  void activation(const tn_graph_node& node) {
    const std::string_view op = schema(node);
    if (recipe_.kind == Kind::kMix || recipe_.activation != RowActivation::kNone)
      cannot("it stands alone");
    if (node.nargs == 0 || node.inputs[0] != before_) cannot("it reads something else");
    if (op == TN_SCHEMA_RELU)
      recipe_.activation = RowActivation::kRelu;
    else if (op == TN_SCHEMA_SILU)
      recipe_.activation = RowActivation::kSilu;
    else
      cannot("it is not among what goes over a norm");
  }

  static constexpr uint32_t kNone = UINT32_MAX;
  ImageRowsRecipe recipe_;
  uint32_t before_ = kNone;  // the node that the next one goes over
};

}  // namespace

bool is_of_image_rows(std::string_view op) {
  return op == TN_SCHEMA_BATCH_NORM || op == TN_SCHEMA_GROUP_NORM || op == TN_SCHEMA_AVG_POOL ||
         op == TN_SCHEMA_ADAPTIVE_AVG_POOL || op == TN_SCHEMA_INTERPOLATE;
}

std::optional<ImageRowsRecipe> read_image_rows(const tn_graph_expression& expression,
                                               const KnownKernels& kernels) {
  return Reader(expression, kernels).read();
}

}  // namespace tenon::cpu
