// The Fashion-MNIST images: 28×28 grey, ten kinds of clothing.
#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "tenon/data.hpp"

namespace fashion {

inline constexpr std::array<const char*, 10> names = {
    "T-shirt/top", "trouser", "pullover", "dress", "coat",
    "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot"};

struct Images {
  tenon::Tensor pixels;  // u8 (N, 28, 28)
  tenon::Tensor labels;  // i64 (N)
};

// part: "train" or "t10k"
inline Images load(const std::string& directory, const std::string& part) {
  const std::string first = directory + '/' + part + "-images-idx3-ubyte.gz";
  if (!std::filesystem::exists(first))
    throw tenon::Error(
        TN_NOT_FOUND,
        first +
            " is not there: install Debian's dataset-fashion-mnist, or name a folder with --data");
  Images images{tenon::data::read_idx(first),
                tenon::data::read_idx(directory + '/' + part + "-labels-idx1-ubyte.gz")};
  if (images.pixels.ndim() != 3 || images.labels.ndim() != 1 ||
      images.pixels.shape(0) != images.labels.shape(0))
    throw tenon::Error(TN_DATA_LOSS, directory + ": images and labels do not match");
  images.labels = images.labels.to(tenon::DType::I64);
  return images;
}

// Pixels as floats of mean 0 and deviation 1, with a channel: (N, 1, 28, 28).
inline tenon::Tensor normalise(const tenon::Tensor& pixels) {
  return (pixels.to(tenon::DType::F32) - 255 * 0.2860) / (255 * 0.3530);
}

}  // namespace fashion
