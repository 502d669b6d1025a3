// Memory between two pages that nobody may touch, so that a step beyond either end ends the process there and then.
#pragma once

#include <cstddef>

namespace tenon::fuzz {

class Guarded {
 public:
  enum class At { Start, End };  // which end of the bytes lies at a forbidden page

  // `shift`: bytes that data() lies further on, to take it off its alignment.
  Guarded(size_t bytes, At at, size_t shift);
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded();

  char* data() const { return data_; }  // never NULL, also of no bytes
  size_t size() const { return bytes_; }
  void seal();          // from here on writing ends the process, too
  bool intact() const;  // false where the rest of the first or last page was written to

 private:
  char* pages_;  // the first forbidden page
  size_t inner_;
  char* data_;
  size_t bytes_;
};

}  // namespace tenon::fuzz
