// IDX files, plain and compressed: no element is made up, and none is left out.
#include "memory.hpp"
#include "target.hpp"
#include "tenon/data.hpp"

TENON_FUZZ_TARGET(idx) {
  const MemorySource file(bytes);
  accepted([&] {
    const Tensor x = data::detail::read_idx_elements(file);
    const bool packed = bytes.starts_with("\x1f\x8b");
    const uint64_t head = 4 + 4 * static_cast<uint64_t>(x.ndim());
    require(packed || x.nbytes() + head == bytes.size(), "bytes were left out");
    require(x.nbytes() <= 1032 * bytes.size(), "more than deflate can give");
  });
}
