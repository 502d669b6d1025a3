// Weights in safetensors files (https://huggingface.co/docs/safetensors): a JSON header, then row-major elements.
#ifndef TENON_IO_SAFETENSORS_HPP
#define TENON_IO_SAFETENSORS_HPP

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tenon/creation.hpp"
#include "tenon/io/detail/header.hpp"
#include "tenon/io/detail/replace.hpp"

namespace tenon::io {

using TensorMap = std::map<std::string, Tensor>;

// The contents of a file.
struct SafeTensors {
  TensorMap tensors;
  Metadata metadata;
};

namespace detail {

inline Tensor read_tensor(const Source& file, const Entry& entry, uint64_t base,
                          const Device& device) {
  const uint64_t bytes = entry.end - entry.begin;
  Tensor host = empty(entry.shape, entry.dtype);
  if (bytes > 0) file.read(tn_tensor_data(host.get()), bytes, base + entry.begin);
  if (entry.dtype == DType::Bool && bytes > 0) {
    const auto* flags = static_cast<const uint8_t*>(tn_tensor_data(host.get()));
    const auto* bad = std::find_if(flags, flags + bytes, [](uint8_t b) { return b > 1; });
    if (bad != flags + bytes)
      file.fail(base + entry.begin + static_cast<uint64_t>(bad - flags),
                "a bool that is neither 0 nor 1");
  }
  return device.defined() && device != host.device() ? host.to(device) : host;
}

inline void check_name(const std::string& where, const std::string& what, const std::string& text) {
  try {
    static_cast<void>(JsonReader(json_quote(text), where + ": " + what, 0).string());
  } catch (const Error& error) {
    throw Error(TN_INVALID_ARGUMENT, error.what());
  }
}

using Order = std::vector<const TensorMap::value_type*>;

// Wide elements come first, so that all are aligned.
inline Order order_of(const TensorMap& tensors, const std::string& where) {
  Order order;
  for (const auto& entry : tensors) {
    if (!entry.second.defined())
      throw Error(TN_INVALID_ARGUMENT, where + ": tensor \"" + entry.first + "\" is undefined");
    if (entry.first == "__metadata__")
      throw Error(TN_INVALID_ARGUMENT, where + ": no tensor can be called __metadata__");
    check_name(where, "the name of a tensor", entry.first);
    order.push_back(&entry);
  }
  std::ranges::stable_sort(order, [](auto* a, auto* b) {
    return size_of(a->second.dtype()) > size_of(b->second.dtype());
  });
  return order;
}

inline std::string header_of(const Order& order, const Metadata& metadata,
                             const std::string& where) {
  std::string header = "{";
  const auto comma = [&] { return header.size() > 1 ? "," : ""; };
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const char* separator = ""; const auto& [key, value] : metadata) {
      check_name(where, "a metadata key", key);
      check_name(where, "the metadata of \"" + key + "\"", value);
      header.append(separator).append(json_quote(key)).append(":").append(json_quote(value));
      separator = ",";
    }
    header += '}';
  }
  uint64_t at = 0;
  for (const auto* entry : order) {
    const Tensor& x = entry->second;
    const auto* named = std::ranges::find(kDTypeNames, x.dtype(), &DTypeName::dtype);
    std::string shape;
    for (int64_t size : x.shape())
      shape.append(shape.empty() ? "" : ",").append(std::to_string(size));
    header.append(comma()).append(json_quote(entry->first));
    header += std::string(":{\"dtype\":\"") + named->name + "\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(at) + ',' + std::to_string(at + x.nbytes()) +
              "]}";
    at += x.nbytes();
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  if (header.size() > kMaxHeader)
    throw Error(TN_INVALID_ARGUMENT, where + ": the header has " + std::to_string(header.size()) +
                                         " bytes, more than " + std::to_string(kMaxHeader));
  return header;
}

// `function`: the name that errors begin with; Python's name differs.
inline void save(const std::string& path, const TensorMap& tensors, const Metadata& metadata,
                 const std::string& function) {
  const std::string where = "[" + function + "] " + path;
  with_memory_errors(where, [&] {
    const Order order = order_of(tensors, where);
    const std::string header = header_of(order, metadata, where);
    ReplacedFile file(path, function);
    const uint64_t length = little_endian(header.size());
    file.write(&length, 8);
    file.write(header.data(), header.size());
    std::vector<char> buffer;
    for (const auto* entry : order) {
      buffer.resize(entry->second.nbytes());
      entry->second.to_host(buffer.data(), buffer.size());
      file.write(buffer.data(), buffer.size());
    }
    file.commit();
  });
}

}  // namespace detail

// Reads all tensors onto `device` (undefined: the host). Sizes are checked before anything is
// allocated; errors name the file, the byte and the reason.
inline SafeTensors load_safetensors(const std::string& path, Device device = {}) {
  return detail::with_memory_errors("[load_safetensors] " + path, [&] {
    const detail::InputFile file(path, "load_safetensors");
    detail::Header header = detail::read_header(file);
    SafeTensors found;
    for (const detail::Entry& entry : header.entries)
      found.tensors.emplace(entry.name, detail::read_tensor(file, entry, header.base, device));
    found.metadata = std::move(header.metadata);
    return found;
  });
}

// Writes all tensors. The file is replaced as a whole or not at all. Follows links, and refuses anything but a regular file.
inline void save_safetensors(const std::string& path, const TensorMap& tensors,
                             const Metadata& metadata = {}) {
  detail::save(path, tensors, metadata, "save_safetensors");
}

}  // namespace tenon::io
#endif
