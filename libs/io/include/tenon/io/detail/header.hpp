// Reads and checks the header of a safetensors file before any element.
#ifndef TENON_IO_DETAIL_HEADER_HPP
#define TENON_IO_DETAIL_HEADER_HPP

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tenon/creation.hpp"
#include "tenon/io/detail/file.hpp"
#include "tenon/io/detail/json.hpp"

namespace tenon::io {

using Metadata = std::map<std::string, std::string>;

namespace detail {

inline constexpr uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit

struct DTypeName {
  const char* name;
  DType dtype;
};
// C128 is an extension; other readers refuse it by name.
inline constexpr DTypeName kDTypeNames[] = {
    {"BOOL", DType::Bool},      {"U8", DType::U8},         {"I8", DType::I8},
    {"U16", DType::U16},        {"I16", DType::I16},       {"F16", DType::F16},
    {"BF16", DType::BF16},      {"U32", DType::U32},       {"I32", DType::I32},
    {"F32", DType::F32},        {"U64", DType::U64},       {"I64", DType::I64},
    {"F64", DType::F64},        {"C64", DType::C64},       {"C128", DType::C128},
    {"F8_E4M3", DType::F8E4M3}, {"F8_E5M2", DType::F8E5M2}};

// A tensor as the header describes it.
struct Entry {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // within the elements
  size_t at = 0;                // where the header describes it
};

inline Entry read_entry(JsonReader& json, const std::string& name, size_t at) {
  Entry entry{name, DType::F32, {}, 0, 0, at};
  bool has_dtype = false, has_shape = false, has_offsets = false;
  json.object([&](const std::string& key, size_t key_at) {
    const auto once = [&](bool& seen) {
      if (seen) json.fail_at(key_at, "\"" + key + "\" appears twice in tensor \"" + name + "\"");
      seen = true;
    };
    if (key == "dtype") {
      once(has_dtype);
      const std::string text = json.string();
      const auto* known =
          std::ranges::find_if(kDTypeNames, [&](const DTypeName& d) { return text == d.name; });
      if (known == std::end(kDTypeNames))
        json.fail_at(key_at, "tensor \"" + name + "\" has the unknown dtype \"" + text + "\"");
      entry.dtype = known->dtype;
    } else if (key == "shape") {
      once(has_shape);
      for (uint64_t size : json.numbers()) {
        if (size > INT64_MAX)
          json.fail_at(key_at, "tensor \"" + name + "\" has a size beyond 63 bits");
        entry.shape.push_back(static_cast<int64_t>(size));
      }
      if (entry.shape.size() > TN_MAX_DIMS)
        json.fail_at(key_at, "tensor \"" + name + "\" has " + std::to_string(entry.shape.size()) +
                                 " dimensions, more than " + std::to_string(TN_MAX_DIMS));
    } else if (key == "data_offsets") {
      once(has_offsets);
      const auto offsets = json.numbers();
      if (offsets.size() != 2)
        json.fail_at(key_at, "data_offsets of tensor \"" + name + "\" are not two numbers");
      entry.begin = offsets[0];
      entry.end = offsets[1];
    } else {
      json.fail_at(key_at, "tensor \"" + name + "\" has the unknown field \"" + key + "\"");
    }
  });
  if (!has_dtype || !has_shape || !has_offsets)
    json.fail_at(at, "tensor \"" + name + "\" lacks " +
                         (!has_dtype   ? "dtype"
                          : !has_shape ? "shape"
                                       : "data_offsets"));
  return entry;
}

// The bytes of a shape, or an error when they overflow.
inline uint64_t bytes_of(const JsonReader& json, const Entry& entry) {
  uint64_t bytes = size_of(entry.dtype);
  bool is_empty = false;
  for (int64_t size : entry.shape) {
    is_empty |= size == 0;
    const uint64_t factor = std::max<uint64_t>(static_cast<uint64_t>(size), 1);
    if (bytes > static_cast<uint64_t>(INT64_MAX) / factor)
      json.fail_at(entry.at, "the sizes of tensor \"" + entry.name + "\" overflow");
    bytes *= factor;
  }
  return is_empty ? 0 : bytes;
}

// Every entry is inside the file and as long as its shape says. Together they cover the elements without gaps or overlaps.
inline void check_layout(const JsonReader& json, const std::vector<Entry>& entries,
                         uint64_t available) {
  for (const Entry& e : entries) {
    if (e.begin > e.end || e.end > available)
      json.fail_at(e.at, "tensor \"" + e.name + "\" reaches from " + std::to_string(e.begin) +
                             " to " + std::to_string(e.end) + ", but there are " +
                             std::to_string(available) + " bytes of elements");
    if (const uint64_t wanted = bytes_of(json, e); wanted != e.end - e.begin)
      json.fail_at(e.at, "tensor \"" + e.name + "\" needs " + std::to_string(wanted) +
                             " bytes for its shape, but has " + std::to_string(e.end - e.begin));
  }
  std::vector<const Entry*> order;
  for (const Entry& e : entries) order.push_back(&e);
  std::ranges::sort(order, {}, [](const Entry* e) { return std::pair(e->begin, e->end); });
  uint64_t covered = 0;
  for (const Entry* next : order) {
    const Entry& e = *next;
    if (e.begin != covered)
      json.fail_at(e.at, "tensor \"" + e.name + "\" begins at " + std::to_string(e.begin) +
                             (e.begin < covered ? " inside another" : " behind a hole") +
                             ", expected " + std::to_string(covered));
    covered = e.end;
  }
  if (covered != available)
    json.fail_at(
        0, std::to_string(available - covered) + " bytes behind the last tensor belong to none");
}

inline uint64_t little_endian(uint64_t value) {
  if constexpr (std::endian::native == std::endian::little) return value;
  uint64_t swapped = 0;
  for (int i = 0; i < 8; ++i) swapped |= (value >> (8 * i) & 0xff) << (56 - 8 * i);
  return swapped;
}

struct Header {
  std::vector<Entry> entries;  // in the header's order
  Metadata metadata;
  uint64_t base = 0;  // where the elements begin
};

// Recognises common other weight files by their first bytes.
inline std::string hint(uint64_t head) {
  const bool zip = (head & 0xffffffff) == 0x04034b50, pickle = (head & 0xf8ff) == 0x80;
  if (!zip && !pickle) return "";
  return ": it looks like a file of torch.save or a pickle; save it by safetensors.torch.save_file";
}

inline std::string read_header_text(const Source& file) {
  const uint64_t size = file.size();
  if (size < 8) file.fail(0, "a file of " + std::to_string(size) + " bytes has no header");
  uint64_t length = 0;
  file.read(&length, 8, 0);
  length = little_endian(length);
  if (length > kMaxHeader)
    file.fail(0, "a header of " + std::to_string(length) + " bytes is more than " +
                     std::to_string(kMaxHeader) + hint(length));
  if (length > size - 8)
    file.fail(0, "a header of " + std::to_string(length) + " bytes in a file of " +
                     std::to_string(size) + hint(length));
  std::string text(length, '\0');
  file.read(text.data(), length, 8);
  return text;
}

inline Header read_header(const Source& file) {
  const std::string text = read_header_text(file);
  JsonReader json(text, file.where(), 8);
  if (text.empty() || text[0] != '{') json.fail("the header does not begin with {");
  Header header;
  header.base = 8 + text.size();
  std::set<std::string> names;
  json.object([&](const std::string& key, size_t at) {
    if (!names.insert(key).second) json.fail_at(at, "\"" + key + "\" appears twice");
    if (key != "__metadata__") {
      header.entries.push_back(read_entry(json, key, at));
      return;
    }
    json.object([&](const std::string& name, size_t name_at) {
      if (!header.metadata.emplace(name, json.string()).second)
        json.fail_at(name_at, "\"" + name + "\" appears twice in __metadata__");
    });
  });
  json.end();
  check_layout(json, header.entries, file.size() - header.base);
  return header;
}

}  // namespace detail
}  // namespace tenon::io
#endif
