// The bytes of a view, wherever they are: filling, comparing and summing them.
#pragma once

#include <vector>

#include "device.hpp"

namespace tenon::validate {

uint64_t size_of(tn_dtype dtype);
uint64_t numel(const tn_view& view);

// The range of bytes that a view spans in its buffer, `first` included and `last` excluded; empty if it has no elements.
struct Span {
  int64_t first = 0, last = 0;
  uint64_t size() const { return static_cast<uint64_t>(last - first); }
  bool meets(const Span& other) const { return first < other.last && other.first < last; }
};
Span span_of(const tn_view& view);

// One tensor operand of a kernel.
struct Operand {
  const tn_view* view = nullptr;
  std::string what;  // "output 0", "input x"
  Span span;
  bool has_block = false;
  Block block;
  bool written = false;
  bool checked = false;  // for an input: `sum` is known
  uint64_t sum = 0;
};

// The elements of an operand as bytes. Positions count elements in row-major order.
class Elements {
 public:
  Elements(DeviceType& type, const Operand& operand);
  // Whether its bytes can be read and written at all.
  bool reachable() const { return reachable_; }
  bool fill(unsigned char byte);
  // At most `limit` positions whose bytes are all `byte`, among those in `among` unless that is NULL.
  std::vector<uint64_t> holding(unsigned char byte, size_t limit,
                                const std::vector<uint64_t>* among) const;
  uint64_t sum() const;

 private:
  // Copies the bytes to the host if they are not addressable.
  bool fetch() const;
  template <class Visit>
  void each(Visit&& visit) const;
  uint64_t byte_of(uint64_t position) const;

  DeviceType& type_;
  const Operand& operand_;
  const uint64_t size_, count_;
  bool reachable_ = false;
  mutable std::vector<unsigned char> copy_;       // of the whole span
  mutable const unsigned char* first_ = nullptr;  // the span's first byte, on the host
};

}  // namespace tenon::validate
