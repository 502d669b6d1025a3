// A library as a plugin may carry it, in two versions with the same names but other layouts, virtual functions and values. It has
// everything that makes C++ libraries collide within one process: inline functions with statics, static members of templates (which gcc
// marks unique for the whole process), vtables, type information, thread-local and global objects.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef ACME_VERSION
#error "compile with -DACME_VERSION=1 or 2"
#endif

namespace acme {

#if ACME_VERSION == 1
struct State {
  int64_t calls = 0;
  float scale = 2;
};
#else
struct State {
  double history[32] = {};
  std::string name = "the second version has a name that does not fit into the string itself";
  int64_t calls = 0;
  float scale = 3;
};
#endif

inline State& state() {
  static State made;
  return made;
}

template <class T>
struct Registry {
  static inline std::vector<T> entries{};
};

inline thread_local int64_t calls_of_thread = 0;

class Failure : public std::runtime_error {
 public:
  explicit Failure(float x);
  ~Failure() override;
#if ACME_VERSION == 2
  std::string where = "a second version tells where, in more words than fit into the string itself";
#endif
  float value = 0;
};

class Codec {
 public:
  virtual ~Codec();
#if ACME_VERSION == 2
  virtual float prepare(float x) const;  // takes the slot that apply has in the first version
#endif
  virtual float apply(float x) const;  // throws Failure for negative numbers
};

extern Codec* const codec;
extern "C" float acme_offset(void);

}  // namespace acme
