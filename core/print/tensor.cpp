// Tensors as NumPy prints them: precision 8, lines of 75, three edge items of each dimension
// beyond 1000 elements.
#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "boundary.hpp"
#include "print/number.hpp"
#include "tenon/dtype.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

constexpr int64_t kThreshold = 1000;
constexpr int64_t kEdgeItems = 3;
constexpr size_t kLineWidth = 75;

// An array in host memory.
struct HostArray {
  const char* data;
  tn_dtype dtype;
  std::span<const int64_t> shape, strides;

  template <class T>
  T read(int64_t offset) const {
    T value;
    std::memcpy(&value, data + offset * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }
  Real real(int64_t offset, bool imaginary = false) const {
    return visit(static_cast<DType>(dtype), [&]<class T>(T) -> Real {
      if constexpr (requires { typename T::value_type; }) {
        using Part = typename T::value_type;
        return {read<Part>(2 * offset + imaginary), static_cast<tn_dtype>(dtype_of<Part>)};
      } else {  // NumPy has no 8-bit floats: digits are those of their value in f32
        return {static_cast<double>(read<T>(offset)), is_float8(dtype) ? TN_DTYPE_F32 : dtype};
      }
    });
  }
  std::string integer(int64_t offset) const {
    return visit(static_cast<DType>(dtype), [&]<class T>(T) -> std::string {
      if constexpr (std::is_integral_v<T>)
        return std::to_string(read<T>(offset));
      else
        return {};
    });
  }
};

// How the elements of one array are written.
class ElementFormat {
 public:
  ElementFormat(const HostArray& array, const std::vector<int64_t>& offsets) : array_(array) {
    if (core::is_integral(array.dtype)) {
      for (int64_t offset : offsets) width_ = std::max(width_, array.integer(offset).size());
    } else if (array.dtype != TN_DTYPE_BOOL) {
      real_ = std::make_unique<RealFormat>(collect(offsets, false), false);
      if (core::is_complex(array.dtype))
        imag_ = std::make_unique<RealFormat>(collect(offsets, true), true);
    }
  }

  std::string operator()(int64_t offset) const {
    if (array_.dtype == TN_DTYPE_BOOL) return array_.read<uint8_t>(offset) != 0 ? " True" : "False";
    if (real_ == nullptr) {
      const std::string text = array_.integer(offset);
      return std::string(width_ - std::min(width_, text.size()), ' ') + text;
    }
    std::string text = (*real_)(array_.real(offset));
    if (imag_ == nullptr) return text;
    std::string imag = (*imag_)(array_.real(offset, true));
    imag.insert(imag.find_last_not_of(' ') + 1, 1, 'j');
    return text + imag;
  }

 private:
  std::vector<Real> collect(const std::vector<int64_t>& offsets, bool imaginary) const {
    std::vector<Real> numbers;
    numbers.reserve(offsets.size());
    for (int64_t offset : offsets) numbers.push_back(array_.real(offset, imaginary));
    return numbers;
  }
  const HostArray& array_;
  std::unique_ptr<RealFormat> real_, imag_;
  size_t width_ = 0;
};

// Which positions of a dimension are shown; -1 stands for the dots.
std::vector<int64_t> shown(int64_t size, bool summarise) {
  std::vector<int64_t> positions;
  const bool dots = summarise && 2 * kEdgeItems < size;
  for (int64_t i = 0; i < (dots ? kEdgeItems : size); ++i) positions.push_back(i);
  if (!dots) return positions;
  positions.push_back(-1);
  for (int64_t i = size - kEdgeItems; i < size; ++i) positions.push_back(i);
  return positions;
}

class Printer {
 public:
  Printer(const HostArray& array, bool summarise)
      : array_(array), summarise_(summarise), offsets_(collect()), format_(array, offsets_) {}
  std::string print() const { return nested(0, 0, " ", kLineWidth); }

 private:
  std::vector<int64_t> collect() const {
    std::vector<int64_t> offsets{0};
    for (size_t d = 0; d < array_.shape.size(); ++d) {
      std::vector<int64_t> next;
      for (int64_t offset : offsets)
        for (int64_t i : shown(array_.shape[d], summarise_))
          if (i >= 0) next.push_back(offset + i * array_.strides[d]);
      offsets = std::move(next);
    }
    return offsets;
  }

  std::string nested(size_t dim, int64_t offset, const std::string& indent, size_t width) const {
    const size_t left = array_.shape.size() - dim;
    const std::string body =
        left == 1 ? row(dim, offset, indent, width - 1) : rows(dim, offset, indent, width);
    return '[' + body.substr(indent.size()) + ']';
  }

  std::string row(size_t dim, int64_t offset, const std::string& indent, size_t width) const {
    std::string done, line = indent;
    const auto positions = shown(array_.shape[dim], summarise_);
    for (size_t k = 0; k < positions.size(); ++k) {
      const std::string word =
          positions[k] < 0 ? "..." : format_(offset + positions[k] * array_.strides[dim]);
      // An empty line is not broken, because that would not help.
      if (line.size() + word.size() > width && line.size() > indent.size()) {
        line.erase(line.find_last_not_of(' ') + 1);
        done += line + '\n';
        line = indent;
      }
      line += word;
      if (k + 1 < positions.size()) line += ' ';
    }
    return done + line;
  }

  std::string rows(size_t dim, int64_t offset, const std::string& indent, size_t width) const {
    std::string out;
    const auto positions = shown(array_.shape[dim], summarise_);
    const std::string separator(array_.shape.size() - dim - 1, '\n');
    for (size_t k = 0; k < positions.size(); ++k) {
      out += indent;
      out += positions[k] < 0 ? "..."
                              : nested(dim + 1, offset + positions[k] * array_.strides[dim],
                                       indent + ' ', width - 1);
      if (k + 1 < positions.size()) out += separator;
    }
    return out;
  }

  const HostArray& array_;
  bool summarise_;
  std::vector<int64_t> offsets_;
  ElementFormat format_;
};

std::string print_one(const HostArray& array) {
  if (array.dtype == TN_DTYPE_BOOL) return array.read<uint8_t>(0) != 0 ? "True" : "False";
  if (core::is_complex(array.dtype)) return format_alone(array.real(0), array.real(0, true));
  return core::is_integral(array.dtype) ? array.integer(0) : format_alone(array.real(0));
}

std::string print(const tn_tensor& tensor) {
  if (tensor.numel == 0) return "[]";
  HostArray array{static_cast<const char*>(tensor.view.data),
                  tensor.dtype(),
                  tensor.sizes(),
                  {tensor.strides(), tensor.ndim()}};
  std::vector<char> copy;
  Dims row_major;
  if (tensor.device->addressable) {
    check(tn_device_synchronize(tensor.device));
  } else {
    copy.resize(static_cast<size_t>(tensor.numel) * dtype_size(tensor.dtype()));
    check(tn_tensor_to_host(&tensor, copy.data(), copy.size()));
    row_major = contiguous_strides(tensor.sizes());
    array.data = copy.data();
    array.strides = row_major;
  }
  return tensor.ndim() == 0 ? print_one(array) : Printer(array, tensor.numel > kThreshold).print();
}

}  // namespace
}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_tensor_print(const tn_tensor* tensor, tn_write_fn write, void* ctx) {
  TN_REQUIRE(tensor, write);
  return guarded([&] { write(ctx, to_str(print(*tensor))); });
}
