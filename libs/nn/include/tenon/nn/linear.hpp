// Layers of matrices and tables, and those that only change a shape.
#ifndef TENON_NN_LINEAR_HPP
#define TENON_NN_LINEAR_HPP

#include "tenon/nn/detail/check.hpp"
#include "tenon/nn/init.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

// y = x·Wᵀ + b over the last dimension.
class Linear : public Module {
 public:
  Linear(int64_t in_features, int64_t out_features, bool bias = true) {
    detail::check_least("Linear", "in_features", in_features);
    detail::check_least("Linear", "out_features", out_features);
    const auto fan_in = static_cast<double>(in_features);
    weight =
        add_parameter("weight", init::detail::layer_default({out_features, in_features}, fan_in));
    this->bias = add_parameter(
        "bias", bias ? init::detail::layer_default({out_features}, fan_in) : Tensor());
  }
  Tensor forward(const Tensor& x) override { return linear(x, weight, bias); }
  std::string describe() const override {
    return "Linear(" + std::to_string(weight->shape(1)) + ", " + std::to_string(weight->shape(0)) +
           (bias.defined() ? ")" : ", no bias)");
  }

  Parameter weight, bias;
};

// Rows of a table by index; gradients of row `padding_idx` stay zero.
class Embedding : public Module {
 public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding_idx = {})
      : padding_idx_(checked(num_embeddings, embedding_dim, padding_idx)) {
    Tensor table = normal({num_embeddings, embedding_dim});
    if (padding_idx_) table[*padding_idx_] = 0;
    weight = add_parameter("weight", table);
  }
  Tensor forward(const Tensor& index) override { return embedding(weight, index, padding_idx_); }
  std::string describe() const override {
    return "Embedding(" + std::to_string(weight->shape(0)) + ", " +
           std::to_string(weight->shape(1)) + ')';
  }

  Parameter weight;

 private:
  static std::optional<int64_t> checked(int64_t rows, int64_t width, std::optional<int64_t> row) {
    detail::check_least("Embedding", "num_embeddings", rows);
    detail::check_least("Embedding", "embedding_dim", width);
    if (row && (*row < -rows || *row >= rows))
      detail::refuse("Embedding", "padding_idx " + std::to_string(*row) + " is outside the " +
                                      std::to_string(rows) + " rows");
    return row && *row < 0 ? *row + rows : row;
  }
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
    x.shape(dim);  // checks it
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, shape_.begin(), shape_.end());
    return x.reshape(shape);
  }
  std::string describe() const override { return "Unflatten"; }

 private:
  int64_t dim_;
  std::vector<int64_t> shape_;
};

// Zeroes elements at random while training, and scales the others up by 1/(1-p).
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5) : p_(detail::check_part("Dropout", "p", p)) {}
  Tensor forward(const Tensor& x) override {
    return training() && p_ > 0 ? dropout(x, p_, true) : x;
  }
  std::string describe() const override { return "Dropout(" + detail::text_of(p_) + ')'; }

 private:
  double p_;
};

}  // namespace tenon::nn
#endif
