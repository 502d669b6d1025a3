// A random permutation: the stable argsort of draws.
#include <algorithm>
#include <bit>
#include <vector>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "tenon/philox.hpp"
#include "tenon/schemas.h"
#include "threads.hpp"

namespace tenon::cpu {
namespace {

struct Key {
  uint64_t draw;
  int64_t index;
  bool operator<(const Key& other) const {
    return draw != other.draw ? draw < other.draw : index < other.index;
  }
};

// The draws are spread evenly, so a first distribution by their upper bits leaves about one
// in each bucket.
std::vector<Key> sorted_keys(uint64_t seed, uint64_t offset, int64_t n) {
  const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) - 1);
  std::vector<uint64_t> draws(static_cast<size_t>(n));
  parallel_for((n + 1) / 2, kGrainHeavy, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const philox::Block block = philox::block(seed, offset + static_cast<uint64_t>(b));
      for (int64_t i = 2 * b; i < std::min(n, 2 * b + 2); ++i)
        draws[static_cast<size_t>(i)] = philox::draw64(block, static_cast<uint64_t>(i));
    }
  });
  std::vector<size_t> start((size_t{1} << bits) + 1);
  for (uint64_t draw : draws) ++start[(draw >> (64 - bits)) + 1];
  for (size_t b = 1; b < start.size(); ++b) start[b] += start[b - 1];
  std::vector<Key> keys(static_cast<size_t>(n));
  std::vector<size_t> next(start.begin(), start.end() - 1);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t draw = draws[static_cast<size_t>(i)];
    keys[next[draw >> (64 - bits)]++] = {draw, i};
  }
  for (size_t b = 0; b + 1 < start.size(); ++b)
    if (start[b + 1] - start[b] > 1)
      std::sort(keys.begin() + static_cast<int64_t>(start[b]),
                keys.begin() + static_cast<int64_t>(start[b + 1]));
  return keys;
}

void randperm(const tn_call& call) {
  const tn_view& out = output(call);
  const sdk::Call args(call);
  const std::vector<Key> keys = sorted_keys(args.seed(arg::randperm::generator),
                                            args.offset(arg::randperm::generator), numel(out));
  visit_dtype<TN_MASK_INT>(out.dtype, [&]<class T>(Tag<T>) {
    T* to = data_of<T>(out);
    for (size_t i = 0; i < keys.size(); ++i) to[i] = static_cast<T>(keys[i].index);
  });
}

}  // namespace

void add_random_randperm_kernels(KernelList& list) {
  list.add({.schema = TN_SCHEMA_RANDPERM, .dtypes = TN_MASK_INT, .run = run_of<randperm>});
}

}  // namespace tenon::cpu
