// Datasets: numbered examples, each a list of tensors such as {image, label}.
#ifndef TENON_DATA_DATASET_HPP
#define TENON_DATA_DATASET_HPP

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::data {

using Example = std::vector<Tensor>;

namespace detail {

// Copies rows of a host tensor one by one. An op would start threads, and workers should not.
inline Tensor take_rows(const Tensor& x, std::span<const int64_t> rows) {
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  shape[0] = static_cast<int64_t>(rows.size());
  Tensor out = empty(shape, x.dtype());
  const size_t bytes =
      x.shape(0) == 0 ? 0 : static_cast<size_t>(x.nbytes()) / static_cast<size_t>(x.shape(0));
  const char* from = static_cast<const char*>(tn_tensor_data(x.get()));
  char* to = static_cast<char*>(tn_tensor_data(out.get()));
  for (size_t i = 0; i < rows.size() && bytes > 0; ++i)
    std::memcpy(to + i * bytes, from + static_cast<size_t>(rows[i]) * bytes, bytes);
  return out;
}

[[noreturn]] inline void fail_index(int64_t index, int64_t size) {
  throw Error(TN_OUT_OF_RANGE, "[dataset] there is no example " + std::to_string(index) +
                                   ": the dataset has " + std::to_string(size));
}

// Stacks examples of equal shapes into one tensor for each field.
inline Example collate(const std::vector<Example>& examples) {
  Example batch;
  for (size_t field = 0; field < examples.at(0).size(); ++field) {
    std::vector<Tensor> column;
    for (const Example& example : examples) {
      if (example.size() != examples[0].size())
        throw Error(TN_INVALID_ARGUMENT, "[dataset] examples of " + std::to_string(example.size()) +
                                             " and " + std::to_string(examples[0].size()) +
                                             " fields in one batch");
      column.push_back(example[field]);
    }
    batch.push_back(stack(column));
  }
  return batch;
}

}  // namespace detail

// Derive from this and write size() and get(). Write batch() too if many examples at once are cheaper than one by one. Several threads may
// call these.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual Example get(int64_t index) const = 0;
  virtual Example batch(std::span<const int64_t> indices) const {
    NoGrad guard;
    std::vector<Example> examples;
    for (int64_t index : indices) examples.push_back(get(index));
    return detail::collate(examples);
  }
};

// Rows of tensors with equal first dimensions.
class TensorDataset : public Dataset {
 public:
  explicit TensorDataset(std::vector<Tensor> tensors) {
    if (tensors.empty())
      throw Error(TN_INVALID_ARGUMENT, "[TensorDataset] needs at least one tensor");
    for (const Tensor& x : tensors) {
      if (x.ndim() == 0 || x.shape(0) != tensors[0].shape(0))
        throw Error(TN_INVALID_ARGUMENT,
                    "[TensorDataset] all tensors must have the same first dimension");
      tensors_.push_back(x.detach().cpu().contiguous());
    }
  }
  int64_t size() const override { return tensors_[0].shape(0); }
  Example get(int64_t index) const override {
    if (index < 0 || index >= size()) detail::fail_index(index, size());
    Example example;
    for (const Tensor& x : tensors_) example.push_back(x.select(0, index));
    return example;
  }
  Example batch(std::span<const int64_t> indices) const override {
    for (int64_t index : indices)
      if (index < 0 || index >= size()) detail::fail_index(index, size());
    Example out;
    for (const Tensor& x : tensors_) out.push_back(detail::take_rows(x, indices));
    return out;
  }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

// Some examples of another dataset, which must outlive this.
class Subset : public Dataset {
 public:
  Subset(const Dataset& whole, std::vector<int64_t> indices)
      : whole_(whole), indices_(std::move(indices)) {
    for (int64_t index : indices_)
      if (index < 0 || index >= whole.size()) detail::fail_index(index, whole.size());
  }
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  Example get(int64_t index) const override { return whole_.get(at(index)); }
  Example batch(std::span<const int64_t> indices) const override {
    std::vector<int64_t> inner;
    for (int64_t index : indices) inner.push_back(at(index));
    return whole_.batch(inner);
  }

 private:
  int64_t at(int64_t index) const {
    if (index < 0 || index >= size()) detail::fail_index(index, size());
    return indices_[static_cast<size_t>(index)];
  }
  const Dataset& whole_;
  std::vector<int64_t> indices_;
};

}  // namespace tenon::data
#endif
