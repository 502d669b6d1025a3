// IDX files (http://yann.lecun.com/exdb/mnist), plain or compressed by gzip. Link with zlib.
#ifndef TENON_DATA_IDX_HPP
#define TENON_DATA_IDX_HPP

#include <bit>
#include <string>
#include <vector>

#include "tenon/data/detail/stream.hpp"
#include "tenon/tenon.hpp"

namespace tenon::data {
namespace detail {

inline DType idx_dtype(const Stream& file, uint8_t code) {
  switch (code) {
    case 0x08:
      return DType::U8;
    case 0x09:
      return DType::I8;
    case 0x0b:
      return DType::I16;
    case 0x0c:
      return DType::I32;
    case 0x0d:
      return DType::F32;
    case 0x0e:
      return DType::F64;
    default:
      file.fail("unknown element type " + std::to_string(code));
  }
}

// The file's numbers are big-endian.
inline void swap_bytes(char* data, uint64_t count, uint64_t size) {
  if (size == 1 || std::endian::native == std::endian::big) return;
  for (uint64_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

struct IdxHeader {
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t bytes;  // of the elements
};

inline IdxHeader read_idx_header(Stream& file) {
  uint8_t head[4];
  file.read(head, 4, "the magic number");
  if (head[0] != 0 || head[1] != 0) file.fail("no IDX file: it begins with bytes other than 0, 0");
  IdxHeader header{idx_dtype(file, head[2]), {}, 0};
  if (head[3] == 0 || head[3] > TN_MAX_DIMS)
    file.fail(std::to_string(head[3]) + " dimensions; there are from 1 to " +
              std::to_string(TN_MAX_DIMS));
  uint64_t bytes = size_of(header.dtype);
  bool is_empty = false;
  for (int d = 0; d < head[3]; ++d) {
    uint8_t size[4];
    file.read(size, 4, "the sizes");
    const uint32_t value =
        uint32_t{size[0]} << 24 | uint32_t{size[1]} << 16 | uint32_t{size[2]} << 8 | size[3];
    header.shape.push_back(value);
    is_empty |= value == 0;
    if (const uint64_t factor = std::max<uint64_t>(value, 1); bytes > INT64_MAX / factor)
      file.fail("the sizes overflow");
    else
      bytes *= factor;
  }
  header.bytes = is_empty ? 0 : bytes;
  if (header.bytes > file.most())
    file.fail("the sizes ask for " + std::to_string(header.bytes) +
              " bytes, more than the file can hold");
  return header;
}

inline Tensor read_idx_elements(const io::detail::Source& source) {
  Stream file(source);
  const IdxHeader header = read_idx_header(file);
  Tensor out = empty(header.shape, header.dtype);
  if (header.bytes > 0) {
    char* data = static_cast<char*>(tn_tensor_data(out.get()));
    file.read(data, header.bytes, "the elements");
    swap_bytes(data, header.bytes / size_of(header.dtype), size_of(header.dtype));
  }
  // Reading on also checks that compressed data is complete.
  char more;
  if (file.read_some(&more, 1) != 0) file.fail("bytes behind the elements");
  return out;
}

}  // namespace detail

// Reads an IDX file into a tensor. Never unpacks more bytes than the header declares.
// Errors name the file, the byte (in the unpacked data) and the reason.
inline Tensor read_idx(const std::string& path) {
  return io::detail::with_memory_errors("[read_idx] " + path, [&] {
    return detail::read_idx_elements(io::detail::InputFile(path, "read_idx"));
  });
}

}  // namespace tenon::data
#endif
