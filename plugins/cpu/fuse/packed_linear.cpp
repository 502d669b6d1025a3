#include "fuse/packed_linear.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "dispatch.hpp"
#include "fuse/anchor_reader.hpp"
#include "ops/matmul_activation.hpp"
#include "ops/matmul_gemm.hpp"
#include "ops/workspace.hpp"
#include "tenon/schemas.h"

namespace tenon::cpu {
namespace {

// Fewer rows wait for the weight, however it lies; small products do not pay for a copy of it.
constexpr int64_t kLeastRows = 5;
// To lay the weight out in each call costs so many rows 1 to 5 % of their time if it is large, and a copy would take as much memory.
constexpr int64_t kManyRows = 128, kLargeWeight = 640 * 1024;
// That is nothing to so many, whatever the weight.
constexpr int64_t kMostRows = 512;
constexpr double kLeastWork = 500'000;

class Reader : AnchorReader {
 public:
  using AnchorReader::AnchorReader;

  std::optional<PackedLinearRecipe> read() {
    for (uint32_t i = 0; i < expression_.nnodes; ++i) {
      const tn_graph_node& node = expression_.nodes[i];
      if (node.kind == TN_GRAPH_ANCHOR) {
        if (schema(node) != TN_SCHEMA_LINEAR || node.dtype != TN_DTYPE_F32) return std::nullopt;
        anchor(node);
      } else if (node.kind == TN_GRAPH_OP) {
        step(node);
      } else {
        continue;
      }
      before_ = i;
    }
    return std::move(recipe_);
  }

 private:
  static constexpr uint32_t kNothing = UINT32_MAX;

  // An operand whose elements lie side by side.
  uint32_t dense(const std::optional<uint32_t>& found) const {
    if (!found || (expression_.views[*found]->flags & TN_VIEW_CONTIGUOUS) == 0)
      cannot("what it reads is not dense");
    return *found;
  }

  void anchor(const tn_graph_node& node) {
    using arg = arg::linear;
    if (before_ != kNothing) cannot("what it reads is a copy");
    recipe_.x = dense(operand(node, arg::x));
    recipe_.weight = constant(node, arg::weight);
    recipe_.bias = constant(node, arg::bias);
    dense(0);  // the result
    const tn_view& weight = *expression_.views[recipe_.weight];
    recipe_.n = weight.shape[0];
    recipe_.k = weight.shape[1];
    recipe_.m = sdk::numel(*expression_.views[0]) / std::max<int64_t>(recipe_.n, 1);
    const double work = static_cast<double>(recipe_.m) * static_cast<double>(recipe_.n) *
                        static_cast<double>(recipe_.k);
    if (recipe_.m < kLeastRows || recipe_.n < panel_columns() || work < kLeastWork)
      cannot("it is too small");
    const tn_value& activation = node.args[arg::activation];
    add(activation_of({activation.as.str, activation.count}));
  }

  void add(Activation activation) {
    if (activation != kNone) recipe_.steps.push_back({activation, 0});
  }

  void step(const tn_graph_node& node) {
    const std::string_view op = schema(node);
    if (std::count(node.inputs, node.inputs + node.nargs, before_) != 1)
      cannot("it does not go over what the anchor gives, once");
    if (op == TN_SCHEMA_RELU)
      add(kRelu);
    else if (op == TN_SCHEMA_GELU)
      add(is_tanh(node.args[arg::gelu::approximate]) ? kGeluTanh : kGelu);
    else if (op == TN_SCHEMA_SILU)
      add(kSilu);
    else if (op == TN_SCHEMA_SIGMOID)
      add(kSigmoid);
    else if (op == TN_SCHEMA_TANH)
      add(kTanh);
    else if (op == TN_SCHEMA_ADD)
      sum(node);
    else
      cannot("it is not among what goes over an anchor");
  }

  static bool is_tanh(const tn_value& approximate) {
    return std::string_view(approximate.as.str, approximate.count) == "tanh";
  }

  void sum(const tn_graph_node& node) {
    const uint32_t other = dense(operand(node, node.inputs[0] == before_ ? 1 : 0));
    const tn_view &y = *expression_.views[0], &z = *expression_.views[other];
    if (z.dtype != TN_DTYPE_F32 || z.ndim != y.ndim ||
        !std::equal(z.shape, z.shape + z.ndim, y.shape))
      cannot("what it adds has another shape");
    recipe_.steps.push_back({kNone, other});
  }

