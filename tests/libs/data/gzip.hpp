// Compresses files for tests.
#pragma once

#include <zlib.h>

#include <string>

// A single gzip member.
inline std::string gzip(const std::string& content) {
  z_stream zip{};
  ::deflateInit2(&zip, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&zip, content.size()), '\0');
  zip.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(content.data()));
  zip.avail_in = static_cast<unsigned>(content.size());
  zip.next_out = reinterpret_cast<unsigned char*>(out.data());
  zip.avail_out = static_cast<unsigned>(out.size());
  ::deflate(&zip, Z_FINISH);
  out.resize(zip.total_out);
  ::deflateEnd(&zip);
  return out;
}
