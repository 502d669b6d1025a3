// portable.hpp for the host simulator: the same names, but every access through a Ptr is checked.
#pragma once

#include <algorithm>
#include <cstring>
#include <tuple>

#include "block.hpp"
#include "tenon/float_formats.h"

#define GPU_FN inline
#define GPU_DEVICE inline
#define GPU_KERNEL void
#define GPU_SIZED_KERNEL(threads, name, ...) \
  void name(__VA_ARGS__, ::tenon::gpu::sim::Threads<(threads)>)
#define GPU_UNROLL
#define GPU_SHARED(T, name, count)  \
  static const char name##_tag = 0; \
  const ::tenon::gpu::Ptr<T> name = ::tenon::gpu::sim::shared<T>(&name##_tag, count)
#define GPU_DYNAMIC_SHARED(T, name) \
  const ::tenon::gpu::Ptr<T> name = ::tenon::gpu::sim::dynamic_shared<T>()

namespace tenon::gpu {

namespace sim {
// The last parameter of kernels that declare their largest block.
template <uint32_t most>
struct Threads {
  static constexpr uint32_t kMost = most;
};
}  // namespace sim

template <class T>
class Ptr;

template <class T>
class Ref;

// A pointer that knows which elements it may access: those of the view, or of the array in shared memory.
template <class T>
class Ptr {
 public:
  using Value = std::remove_const_t<T>;
  Ptr() = default;
  Ptr(std::nullptr_t) {}
  Ptr(T* first, T* begin, T* end, sim::Cell* cells = nullptr)
      : at_(first), begin_(begin), end_(end), cells_(cells) {}
  // Conversion to const.
  operator Ptr<const T>() const requires(!std::is_const_v<T>) {
    return Ptr<const T>(at_, begin_, end_, cells_);
  }

  // The same memory as elements of another type. Not for shared memory.
  template <class To>
  Ptr<To> as() const {
    const auto begin = reinterpret_cast<uintptr_t>(begin_);
    To* const first = reinterpret_cast<To*>(begin);
    return Ptr<To>(reinterpret_cast<To*>(reinterpret_cast<uintptr_t>(at_)), first,
                   first + (reinterpret_cast<uintptr_t>(end_) - begin) / sizeof(To));
  }

  explicit operator bool() const { return at_ != nullptr; }
  bool operator==(std::nullptr_t) const { return at_ == nullptr; }
  friend Ptr operator+(Ptr p, int64_t by) {
    p.at_ = reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(p.at_) +
                                 static_cast<uintptr_t>(by) * sizeof(T));
    return p;
  }
  Ptr& operator+=(int64_t by) { return *this = *this + by; }
  struct Index {  // records the source position of the access
    int64_t value;
    sim::Site site;
    template <class I>
    Index(I i, const sim::Site& s = sim::Site::current()) requires(std::is_integral_v<I>)
        : value(static_cast<int64_t>(i)), site(s) {}
  };
  Ref<T> operator[](const Index& i) const;
  Value read(int64_t i, const sim::Site& site) const {
    return *touch(i, 1, sim::Access::kRead, site);
  }
  void write(int64_t i, Value value, const sim::Site& site) const {
    *touch(i, 1, sim::Access::kWrite, site) = value;
  }
  // The element for an atomic operation.
  T& atomic(const sim::Site& site) const { return *touch(0, 1, sim::Access::kAtomic, site); }
  // `count` elements from the first, which is aligned to all of them.
  T* block(uint32_t count, bool write, const sim::Site& site) const {
    if (reinterpret_cast<uintptr_t>(at_) % (count * sizeof(T)) != 0)
      sim::fault(sim::FaultKind::kMisaligned, site,
                 "elements loaded together are not aligned to their size");
    return touch(0, count, write ? sim::Access::kWrite : sim::Access::kRead, site);
  }

 private:
  T* check(int64_t i, uint32_t count, const sim::Site& site) const {
    T* const first = (*this + i).at_;
    if (reinterpret_cast<uintptr_t>(first) % alignof(T) != 0)
      sim::fault(sim::FaultKind::kMisaligned, site, "an element is not aligned to its size");
    if (first < begin_ || first >= end_ || end_ - first < static_cast<int64_t>(count))
      sim::fault(sim::FaultKind::kOutOfBounds, site,
                 "element " + std::to_string(first - begin_) + " of an array of " +
                     std::to_string(end_ - begin_));
    return first;
  }
  // Checks an access to `count` elements from element i on.
  T* touch(int64_t i, uint32_t count, sim::Access access, const sim::Site& site) const {
    T* const first = check(i, count, site);
    const sim::Elements elements{first - begin_, end_ - begin_, count};
    if (cells_ != nullptr)
      sim::check_shared(cells_ + elements.index, elements, access, site);
    else
      sim::check_global(first, sizeof(T), elements, access, site);
    return first;
  }

  T* at_ = nullptr;
  T *begin_ = nullptr, *end_ = nullptr;
  sim::Cell* cells_ = nullptr;
};

template <class To, class From>
Ptr<To> ptr_cast(const Ptr<From>& from) {
  return from.template as<To>();
}

// An element being read or written through a Ptr.
template <class T>
class Ref {
 public:
  using Value = std::remove_const_t<T>;
  Ref(const Ptr<T>& base, int64_t index, const sim::Site& site)
      : base_(base), index_(index), site_(site) {}
  operator Value() const { return base_.read(index_, site_); }
  const Ref& operator=(Value value) const {
    base_.write(index_, value, site_);
    return *this;
  }
  const Ref& operator=(const Ref& other) const { return *this = static_cast<Value>(other); }
  const Ref& operator+=(Value value) const {
    return *this = static_cast<Value>(Value(*this) + value);
  }
  const Ref& operator*=(Value value) const {
    return *this = static_cast<Value>(Value(*this) * value);
  }
  const Ref& operator|=(Value value) const {
    return *this = static_cast<Value>(Value(*this) | value);
  }

 private:
  Ptr<T> base_;
  int64_t index_;
  sim::Site site_;
};

template <class T>
Ref<T> Ptr<T>::operator[](const Index& i) const {
  return Ref<T>(*this, i.value, i.site);
}

namespace sim {

template <class T>
Ptr<T> shared(const void* tag, uint64_t count) {
  const SharedMemory made = shared_memory(tag, count, sizeof(T));
  T* const data = static_cast<T*>(made.data);
  return Ptr<T>(data, data, data + made.count, made.cells);
}
template <class T>
Ptr<T> dynamic_shared() {
  const SharedMemory made = dynamic_shared_memory(sizeof(T));
  T* const data = static_cast<T*>(made.data);
  return Ptr<T>(data, data, data + made.count, made.cells);
}

template <class T>
T exchanged(T value, uint32_t from, const Site& site) {
  static_assert(sizeof(T) <= 16 && std::is_trivially_copyable_v<T>);
  const unsigned char* const all = exchange(&value, sizeof value, site);
  T got;
  std::memcpy(&got, all + uint64_t{16} * from, sizeof got);
  return got;
}

}  // namespace sim

inline Dim thread_index() {
  const Dim size = sim::geometry().block;
  const uint32_t n = sim::thread_number();
  return {n % size.x, n / size.x % size.y, n / size.x / size.y};
}
inline Dim block_index() { return sim::geometry().index; }
inline Dim block_size() { return sim::geometry().block; }
inline Dim block_count() { return sim::geometry().blocks; }
inline uint32_t warp_width() { return sim::warp_lanes(); }
inline void sync_threads(const sim::Site& site = sim::Site::current()) {
  sim::wait_for_block(site);
}
inline void sync_warp(const sim::Site& site = sim::Site::current()) { sim::wait_for_warp(site); }

template <class T>
T shuffle(T value, uint32_t from, const sim::Site& site = sim::Site::current()) {
  return sim::exchanged(value, from % warp_width(), site);
}
template <class T>
T shuffle_xor(T value, uint32_t mask, const sim::Site& site = sim::Site::current()) {
  const uint32_t from = (sim::thread_number() % warp_width()) ^ mask;
  return sim::exchanged(value, from < warp_width() ? from : from ^ mask, site);
}
// Beyond the warp's ends a lane keeps its own value.
template <class T>
T shuffle_down(T value, uint32_t by, const sim::Site& site = sim::Site::current()) {
  const uint32_t me = sim::thread_number() % warp_width();
  return sim::exchanged(value, me + by < warp_width() ? me + by : me, site);
}
template <class T>
T shuffle_up(T value, uint32_t by, const sim::Site& site = sim::Site::current()) {
  const uint32_t me = sim::thread_number() % warp_width();
  return sim::exchanged(value, me >= by ? me - by : me, site);
}
inline uint64_t ballot(bool yes, const sim::Site& site = sim::Site::current()) {
  const unsigned char mine = yes ? 1 : 0;
  const unsigned char* const all = sim::exchange(&mine, 1, site);
  uint64_t lanes = 0;
  for (uint32_t k = 0; k < warp_width(); ++k)
    lanes |= static_cast<uint64_t>(all[uint64_t{16} * k]) << k;
  return lanes;
}

// Each returns the old value. Threads take turns, so nothing comes in between.
template <class T>
T atomic_cas(const Ptr<T>& at, T expected, T value, const sim::Site& site = sim::Site::current()) {
  T& target = at.atomic(site);
  const T before = target;
  if (before == expected) target = value;
  return before;
}
template <class T>
T atomic_add(const Ptr<T>& at, std::type_identity_t<T> value,
             const sim::Site& site = sim::Site::current()) {
  T& target = at.atomic(site);
  const T before = target;
  if constexpr (std::is_integral_v<T>) {
    target = static_cast<T>(static_cast<std::make_unsigned_t<T>>(before) +
                            static_cast<std::make_unsigned_t<T>>(value));
  } else {
    target = before + value;
  }
  return before;
}

template <class T>
void atomic_set(const Ptr<T>& at, std::type_identity_t<T> value,
                const sim::Site& site = sim::Site::current()) {
  at.atomic(site) = value;
}
template <class T>
T atomic_max(const Ptr<T>& at, std::type_identity_t<T> value,
             const sim::Site& site = sim::Site::current()) {
  T& target = at.atomic(site);
  const T before = target;
  target = std::max(before, value);
  return before;
}

inline uint32_t bits_set(uint64_t bits) {
  return static_cast<uint32_t>(__builtin_popcountll(bits));
}

template <uint32_t N, class T>
Vec<std::remove_const_t<T>, N> load_vec(const Ptr<T>& from,
                                        const sim::Site& site = sim::Site::current()) {
  Vec<std::remove_const_t<T>, N> value;
  std::memcpy(&value, from.block(N, false, site), sizeof value);
  return value;
}
template <uint32_t N, class T>
void store_vec(const Ptr<T>& to, const Vec<T, N>& value,
               const sim::Site& site = sim::Site::current()) {
  std::memcpy(to.block(N, true, site), &value, sizeof value);
}

template <class R>
R rounded_product(R x, R y) {
  return x * y;
}
inline float half_to_float(uint16_t bits) { return tn_f16_to_f32(bits); }
inline uint16_t float_to_half(float value) { return tn_f32_to_f16(value); }

// ---- On the host --------------------------------------------------------------------------------------------------------

class Stream;
namespace sim {
// Throws sdk::Error if the simulator finds a fault.
void run_on(Stream& stream, const Launch& launch, const std::function<void()>& body);

// Calls fn(largest block, function for one thread) for a kernel with these arguments, which it owns.
template <class... P, class... A, class Fn>
void with_kernel(void (*kernel)(P...), const std::tuple<A...>& args, const Fn& fn) {
  if constexpr (sizeof...(P) == sizeof...(A)) {
    const std::tuple<P...> given(args);
    fn(kBlockThreads, [kernel, given] { std::apply(kernel, given); });
  } else {
    using Most = std::tuple_element_t<sizeof...(A), std::tuple<P...>>;
    const std::tuple<P...> given(std::tuple_cat(args, std::tuple<Most>()));
    fn(Most::kMost, [kernel, given] { std::apply(kernel, given); });
  }
}
}  // namespace sim

template <class... P, class... A>
void run_grid(Stream& stream, Dim blocks, Dim threads, uint32_t shared_bytes, void (*kernel)(P...),
              const A&... args) {
  sim::with_kernel(kernel, std::tuple<A...>(args...), [&](uint32_t most, const auto& body) {
    sim::run_on(stream, {blocks, threads, shared_bytes, 0, most}, body);
  });
}

// Only elements from begin to end, counted from the first, may be accessed.
template <class T>
Ptr<T> pointer_to(T* first, int64_t offset, int64_t begin, int64_t end) {
  return Ptr<T>(first + offset, first + begin, first + end);
}

}  // namespace tenon::gpu
