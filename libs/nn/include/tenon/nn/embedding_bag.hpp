// Sums, means and maxima over bags of rows from a table.
#ifndef TENON_NN_EMBEDDING_BAG_HPP
#define TENON_NN_EMBEDDING_BAG_HPP

#include "tenon/nn/linear.hpp"

namespace tenon::nn {

namespace functional {
struct EmbeddingBagFuncOptions {
  Tensor offsets = {};             // where each bag begins in an index of rank 1
  std::string mode = "mean";       // "sum", "mean" or "max"
  Tensor per_sample_weights = {};  // for mode "sum", in the shape of the index
  bool include_last_offset = false;
  std::optional<int64_t> padding_idx = {};  // this row does not count
};

// Combines the rows of weight that each bag names: a row of index (bags, n), or a part of index (n) that is divided at offsets.
inline Tensor embedding_bag(const Tensor& index, const Tensor& weight,
                            const EmbeddingBagFuncOptions& o = {}) {
  const char* const where = "embedding_bag";
  const bool cut = o.offsets.defined();
  if (index.ndim() != (cut ? 1 : 2) || (cut && o.offsets.ndim() != 1))
    nn::detail::refuse(where, "index has rank " + std::to_string(index.ndim()) +
                                  ": must be 2, or 1 with a row of offsets");
  if (o.per_sample_weights.defined() &&
      (o.mode != "sum" || !std::ranges::equal(o.per_sample_weights.shape(), index.shape())))
    nn::detail::refuse(where, "per_sample_weights are for mode \"sum\", in the shape of index");
  const auto flat = [](const Tensor& x) { return x.defined() ? x.flatten() : x; };
  Tensor offsets;
  if (!cut)
    offsets = arange(0, index.shape(0), 1, DType::I64, index.device()) * index.shape(1);
  else
    offsets = o.include_last_offset ? o.offsets.slice(0, 0, -1) : o.offsets;
  return tenon::embedding_bag(weight, flat(index), offsets, o.mode, flat(o.per_sample_weights),
                              o.padding_idx);
}
}  // namespace functional

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
    return functional::embedding_bag(input, weight,
                                     {.offsets = offsets,
                                      .mode = options_.mode,
                                      .per_sample_weights = per_sample_weights,
                                      .include_last_offset = options_.include_last_offset,
                                      .padding_idx = options_.padding_idx});
  }
  std::string describe() const override {
    return "EmbeddingBag(" + std::to_string(weight->shape(0)) + ", " +
           std::to_string(weight->shape(1)) + ", " + options_.mode + ')';
  }

  Parameter weight;

 private:
  EmbeddingBagOptions options_;
};

}  // namespace tenon::nn
#endif
