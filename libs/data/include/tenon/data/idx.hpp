// IDX files (http://yann.lecun.com/exdb/mnist), plain or compressed by gzip. Link with zlib.
#ifndef TENON_DATA_IDX_HPP
#define TENON_DATA_IDX_HPP

#include <sys/stat.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "tenon/tenon.hpp"

namespace tenon::data {
namespace detail {

// A file that may be compressed; zlib reads plain ones as they are.
class GzipReader {
 public:
  GzipReader(const std::string& path, std::string reader)
      : path_(path), reader_(std::move(reader)) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
      const uint32_t code = errno == ENOENT ? TN_NOT_FOUND : TN_IO;
      throw Error(code, "[" + reader_ + "] " + path + ": " + std::strerror(errno));
    }
    if (!S_ISREG(info.st_mode))
      throw Error(TN_IO, "[" + reader_ + "] " + path + ": not a regular file");
    file_size_ = static_cast<uint64_t>(info.st_size);
    file_.reset(::gzopen(path.c_str(), "rbe"));
    if (!file_) throw Error(TN_IO, "[" + reader_ + "] " + path + ": " + std::strerror(errno));
    ::gzbuffer(file_.get(), 1 << 17);
    compressed_ = ::gzdirect(file_.get()) == 0;
  }
  uint64_t position() const { return position_; }
  // No more bytes than this can follow: deflate never gives more than 1032 for one.
  uint64_t most() const {
    return (compressed_ ? 1032 * file_size_ : file_size_) - std::min(position_, file_size_);
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(TN_DATA_LOSS, "[" + reader_ + "] " + path_ + ": byte " + std::to_string(position_) +
                                  ": " + reason);
  }
  // As many bytes as there are, up to `bytes`.
  uint64_t read_some(void* destination, uint64_t bytes) {
    uint64_t done = 0;
    while (done < bytes) {
      const unsigned chunk = static_cast<unsigned>(std::min<uint64_t>(bytes - done, 1u << 30));
      const int n = ::gzread(file_.get(), static_cast<char*>(destination) + done, chunk);
      if (n < 0) {
        int code = 0;
        const char* message = ::gzerror(file_.get(), &code);
        fail(code == Z_ERRNO ? std::strerror(errno) : message);
      }
      if (n == 0) break;
      done += static_cast<uint64_t>(n);
      position_ += static_cast<uint64_t>(n);
    }
    return done;
  }
  void read(void* destination, uint64_t bytes, const char* what) {
    if (const uint64_t done = read_some(destination, bytes); done != bytes)
      fail("the file ends within " + std::string(what) + ", " + std::to_string(bytes - done) +
           " bytes early");
  }

 private:
  struct Close {
    void operator()(gzFile file) const { ::gzclose(file); }
  };
  std::string path_, reader_;
  std::unique_ptr<gzFile_s, Close> file_;
  uint64_t file_size_ = 0, position_ = 0;
  bool compressed_ = false;
};

inline DType idx_dtype(const GzipReader& file, uint8_t code) {
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

}  // namespace detail

// The tensor of an IDX file. Errors name the file, the byte (of the uncompressed data) and the
// reason.
inline Tensor read_idx(const std::string& path) {
  detail::GzipReader file(path, "read_idx");
  uint8_t head[4];
  file.read(head, 4, "the magic number");
  if (head[0] != 0 || head[1] != 0) file.fail("no IDX file: it begins with bytes other than 0, 0");
  const DType dtype = detail::idx_dtype(file, head[2]);
  if (head[3] == 0 || head[3] > TN_MAX_DIMS) file.fail(std::to_string(head[3]) + " dimensions");
  std::vector<int64_t> shape;
  uint64_t bytes = size_of(dtype);
  bool empty_shape = false;
  for (int d = 0; d < head[3]; ++d) {
    uint8_t size[4];
    file.read(size, 4, "the sizes");
    shape.push_back(int64_t{size[0]} << 24 | int64_t{size[1]} << 16 | int64_t{size[2]} << 8 |
                    size[3]);
    empty_shape |= shape.back() == 0;
    if (__builtin_mul_overflow(bytes, std::max<uint64_t>(static_cast<uint64_t>(shape.back()), 1),
                               &bytes))
      file.fail("the sizes overflow");
  }
  if (empty_shape) bytes = 0;
  if (bytes > file.most())
    file.fail("the sizes ask for " + std::to_string(bytes) + " bytes, more than the file can hold");
  Tensor out = empty(shape, dtype);
  if (bytes > 0) {
    char* data = static_cast<char*>(tn_tensor_data(out.get()));
    file.read(data, bytes, "the elements");
    detail::swap_bytes(data, bytes / size_of(dtype), size_of(dtype));
  }
  char more;
  if (file.read_some(&more, 1) != 0) file.fail("bytes behind the elements");
  return out;
}

}  // namespace tenon::data
#endif
