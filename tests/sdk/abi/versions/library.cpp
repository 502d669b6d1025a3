#include "library.hpp"

namespace acme {

Failure::Failure(float x) : std::runtime_error("negative"), value(-x) {}
Failure::~Failure() = default;
Codec::~Codec() = default;

#if ACME_VERSION == 2
float Codec::prepare(float x) const { return x; }
#endif
float Codec::apply(float x) const {
  ++state().calls;
  ++calls_of_thread;
  if (x < 0) throw Failure(x);
  return x * state().scale + acme_offset();
}

Codec* const codec = new Codec;
extern "C" float acme_offset(void) { return ACME_VERSION == 1 ? 1 : -1; }

}  // namespace acme
