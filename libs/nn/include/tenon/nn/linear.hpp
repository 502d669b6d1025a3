// Linear layers, embeddings, and layers that only change a shape.
#ifndef TENON_NN_LINEAR_HPP
#define TENON_NN_LINEAR_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/init.hpp"
#include "tenon/nn/module_of.hpp"

namespace tenon::nn {

namespace functional {
// x·Wᵀ + b over the last dimension.
inline Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}) {
  return tenon::linear(x, weight, bias);
}
// x₁·W·x₂ + b, weight (out, in₁, in₂).
inline Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight,
                       const Tensor& bias = {}) {
  const Tensor y = einsum("...i,oij,...j->...o", {x1, weight, x2});
  return bias.defined() ? y + bias : y;
}
// The rows of weight that index names. Row `padding_idx` gets no gradient.
inline Tensor embedding(const Tensor& index, const Tensor& weight,
                        std::optional<int64_t> padding_idx = {}) {
  return tenon::embedding(weight, index, padding_idx);
}
// 1 at the place of each label, 0 elsewhere: (…, classes); as many classes as the labels need where it is -1.
inline Tensor one_hot(const Tensor& labels, int64_t num_classes = -1) {
  if (num_classes == -1 && labels.numel() == 0)
    nn::detail::refuse("one_hot", "without labels num_classes must be given");
  return tenon::one_hot(labels, num_classes == -1 ? labels.max().item<int64_t>() + 1 : num_classes);
}
}  // namespace functional

// y = x·Wᵀ + b over the last dimension.
class Linear : public Module {
 public:
  Linear(int64_t in_features, int64_t out_features, bool with_bias = true) {
    detail::check_least("Linear", "in_features", in_features);
    detail::check_least("Linear", "out_features", out_features);
    const auto fan_in = static_cast<double>(in_features);
    weight =
        add_parameter("weight", init::detail::layer_default({out_features, in_features}, fan_in));
    bias = add_parameter(
        "bias", with_bias ? init::detail::layer_default({out_features}, fan_in) : Tensor());
  }
  Tensor forward(const Tensor& x) override { return linear(x, weight, bias); }
  std::string describe() const override {
    return "Linear(" + std::to_string(weight->shape(1)) + ", " + std::to_string(weight->shape(0)) +
           (bias.defined() ? ")" : ", no bias)");
  }

  Parameter weight, bias;
};

// y = x₁·W·x₂ + b, with one matrix (in1_features, in2_features) for each output.
class Bilinear : public ModuleOf<Tensor(const Tensor&, const Tensor&)> {
 public:
  Bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features,
           bool with_bias = true) {
    detail::check_least("Bilinear", "in1_features", in1_features, 1);
    detail::check_least("Bilinear", "in2_features", in2_features);
    detail::check_least("Bilinear", "out_features", out_features);
    const auto fan_in = static_cast<double>(in1_features);
    weight = add_parameter(
        "weight", init::detail::layer_default({out_features, in1_features, in2_features}, fan_in));
    bias = add_parameter(
        "bias", with_bias ? init::detail::layer_default({out_features}, fan_in) : Tensor());
  }
  Tensor forward(const Tensor& input1, const Tensor& input2) override {
    return functional::bilinear(input1, input2, weight, bias);
  }
  std::string describe() const override { return "Bilinear"; }

  Parameter weight, bias;
};

namespace detail {
// The index of the padding row, counted from the front.
inline std::optional<int64_t> check_table(const char* name, int64_t rows, int64_t width,
                                          std::optional<int64_t> row) {
  check_least(name, "num_embeddings", rows);
  check_least(name, "embedding_dim", width);
  if (row && (*row < -rows || *row >= rows))
    refuse(name, "padding_idx " + std::to_string(*row) + " is outside the " + std::to_string(rows) +
                     " rows");
  return row && *row < 0 ? *row + rows : row;
}
inline Tensor table_of(int64_t rows, int64_t width, std::optional<int64_t> padding_idx) {
  Tensor table = normal({rows, width});
  if (padding_idx) table[*padding_idx] = 0;
  return table;
}
}  // namespace detail

// Looks up rows of a table. Row `padding_idx` gets no gradient.
class Embedding : public Module {
 public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding_idx = {})
      : padding_idx_(detail::check_table("Embedding", num_embeddings, embedding_dim, padding_idx)) {
    weight = add_parameter("weight", detail::table_of(num_embeddings, embedding_dim, padding_idx_));
  }
  Tensor forward(const Tensor& index) override { return embedding(weight, index, padding_idx_); }
  std::string describe() const override {
    return "Embedding(" + std::to_string(weight->shape(0)) + ", " +
           std::to_string(weight->shape(1)) + ')';
  }

  Parameter weight;

 private:
  std::optional<int64_t> padding_idx_;
};

class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) override { return x; }
  std::string describe() const override { return "Identity"; }
};

// Joins dimensions start_dim to end_dim into one.
class Flatten : public Module {
 public:
  explicit Flatten(int64_t start_dim = 1, int64_t end_dim = -1)
      : start_(start_dim), end_(end_dim) {}
  Tensor forward(const Tensor& x) override { return x.flatten(start_, end_); }
  std::string describe() const override { return "Flatten"; }

 private:
  int64_t start_, end_;
};

// Splits dimension `dim` into `unflattened_size`.
class Unflatten : public Module {
 public:
  Unflatten(int64_t dim, std::vector<int64_t> unflattened_size)
      : dim_(dim), shape_(std::move(unflattened_size)) {}
  Tensor forward(const Tensor& x) override {
    std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
    const int64_t dim = dim_ < 0 ? dim_ + x.ndim() : dim_;
    x.shape(dim);  // also checks dim
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, shape_.begin(), shape_.end());
    return x.reshape(shape);
  }
  std::string describe() const override { return "Unflatten"; }

 private:
  int64_t dim_;
  std::vector<int64_t> shape_;
};

}  // namespace tenon::nn
#endif
