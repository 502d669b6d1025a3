// Sums, means and maxima over bags of rows from a table.
#ifndef TENON_NN_EMBEDDING_BAG_HPP
#define TENON_NN_EMBEDDING_BAG_HPP

#include "tenon/nn/linear.hpp"

namespace tenon::nn {

struct EmbeddingBagOptions {
  std::string mode = "mean";  // "sum", "mean" or "max"
  bool include_last_offset = false;
  std::optional<int64_t> padding_idx = {};  // this row does not count
};

// Each bag is a row of input (bags, n), or a part of a one-dimensional input that is divided at offsets. per_sample_weights, for mode
// "sum", has the shape of input.
class EmbeddingBag : public ModuleOf<Tensor(const Tensor&, const Tensor&, const Tensor&)> {
 public:
  EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim,
               const EmbeddingBagOptions& options = {})
      : options_(options) {
    options_.padding_idx =
        detail::check_table("EmbeddingBag", num_embeddings, embedding_dim, options.padding_idx);
    detail::check_one_of("EmbeddingBag", "mode", options.mode, {"sum", "mean", "max"});
    weight = add_parameter("weight",
                           detail::table_of(num_embeddings, embedding_dim, options_.padding_idx));
  }
  Tensor forward(const Tensor& input, const Tensor& offsets = {},
                 const Tensor& per_sample_weights = {}) override {
    check(input, offsets, per_sample_weights);
    const bool cut = input.ndim() == 1;
    Tensor places, there = ones(input.shape(), DType::Bool, input.device());
    if (cut) std::tie(places, there) = bags_of(input, offsets);
    // Bags of different sizes are padded to the largest.
    const auto gathered = [&](const Tensor& x) { return cut ? take(x, places) : x; };
    const Tensor index = gathered(input);
    if (options_.padding_idx) there = logical_and(there, index != *options_.padding_idx);
    const Tensor kept = there.unsqueeze(-1), rows = embedding(weight, index, options_.padding_idx);
    const double none = options_.mode == "max" ? -std::numeric_limits<double>::infinity() : 0;
    if (options_.mode == "max") return where(kept.any(1), rows.masked_fill(~kept, none).max(1), 0);
    const Tensor weighted =
        per_sample_weights.defined() ? rows * gathered(per_sample_weights).unsqueeze(-1) : rows;
    const Tensor sum = weighted.masked_fill(~kept, none).sum(1);
    return options_.mode == "sum" ? sum : sum / kept.to(sum.dtype()).sum(1).clamp(1);
  }
  std::string describe() const override {
    return "EmbeddingBag(" + std::to_string(weight->shape(0)) + ", " +
           std::to_string(weight->shape(1)) + ", " + options_.mode + ')';
  }

  Parameter weight;

 private:
  void check(const Tensor& input, const Tensor& offsets, const Tensor& weights) const {
    if (input.ndim() != (offsets.defined() ? 1 : 2) || (offsets.defined() && offsets.ndim() != 1))
      detail::refuse("EmbeddingBag", "input has rank " + std::to_string(input.ndim()) +
                                         ": must be 2, or 1 with a row of offsets");
    if (weights.defined() &&
        (options_.mode != "sum" || !std::ranges::equal(weights.shape(), input.shape())))
      detail::refuse("EmbeddingBag",
                     "per_sample_weights are for mode \"sum\", in the shape of input");
  }
  // (positions in input, whether each is used), both (bags, size of the largest).
  std::pair<Tensor, Tensor> bags_of(const Tensor& input, const Tensor& offsets) const {
    const int64_t count = offsets.shape(0) - (options_.include_last_offset ? 1 : 0);
    if (offsets.numel() > 0 && offsets[0].item<int64_t>() != 0)
      detail::refuse("EmbeddingBag", "the first offset must be 0");
    const Tensor starts = offsets.to(DType::I64).slice(0, 0, count);
    const Tensor ends = options_.include_last_offset
                            ? offsets.to(DType::I64).slice(0, 1)
                            : concat({starts.slice(0, 1), full({count > 0 ? 1 : 0}, input.shape(0),
                                                               DType::I64, input.device())});
    const Tensor sizes = ends - starts;
    const int64_t most = count > 0 ? sizes.max().item<int64_t>() : 0;
    const Tensor at = arange(0, most, 1, DType::I64, input.device()).unsqueeze(0);
    const Tensor there = at < sizes.unsqueeze(1);
    return {where(there, starts.unsqueeze(1) + at, 0), there};
  }
  EmbeddingBagOptions options_;
};

}  // namespace tenon::nn
#endif
