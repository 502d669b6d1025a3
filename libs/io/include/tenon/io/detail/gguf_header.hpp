// Reads and checks the header of a GGUF file before any element.
#ifndef TENON_IO_DETAIL_GGUF_HEADER_HPP
#define TENON_IO_DETAIL_GGUF_HEADER_HPP

#include <bit>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/io/detail/file.hpp"
#include "tenon/io/detail/gguf_blocks.hpp"
#include "tenon/value.h"

namespace tenon::io {

// A value of a GGUF file's metadata. Integers have the widest type, and floats are doubles.
struct GgufValue {
  std::variant<bool, uint64_t, int64_t, double, std::string, std::vector<GgufValue>> value;
};
using GgufMetadata = std::map<std::string, GgufValue>;

namespace detail {

static_assert(std::endian::native == std::endian::little, "GGUF is read as it lies in memory");

// Reads a source sequentially through a window, because the header has many small parts.
class GgufCursor {
 public:
  explicit GgufCursor(const Source& file) : file_(file) {}
  uint64_t at() const { return at_; }
  uint64_t left() const { return file_.size() - at_; }
  [[noreturn]] void fail(uint64_t at, const std::string& reason) const { file_.fail(at, reason); }

  void take(void* destination, uint64_t bytes) {
    if (bytes > left()) fail(file_.size(), "the file ends here");
    char* to = static_cast<char*>(destination);
    while (bytes > 0) {
      if (at_ < begin_ || at_ >= begin_ + window_.size()) refill();
      const uint64_t n = std::min(bytes, begin_ + window_.size() - at_);
      std::memcpy(to, window_.data() + (at_ - begin_), n);
      to += n, at_ += n, bytes -= n;
    }
  }
  template <class T>
  T number() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  std::string text() {
    const uint64_t begin = at_, length = number<uint64_t>();
    if (length > left())
      fail(begin, "a text of " + std::to_string(length) + " bytes where " + std::to_string(left()) +
                      " are left");
    std::string found(length, '\0');
    take(found.data(), length);
    return found;
  }

