// Sizes or strides by dimension.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <utility>

#include "tenon/value.hpp"

namespace tenon::graph {

// A std::vector<int64_t> with room for a few elements inside the object. A graph has several of these for each operand and is copied for
// each combination of sizes. (Boost 1.74's small_vector warns under g++ 12 and does not convert to std::span.)
class Dims {
 public:
  using value_type = int64_t;
  using iterator = int64_t*;
  using const_iterator = const int64_t*;

  Dims() = default;
  explicit Dims(size_t size, int64_t value = 0) { resize(size, value); }
  Dims(std::initializer_list<int64_t> list) { assign(list.begin(), list.end()); }
  Dims(std::span<const int64_t> list) { assign(list.data(), list.data() + list.size()); }
  template <std::input_iterator It>
  Dims(It first, It last) {
    assign(first, last);
  }
  Dims(const Dims& other) { assign(other.begin(), other.end()); }
  Dims(Dims&& other) noexcept { take(other); }
  ~Dims() {
    if (!is_near()) delete[] far_;
  }
  Dims& operator=(const Dims& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this == &other) return *this;
    if (!is_near()) delete[] far_;
    take(other);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return is_near() ? near_ : far_; }
  const int64_t* data() const { return is_near() ? near_ : far_; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t& operator[](size_t d) { return data()[d]; }
  int64_t operator[](size_t d) const { return data()[d]; }
  int64_t& back() { return data()[size_ - 1]; }
  int64_t back() const { return data()[size_ - 1]; }
  operator IntList() const { return std::span<const int64_t>(data(), size_); }
  bool operator==(const Dims& other) const { return std::ranges::equal(*this, other); }

  template <std::input_iterator It>
  void assign(It first, It last) {
    size_ = 0;
    reserve(static_cast<size_t>(std::ranges::distance(first, last)));
    for (int64_t* to = data(); first != last; ++first, ++size_) *to++ = *first;
  }
  void resize(size_t size, int64_t value = 0) {
    reserve(size);
    if (size > size_) std::fill(end(), data() + size, value);
    size_ = static_cast<uint32_t>(size);
  }
  void push_back(int64_t value) {
    if (size_ == capacity_) reserve(size_t{2} * capacity_);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  void insert(size_t at, int64_t value) { insert(at, std::span(&value, 1)); }
  void insert(size_t at, std::span<const int64_t> values) {
    resize(size_ + values.size());
    std::move_backward(begin() + at, end() - values.size(), end());
    std::ranges::copy(values, begin() + at);
  }

 private:
  static constexpr uint32_t kNear = 6;

  bool is_near() const { return capacity_ == kNear; }
  void reserve(size_t wanted) {
    if (wanted <= capacity_) return;
    auto* const made = new int64_t[wanted];
    std::ranges::copy(*this, made);
    if (!is_near()) delete[] far_;
    far_ = made;
    capacity_ = static_cast<uint32_t>(wanted);
  }
  void take(Dims& other) noexcept {
    size_ = other.size_;
    capacity_ = std::exchange(other.capacity_, kNear);
    if (is_near())
      std::copy_n(other.near_, size_, near_);
    else
      far_ = other.far_;
    other.size_ = 0;
  }

  uint32_t size_ = 0, capacity_ = kNear;
  union {
    int64_t near_[kNear];
    int64_t* far_;
  };
};

}  // namespace tenon::graph
