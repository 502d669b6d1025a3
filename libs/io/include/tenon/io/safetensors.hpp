// Weights in safetensors files (https://huggingface.co/docs/safetensors): a JSON header, then the
// elements, row-major.
#ifndef TENON_IO_SAFETENSORS_HPP
#define TENON_IO_SAFETENSORS_HPP

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tenon/creation.hpp"
#include "tenon/io/detail/file.hpp"
#include "tenon/io/detail/json.hpp"

namespace tenon::io {

using TensorMap = std::map<std::string, Tensor>;
using Metadata = std::map<std::string, std::string>;

// What a file holds.
struct SafeTensors {
  TensorMap tensors;
  Metadata metadata;
};

namespace detail {

inline constexpr uint64_t kMaxHeader = 100'000'000;  // as the reference implementation has it

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

struct Entry {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // within the elements
  size_t at = 0;                // where the header speaks of it
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
  if (std::ranges::count(entry.shape, 0) > 0) return 0;
  for (int64_t size : entry.shape) {
    if (bytes > static_cast<uint64_t>(INT64_MAX) / static_cast<uint64_t>(size))
      json.fail_at(entry.at, "the sizes of tensor \"" + entry.name + "\" overflow");
    bytes *= static_cast<uint64_t>(size);
  }
  return bytes;
}

// Every entry inside the file and as long as its shape says; together they cover the elements
// without holes or overlaps.
inline void check_layout(const JsonReader& json, std::vector<Entry>& entries, uint64_t available) {
  for (const Entry& e : entries) {
    if (e.begin > e.end || e.end > available)
      json.fail_at(e.at, "tensor \"" + e.name + "\" reaches from " + std::to_string(e.begin) +
                             " to " + std::to_string(e.end) + ", but there are " +
                             std::to_string(available) + " bytes of elements");
    if (const uint64_t wanted = bytes_of(json, e); wanted != e.end - e.begin)
      json.fail_at(e.at, "tensor \"" + e.name + "\" needs " + std::to_string(wanted) +
                             " bytes for its shape, but has " + std::to_string(e.end - e.begin));
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const Entry& e : entries) {
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

inline void check_name(const std::string& what, const std::string& text) {
  if (JsonReader(json_quote(text), "[save_safetensors] " + what, 0).string() != text)
    throw Error(TN_INVALID_ARGUMENT, "[save_safetensors] " + what + " cannot be written");
}

inline Tensor read_tensor(const InputFile& file, const Entry& entry, uint64_t base, Device device) {
  const uint64_t bytes = entry.end - entry.begin;
  Tensor host = empty(entry.shape, entry.dtype);
  if (bytes > 0) file.read(tn_tensor_data(host.get()), bytes, base + entry.begin);
  if (entry.dtype == DType::Bool && bytes > 0) {
    const auto* flags = static_cast<const uint8_t*>(tn_tensor_data(host.get()));
    if (const auto* bad = std::find_if(flags, flags + bytes, [](uint8_t b) { return b > 1; });
        bad != flags + bytes)
      throw Error(TN_DATA_LOSS,
                  "[load_safetensors] " + file.path() + ": byte " +
                      std::to_string(base + entry.begin + static_cast<uint64_t>(bad - flags)) +
                      ": a bool that is neither 0 nor 1");
  }
  return device.defined() && device != host.device() ? host.to(device) : host;
}

inline uint64_t little_endian(uint64_t value) {
  if constexpr (std::endian::native == std::endian::little) return value;
  uint64_t swapped = 0;
  for (int i = 0; i < 8; ++i) swapped |= (value >> (8 * i) & 0xff) << (56 - 8 * i);
  return swapped;
}

}  // namespace detail

// Reads all tensors onto `device` (undefined: the host). Sizes are checked before anything is
// allocated; errors name the file, the byte and the reason.
inline SafeTensors load_safetensors(const std::string& path, Device device = {}) {
  const detail::InputFile file(path);
  const std::string where = "[load_safetensors] " + path;
  const auto fail = [&](const std::string& reason) {
    throw Error(TN_DATA_LOSS, where + ": byte 0: " + reason);
  };
  if (file.size() < 8) fail("a file of " + std::to_string(file.size()) + " bytes has no header");
  uint64_t length = 0;
  file.read(&length, 8, 0);
  length = detail::little_endian(length);
  if (length > detail::kMaxHeader)
    fail("a header of " + std::to_string(length) + " bytes is more than " +
         std::to_string(detail::kMaxHeader));
  if (length > file.size() - 8)
    fail("a header of " + std::to_string(length) + " bytes in a file of " +
         std::to_string(file.size()));
  std::string header(length, '\0');
  file.read(header.data(), length, 8);
  detail::JsonReader json(header, where, 8);
  if (header.empty() || header[0] != '{') json.fail("the header does not begin with {");

  SafeTensors found;
  std::vector<detail::Entry> entries;
  bool has_metadata = false;
  json.object([&](const std::string& key, size_t at) {
    if (key == "__metadata__") {
      if (std::exchange(has_metadata, true)) json.fail_at(at, "__metadata__ appears twice");
      json.object([&](const std::string& name, size_t name_at) {
        if (!found.metadata.emplace(name, json.string()).second)
          json.fail_at(name_at, "\"" + name + "\" appears twice");
      });
    } else {
      if (!found.tensors.emplace(key, Tensor()).second)
        json.fail_at(at, "tensor \"" + key + "\" appears twice");
      entries.push_back(detail::read_entry(json, key, at));
    }
  });
  json.end();
  detail::check_layout(json, entries, file.size() - 8 - length);
  for (const detail::Entry& entry : entries)
    found.tensors[entry.name] = detail::read_tensor(file, entry, 8 + length, device);
  return found;
}

// Writes all tensors. The file is replaced at once, or not at all.
inline void save_safetensors(const std::string& path, const TensorMap& tensors,
                             const Metadata& metadata = {}) {
  std::vector<const TensorMap::value_type*> order;
  for (const auto& entry : tensors) {
    if (!entry.second.defined())
      throw Error(TN_INVALID_ARGUMENT,
                  "[save_safetensors] tensor \"" + entry.first + "\" is undefined");
    if (entry.first == "__metadata__")
      throw Error(TN_INVALID_ARGUMENT, "[save_safetensors] no tensor can be called __metadata__");
    detail::check_name("the name of a tensor", entry.first);
    order.push_back(&entry);
  }
  // Wide elements first, so that all are aligned.
  std::ranges::stable_sort(order, [](auto* a, auto* b) {
    return size_of(a->second.dtype()) > size_of(b->second.dtype());
  });
  std::string header = "{";
  const auto comma = [&] { return header.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const char* separator = ""; const auto& [key, value] : metadata) {
      detail::check_name("a metadata key", key);
      detail::check_name("the metadata of \"" + key + "\"", value);
      header += separator + detail::json_quote(key) + ':' + detail::json_quote(value);
      separator = ",";
    }
    header += '}';
  }
  uint64_t at = 0;
  for (const auto* entry : order) {
    const Tensor& x = entry->second;
    const auto* named =
        std::ranges::find(detail::kDTypeNames, x.dtype(), &detail::DTypeName::dtype);
    std::string shape;
    for (int64_t size : x.shape()) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    header += comma() + detail::json_quote(entry->first) + ":{\"dtype\":\"" + named->name +
              "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(at) + ',' +
              std::to_string(at + x.nbytes()) + "]}";
    at += x.nbytes();
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  if (header.size() > detail::kMaxHeader)
    throw Error(TN_INVALID_ARGUMENT, "[save_safetensors] the header is too long");

  detail::AtomicFile file(path);
  const uint64_t length = detail::little_endian(header.size());
  file.write(&length, 8);
  file.write(header.data(), header.size());
  std::vector<char> buffer;
  for (const auto* entry : order) {
    const Tensor& x = entry->second;
    buffer.resize(x.nbytes());
    x.to_host(buffer.data(), buffer.size());
    file.write(buffer.data(), buffer.size());
  }
  file.commit();
}

}  // namespace tenon::io
#endif
