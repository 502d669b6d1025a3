// Reads a file's bytes in order, and unpacks it if it is compressed by gzip.
#ifndef TENON_DATA_DETAIL_STREAM_HPP
#define TENON_DATA_DETAIL_STREAM_HPP

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/io/detail/file.hpp"

namespace tenon::data::detail {

// Unpacks gzip's members. Only reading to the end shows that the last one is complete.
class GzipSource {
 public:
  explicit GzipSource(const io::detail::Source& file) : file_(file), buffer_(1 << 16) {
    const int code = ::inflateInit2(&zip_, 15 + 16);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code != Z_OK) throw Error(TN_INTERNAL, file.where() + ": zlib cannot be used");
  }
  ~GzipSource() { ::inflateEnd(&zip_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  // Returns at least one byte, or none at the end.
  uint64_t read_some(char* destination, uint64_t bytes) {
    const auto wanted = static_cast<unsigned>(std::min<uint64_t>(bytes, 1u << 30));
    zip_.next_out = reinterpret_cast<unsigned char*>(destination);
    zip_.avail_out = wanted;
    while (zip_.avail_out == wanted) {
      if (!fill()) {
        if (!between_members_) fail("the compressed data is cut off");
        return 0;
      }
      if (between_members_ && !begin_member()) continue;
      inflate_some();
    }
    return wanted - zip_.avail_out;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    file_.fail(at_ - zip_.avail_in, reason);
  }
  // False at the end of the file.
  bool fill() {
    if (zip_.avail_in > 0) return true;
    const uint64_t n = file_.read_some(buffer_.data(), buffer_.size(), at_);
    at_ += n;
    zip_.next_in = buffer_.data();
    zip_.avail_in = static_cast<unsigned>(n);
    return n > 0;
  }
  // Several members may follow each other, or zeros that fill a tape block.
  bool begin_member() {
    if (*zip_.next_in == 0) {
      ++zip_.next_in;
      --zip_.avail_in;
      return false;
    }
    if (*zip_.next_in != 0x1f) fail("bytes behind the compressed data");
    ::inflateReset(&zip_);
    between_members_ = false;
    return true;
  }
  void inflate_some() {
    const int code = ::inflate(&zip_, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    between_members_ = code == Z_STREAM_END;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      fail(zip_.msg != nullptr ? zip_.msg : "the compressed data is damaged");
  }

  const io::detail::Source& file_;
  std::vector<unsigned char> buffer_;
  z_stream zip_{};
  uint64_t at_ = 0;  // of the file
  bool between_members_ = true;
};

class Stream {
 public:
  explicit Stream(const io::detail::Source& file) : file_(file) {
    unsigned char magic[2];
    if (file.size() >= 2 && file.read_some(magic, 2, 0) == 2 && magic[0] == 0x1f &&
        magic[1] == 0x8b)
      gzip_ = std::make_unique<GzipSource>(file);
  }
  bool is_compressed() const { return gzip_ != nullptr; }
  // The most bytes that can still follow: deflate never gives more than 1032 for one.
  uint64_t most() const {
    return gzip_ ? 1032 * file_.size() : file_.size() - std::min(position_, file_.size());
  }
  uint64_t position() const { return position_; }
  // `position` counts unpacked bytes.
  [[noreturn]] void fail(const std::string& reason) const { file_.fail(position_, reason); }

  // Returns fewer bytes than asked for only at the end.
  uint64_t read_some(void* destination, uint64_t bytes) {
    char* to = static_cast<char*>(destination);
    uint64_t done = 0;
    while (done < bytes) {
      const uint64_t n = gzip_ ? gzip_->read_some(to + done, bytes - done)
                               : file_.read_some(to + done, bytes - done, position_);
      if (n == 0) break;
      done += n;
      position_ += n;
    }
    return done;
  }
  void read(void* destination, uint64_t bytes, const char* what) {
    const uint64_t done = read_some(destination, bytes);
    if (done != bytes)
      fail("the file ends within " + std::string(what) + ", " + std::to_string(bytes - done) +
           " bytes early");
  }

 private:
  const io::detail::Source& file_;
  std::unique_ptr<GzipSource> gzip_;
  uint64_t position_ = 0;
};

}  // namespace tenon::data::detail
#endif
