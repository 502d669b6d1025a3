// Results on their way to a caller; released if an error occurs first.
#pragma once

#include "few.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {

constexpr uint32_t kFewResults = 8;

class Outs {
 public:
  explicit Outs(uint32_t n) : tensors_(n) {}
  ~Outs() {
    for (tn_tensor* tensor : tensors_) release(tensor);
  }
  Outs(const Outs&) = delete;
  uint32_t size() const { return tensors_.size(); }
  tn_tensor** data() { return tensors_.data(); }
  tn_tensor& operator[](uint32_t k) { return *tensors_[k]; }
  Ref take(uint32_t k) { return Ref(std::exchange(tensors_[k], nullptr)); }

 private:
  Few<tn_tensor*, kFewResults> tensors_;
};

}  // namespace tenon::core