 private:
  void refill() {
    window_.resize(std::min<uint64_t>(left(), 1 << 16));
    begin_ = at_;
    file_.read(window_.data(), window_.size(), begin_);
  }
  const Source& file_;
  uint64_t at_ = 0, begin_ = 0;
  std::string window_;
};

inline constexpr uint32_t kGgufBool = 7, kGgufText = 8, kGgufArray = 9, kGgufDeepest = 4;
// The fewest bytes that a value of each kind takes; kinds: u8 i8 u16 i16 u32 i32 f32 bool text array u64 i64 f64.
inline constexpr uint64_t kGgufLeast[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

inline GgufValue read_gguf_value(GgufCursor& file, uint32_t kind, uint32_t depth = 0);

inline GgufValue read_gguf_array(GgufCursor& file, uint32_t depth) {
  const uint64_t begin = file.at();
  const auto kind = file.number<uint32_t>();
  const auto count = file.number<uint64_t>();
  if (kind >= std::size(kGgufLeast))
    file.fail(begin, "an array of the unknown kind " + std::to_string(kind));
  if (depth >= kGgufDeepest) file.fail(begin, "arrays deeper than " + std::to_string(depth));
  if (count > file.left() / kGgufLeast[kind])
    file.fail(begin, "an array of " + std::to_string(count) + " values where " +
                         std::to_string(file.left()) + " bytes are left");
  std::vector<GgufValue> values;
  values.reserve(count);
  for (uint64_t i = 0; i < count; ++i) values.push_back(read_gguf_value(file, kind, depth + 1));
  return {std::move(values)};
}

inline GgufValue read_gguf_value(GgufCursor& file, uint32_t kind, uint32_t depth) {
  const uint64_t begin = file.at();
  const auto natural = [](uint64_t x) { return GgufValue{x}; };
  const auto integer = [](int64_t x) { return GgufValue{x}; };
  switch (kind) {
    case 0:
      return natural(file.number<uint8_t>());
    case 1:
      return integer(file.number<int8_t>());
    case 2:
      return natural(file.number<uint16_t>());
    case 3:
      return integer(file.number<int16_t>());
    case 4:
      return natural(file.number<uint32_t>());
    case 5:
      return integer(file.number<int32_t>());
    case 6:
      return {static_cast<double>(file.number<float>())};
    case kGgufBool: {
      const auto flag = file.number<uint8_t>();
      if (flag > 1) file.fail(begin, "a bool that is neither 0 nor 1");
      return {flag == 1};
    }
    case kGgufText:
      return {file.text()};
    case kGgufArray:
      return read_gguf_array(file, depth);
    case 10:
      return natural(file.number<uint64_t>());
    case 11:
      return integer(file.number<int64_t>());
    case 12:
      return {file.number<double>()};
    default:
      file.fail(begin, "a value of the unknown kind " + std::to_string(kind));
  }
}

// A tensor as the header describes it.
struct GgufEntry {
  std::string name;
  std::vector<int64_t> shape;  // slowest dimension first; the file has the opposite order
  const GgufType* type = nullptr;
  uint64_t begin = 0, bytes = 0;  // in the file
  uint64_t at = 0;                // where the header describes it
};

struct GgufHeader {
  GgufMetadata metadata;
  std::vector<GgufEntry> entries;
};

inline const GgufType* gguf_type(const GgufCursor& file, const GgufEntry& entry, uint32_t code) {
  const auto* known = std::ranges::find(kGgufTypes, code, &GgufType::code);
  if (known == std::end(kGgufTypes))
    file.fail(entry.at, "tensor \"" + entry.name + "\" has the type " + std::to_string(code) +
                            ", which this reader does not know");
  return known;
}

inline GgufEntry read_gguf_entry(GgufCursor& file) {
  GgufEntry entry;
  entry.at = file.at();
  entry.name = file.text();
  const auto fail = [&](const std::string& reason) {
    file.fail(entry.at, "tensor \"" + entry.name + "\" " + reason);
  };
  const auto dims = file.number<uint32_t>();
  if (dims > TN_MAX_DIMS)
    fail("has " + std::to_string(dims) + " dimensions, more than " + std::to_string(TN_MAX_DIMS));
  uint64_t elements = 1;
  for (uint32_t i = 0; i < dims; ++i) {
    const auto size = file.number<uint64_t>();
    if (size == 0 || size > static_cast<uint64_t>(INT64_MAX) / 8 / elements)
      fail("has a size of " + std::to_string(size));
    elements *= size;
    entry.shape.insert(entry.shape.begin(), static_cast<int64_t>(size));
  }
  entry.type = gguf_type(file, entry, file.number<uint32_t>());
  const GgufType& type = *entry.type;
  const auto row = static_cast<uint64_t>(dims == 0 ? 1 : entry.shape.back());
  if (row % type.elements != 0)
    fail("has rows of " + std::to_string(row) + " elements, which are no whole blocks of " +
         type.name);
  entry.bytes = elements / type.elements * type.bytes;
  entry.begin = file.number<uint64_t>();
  return entry;
}

inline uint64_t gguf_alignment(const GgufCursor& file, const GgufMetadata& metadata) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return 32;
  const auto* value = std::get_if<uint64_t>(&found->second.value);
  if (value == nullptr || !std::has_single_bit(*value) || *value > (1u << 30))
    file.fail(file.at(), "general.alignment is no power of two");
  return *value;
}

// Turns offsets of tensors into positions in the file. Each tensor is inside, aligned, and overlaps no other.
inline void check_gguf_layout(const GgufCursor& file, GgufHeader& header) {
  const uint64_t step = gguf_alignment(file, header.metadata);
  const uint64_t base = file.at() + (step - file.at() % step) % step;
  const uint64_t size = file.at() + file.left();
  std::vector<const GgufEntry*> order;
  for (GgufEntry& e : header.entries) {
    const auto fail = [&](const std::string& reason) {
      file.fail(e.at, "tensor \"" + e.name + "\" " + reason);
    };
    if (e.begin % step != 0)
      fail("begins at " + std::to_string(e.begin) + ", no multiple of " + std::to_string(step));
    if (base > size || e.begin > size - base || e.bytes > size - base - e.begin)
      fail("reaches over " + std::to_string(e.bytes) + " bytes from " + std::to_string(e.begin) +
           " on, beyond the end of the file");
    e.begin += base;
    order.push_back(&e);
  }
  std::ranges::sort(order, {}, &GgufEntry::begin);
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->begin + order[i - 1]->bytes > order[i]->begin)
      file.fail(order[i]->at,
                "tensor \"" + order[i]->name + "\" begins inside \"" + order[i - 1]->name + '"');
}

inline GgufHeader read_gguf_header(const Source& source) {
  GgufCursor file(source);
  if (file.left() < 24 || file.number<uint32_t>() != 0x46554747)
    file.fail(0, "it does not begin as a GGUF file does");
  const auto version = file.number<uint32_t>();
  if (version != 2 && version != 3)
    file.fail(4, "it has version " + std::to_string(version) + "; 2 and 3 are read, little-endian");
  const auto tensors = file.number<uint64_t>(), values = file.number<uint64_t>();
  if (tensors > file.left() / 24 || values > file.left() / 13)
    file.fail(8, std::to_string(tensors) + " tensors and " + std::to_string(values) +
                     " values in a file of " + std::to_string(source.size()) + " bytes");
  GgufHeader header;
  for (uint64_t i = 0; i < values; ++i) {
    const uint64_t at = file.at();
    std::string key = file.text();
    GgufValue value = read_gguf_value(file, file.number<uint32_t>());
    if (!header.metadata.emplace(key, std::move(value)).second)
      file.fail(at, "\"" + key + "\" appears twice");
  }
  std::map<std::string, uint64_t> names;
  for (uint64_t i = 0; i < tensors; ++i) {
    header.entries.push_back(read_gguf_entry(file));
    const GgufEntry& entry = header.entries.back();
    if (!names.emplace(entry.name, entry.at).second)
      file.fail(entry.at, "tensor \"" + entry.name + "\" appears twice");
  }
  check_gguf_layout(file, header);
  return header;
}

}  // namespace detail
}  // namespace tenon::io
#endif
