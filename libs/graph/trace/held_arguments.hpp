// Arguments of a call that outlive it.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <span>

#include "tenon/tensor.hpp"

namespace tenon::graph {

class HeldArguments {
 public:
  explicit HeldArguments(std::span<const tn_value> args) : values_(args.begin(), args.end()) {
    for (tn_value& value : values_) hold(value);
  }
  HeldArguments(const HeldArguments&) = delete;

  std::span<const tn_value> values() const { return values_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  template <class T>
  void copy(tn_value& value, const T* from, size_t count) {
    const auto bytes = std::as_bytes(std::span(from, count));
    auto& kept = bytes_.emplace_back(bytes.size() / sizeof(std::max_align_t) + 1);
    std::memcpy(kept.data(), bytes.data(), bytes.size());
    value.as.pointer = kept.data();
  }
  void hold(tn_value& value) {
    switch (value.tag) {
      case TN_VALUE_TENSOR:
        if (value.as.tensor != nullptr) tensors_.push_back(Tensor::share(value.as.tensor));
        break;
      case TN_VALUE_TENSORS:
        for (uint32_t k = 0; k < value.count; ++k)
          if (value.as.tensors[k] != nullptr)
            tensors_.push_back(Tensor::share(value.as.tensors[k]));
        return copy(value, value.as.tensors, value.count);
      case TN_VALUE_INTS:
        return copy(value, value.as.ints, value.count);
      case TN_VALUE_FLOATS:
      case TN_VALUE_COMPLEX:
        return copy(value, value.as.floats, value.count);
      case TN_VALUE_STR:
        return copy(value, value.as.str, value.count);
      default:
        break;
    }
  }

  std::vector<tn_value> values_;
  std::vector<Tensor> tensors_;
  std::deque<std::vector<std::max_align_t>> bytes_;
};

}  // namespace tenon::graph
