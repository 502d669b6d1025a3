// An array whose size is set once; a few values need no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

namespace tenon::core {

template <class T, uint32_t kInside>
class Few {
 public:
  Few() = default;
  explicit Few(uint32_t n) { make(n); }
  ~Few() {
    if constexpr (!std::is_trivially_destructible_v<T>) std::destroy_n(data_, n_);
    if (data_ != inside()) ::operator delete(data_);
  }
  Few(const Few&) = delete;
  Few& operator=(const Few&) = delete;

  // Call it once. Pointers and numbers start as 0, other types as their default constructors say.
  void make(uint32_t n) {
    if (n > kInside) [[unlikely]]
      data_ = static_cast<T*>(::operator new(n* kSize));
    if constexpr (std::is_scalar_v<T>)
      std::uninitialized_value_construct_n(data_, n);
    else
      std::uninitialized_default_construct_n(data_, n);
    n_ = n;
  }
  uint32_t size() const { return n_; }
  T* data() { return data_; }
  T& operator[](uint32_t i) { return data_[i]; }
  const T& operator[](uint32_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + n_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + n_; }

 private:
  static constexpr size_t kSize =
      sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
  T* inside() { return reinterpret_cast<T*>(room_); }

  alignas(T) unsigned char room_[kInside * kSize];
  T* data_ = inside();
  uint32_t n_ = 0;
};

}  // namespace tenon::core
