// Memory between two pages that may not be touched, so that a step beyond either end ends the process at once.
#pragma once

#include <cstddef>

namespace tenon::fuzz {

class Guarded {
 public:
  enum class At { Start, End };  // which end of the bytes touches a forbidden page

  // `shift`: by how many bytes data() is moved, to break its alignment.
  Guarded(size_t bytes, At at, size_t shift);
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded();

  char* data() const { return data_; }  // never NULL, even for no bytes
  size_t size() const { return bytes_; }
  void seal();          // from now on a write ends the process, too
  bool intact() const;  // false if the rest of the first or last page was written to

 private:
  char* pages_;  // the first forbidden page
  size_t inner_;
  char* data_;
  size_t bytes_;
};

}  // namespace tenon::fuzz
