// Layers of matrices and tables, and those that only change a shape.
#ifndef TENON_NN_LINEAR_HPP
#define TENON_NN_LINEAR_HPP

#include "tenon/nn/init.hpp"
#include "tenon/nn/module.hpp"

namespace tenon::nn {

// y = x·Wᵀ + b over the last dimension.
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, bool with_bias = true)
      : weight(add_parameter("weight",
                             init::detail::layer_default({out, in}, static_cast<double>(in)))),
        bias(add_parameter("bias", with_bias
                                       ? init::detail::layer_default({out}, static_cast<double>(in))
                                       : Tensor())) {}
  Tensor forward(const Tensor& x) override { return linear(x, weight, bias); }
  std::string describe() const override {
    return "Linear(" + std::to_string(weight->shape(1)) + ", " + std::to_string(weight->shape(0)) +
           (bias.defined() ? ")" : ", no bias)");
  }

  Parameter weight, bias;
};

// Rows of a table by index; gradients of `padding_index` stay zero.
class Embedding : public Module {
 public:
  Embedding(int64_t rows, int64_t width, std::optional<int64_t> padding_index = {})
      : weight(add_parameter("weight", first_values(rows, width, padding_index))),
        padding_index_(padding_index) {}
  Tensor forward(const Tensor& index) override { return embedding(weight, index, padding_index_); }
  std::string describe() const override {
    return "Embedding(" + std::to_string(weight->shape(0)) + ", " +
           std::to_string(weight->shape(1)) + ')';
  }

  Parameter weight;

 private:
  static Tensor first_values(int64_t rows, int64_t width, std::optional<int64_t> padding_index) {
    Tensor table = normal({rows, width});
    if (padding_index) table[*padding_index] = 0;
    return table;
  }
  std::optional<int64_t> padding_index_;
};

class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) override { return x; }
  std::string describe() const override { return "Identity"; }
};

// Joins dimensions start to end into one.
class Flatten : public Module {
 public:
  explicit Flatten(int64_t start = 1, int64_t end = -1) : start_(start), end_(end) {}
  Tensor forward(const Tensor& x) override { return x.flatten(start_, end_); }
  std::string describe() const override { return "Flatten"; }

 private:
  int64_t start_, end_;
};

// Splits dimension `dim` into `shape`.
class Unflatten : public Module {
 public:
  Unflatten(int64_t dim, std::vector<int64_t> shape) : dim_(dim), shape_(std::move(shape)) {}
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
  explicit Dropout(double p = 0.5) : p_(p) {
    if (!(p >= 0 && p <= 1))
      throw Error(TN_INVALID_ARGUMENT, "[Dropout] p is " + std::to_string(p) + ", must be 0 to 1");
  }
  Tensor forward(const Tensor& x) override {
    return training() && p_ > 0 ? dropout(x, p_, true) : x;
  }
  std::string describe() const override { return "Dropout(" + std::to_string(p_) + ')'; }

 private:
  double p_;
};

}  // namespace tenon::nn
#endif