  PackedLinearRecipe recipe_;
  uint32_t before_ = kNothing;  // the node that the next one goes over
};

// Weights as they were laid out. Programs share them: a function compiled for some shapes has a program for each.
class Panels {
 public:
  std::shared_ptr<const float> of(const Gemm<float>& g) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<const float>& known = all_[{g.b, g.n, g.k}];
    std::shared_ptr<const float> found = known.lock();
    if (found != nullptr && holds(found.get(), g)) return found;
    known = found = laid_out(g);
    std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
    return found;
  }

 private:
  template <class Body>
  static void each_panel(const Gemm<float>& g, Body&& body) {
    const int64_t unit = panel_columns(), count = (g.n + unit - 1) / unit;
    parallel_for(count, std::max<int64_t>(1, kGrainCopy / (unit * g.k)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     body(i * unit, std::min(g.n, (i + 1) * unit));
                 });
  }

  static std::shared_ptr<const float> laid_out(const Gemm<float>& g) {
    constexpr std::align_val_t kLine{64};
    const auto bytes = sizeof(float) * static_cast<size_t>(panels_size(g.n, g.k));
    const std::shared_ptr<float> made(static_cast<float*>(::operator new(bytes, kLine)),
                                      [](float* memory) { ::operator delete(memory, kLine); });
    each_panel(g, [&](int64_t j0, int64_t j1) { lay_out(g, j0, j1, made.get()); });
    return made;
  }

  // Whether the weight is still what was laid out.
  static bool holds(const float* panels, const Gemm<float>& g) {
    std::atomic<bool> same{true};
    each_panel(g, [&](int64_t j0, int64_t j1) {
      Gemm<float> one = g;
      one.b += j0 * g.b_col;
      one.n = j1 - j0;
      const int64_t size = panels_size(one.n, g.k);
      auto* const now = workspace<float>(Workspace::Weights, size);
      lay_out(one, 0, one.n, now);
      if (std::memcmp(now, panels + j0 * g.k, static_cast<size_t>(size) * sizeof(float)) != 0)
        same = false;
    });
    return same;
  }

  std::mutex mutex_;
  std::map<std::tuple<const float*, int64_t, int64_t>, std::weak_ptr<const float>> all_;
};
Panels g_panels;

class PackedLinear : public AnchoredKernel {
 public:
  explicit PackedLinear(PackedLinearRecipe recipe) : recipe_(std::move(recipe)) {}

  void pack(const tn_view* const* views) override {
    if (!keeps_copy()) return;
    panels_ = g_panels.of(product(data_of<const float>(*views[recipe_.weight])));
  }

  // Arguments are the operands behind the output.
  void run(const tn_call& call) const override {
    const auto given = [&](uint32_t operand) {
      return operand == 0 ? nullptr : data_of<const float>(*call.args[operand - 1].as.view);
    };
    Gemm<float> g = product(panels_ == nullptr ? given(recipe_.weight) : nullptr);
    g.a = given(recipe_.x);
    g.c = data_of<float>(output(call));
    g.column_bias = given(recipe_.bias);
    g.panels = panels_.get();
    over_blocks(g, [&](const GemmBlock& block) {
      for (int64_t i = block.i0; i < block.i1; i += kRowBlock) {
        const GemmBlock rows{i, std::min(i + kRowBlock, block.i1), block.j0, block.j1};
        gemm(g, rows);
        for (const PackedLinearRecipe::Step& step : recipe_.steps)
          take(step, given(step.operand), rows, g.c);
      }
    });
  }

 private:
  bool keeps_copy() const {
    return recipe_.m < kManyRows || (recipe_.m < kMostRows && recipe_.n * recipe_.k < kLargeWeight);
  }
  Gemm<float> product(const float* weight) const {
    return {recipe_.m, recipe_.n, recipe_.k, nullptr, recipe_.k, 1,
            weight,    1,         recipe_.k, nullptr, recipe_.n};
  }

  // One step over what the product just wrote.
  void take(const PackedLinearRecipe::Step& step, const float* other, const GemmBlock& rows,
            float* c) const {
    const int64_t columns = rows.j1 - rows.j0;
    for (int64_t i = rows.i0; i < rows.i1; ++i) {
      const int64_t first = i * recipe_.n + rows.j0;
      if (other == nullptr)
        activate(step.activation, c + first, columns);
      else
        for (int64_t j = first; j < first + columns; ++j) c[j] += other[j];
    }
  }

  PackedLinearRecipe recipe_;
  std::shared_ptr<const float> panels_;
};

}  // namespace

std::optional<PackedLinearRecipe> read_packed_linear(const tn_graph_expression& expression,
                                                     const KnownKernels& kernels) {
  return Reader(expression, kernels).read();
}

std::unique_ptr<AnchoredKernel> make_packed_linear(PackedLinearRecipe recipe) {
  return std::make_unique<PackedLinear>(std::move(recipe));
}

}  // namespace tenon::cpu
