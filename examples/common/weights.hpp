// The tensors of a file by name.
#pragma once

#include <string>
#include <utility>

#include "tenon/io.hpp"

class Weights {
 public:
  Weights(tenon::io::TensorMap tensors, std::string path)
      : tensors_(std::move(tensors)), path_(std::move(path)) {}
  const tenon::Tensor& operator[](const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      throw tenon::Error(TN_DATA_LOSS, path_ + ": no tensor is called \"" + name + '"');
    return found->second;
  }

 private:
  tenon::io::TensorMap tensors_;
  std::string path_;
};
