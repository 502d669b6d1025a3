// Reads weights from GGUF files, llama.cpp's format, plain or quantised
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
#ifndef TENON_IO_GGUF_HPP
#define TENON_IO_GGUF_HPP

#include <vector>

#include "tenon/io/detail/gguf_header.hpp"
#include "tenon/io/safetensors.hpp"

namespace tenon::io {

// The contents of a file.
struct Gguf {
  TensorMap tensors;
  GgufMetadata metadata;
};

struct GgufOptions {
  Device device = {};        // undefined: the host
  DType dtype = DType::F32;  // of quantised tensors; others keep theirs
};

namespace detail {

// Reads blocks, a piece of the file at a time.
inline void unpack_gguf(const Source& file, const GgufEntry& entry, float* x) {
  const GgufType& type = *entry.type;
  const uint64_t piece = (1u << 20) / type.bytes * type.bytes;
  std::vector<uint8_t> packed(std::min(piece, entry.bytes));
  for (uint64_t done = 0; done < entry.bytes; done += packed.size()) {
    packed.resize(std::min(piece, entry.bytes - done));
    file.read(packed.data(), packed.size(), entry.begin + done);
    for (uint64_t i = 0; i < packed.size(); i += type.bytes, x += type.elements)
      type.unpack(packed.data() + i, x);
  }
}

inline Tensor read_gguf_tensor(const Source& file, const GgufEntry& entry,
                               const GgufOptions& options) {
  Tensor host = empty(entry.shape, entry.type->dtype);
  void* const elements = tn_tensor_data(host.get());
  if (entry.type->unpack == nullptr) {
    file.read(elements, entry.bytes, entry.begin);
  } else {
    unpack_gguf(file, entry, static_cast<float*>(elements));
    if (options.dtype != DType::F32) host = host.to(options.dtype);
  }
  return options.device.defined() && options.device != host.device() ? host.to(options.device)
                                                                     : host;
}

}  // namespace detail

// Reads all tensors and the metadata. Quantised tensors (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K,
// Q6_K) are unpacked to options.dtype. A shape has the slowest dimension first, as everywhere in Tenon.
// Sizes are checked before anything is allocated; errors name the file, the byte and the reason.
inline Gguf load_gguf(const std::string& path, const GgufOptions& options = {}) {
  return detail::with_memory_errors("[load_gguf] " + path, [&] {
    const detail::InputFile file(path, "load_gguf");
    detail::GgufHeader header = detail::read_gguf_header(file);
    Gguf found;
    for (const detail::GgufEntry& entry : header.entries)
      found.tensors.emplace(entry.name, detail::read_gguf_tensor(file, entry, options));
    found.metadata = std::move(header.metadata);
    return found;
  });
}

// Gets a metadata value of one of GgufValue's kinds. Errors begin with `where`: the file.
template <class T>
const T& metadata_value(const GgufMetadata& metadata, const std::string& name,
                        const std::string& where) {
  const auto found = metadata.find(name);
  const T* value = found == metadata.end() ? nullptr : std::get_if<T>(&found->second.value);
  if (value == nullptr)
    throw Error(TN_DATA_LOSS,
                where + ": the metadata \"" + name + "\" is " +
                    (found == metadata.end() ? "missing" : "not of the kind that it should be"));
  return *value;
}

// A list of values of one kind.
template <class T>
std::vector<T> metadata_list(const GgufMetadata& metadata, const std::string& name,
                             const std::string& where) {
  std::vector<T> list;
  for (const GgufValue& each : metadata_value<std::vector<GgufValue>>(metadata, name, where)) {
    const T* value = std::get_if<T>(&each.value);
    if (value == nullptr)
      throw Error(TN_DATA_LOSS, std::string(where)
                                    .append(": the metadata \"")
                                    .append(name)
                                    .append("\", number ")
                                    .append(std::to_string(list.size()))
                                    .append(", is not of the kind that it should be"));
    list.push_back(*value);
  }
  return list;
}

}  // namespace tenon::io
#endif
