#include "places.hpp"

#include <algorithm>
#include <map>

namespace tenon::cpu {
namespace {

constexpr int kAlways = -1;  // before the first tile

struct Life {
  int first = kAlways, last = kAlways;
  int64_t bytes = 0;
};

}  // namespace

void assign_places(Fused& fused, size_t end) {
  const size_t begin = fused.operands.size() + fused.numbers.size();
  const int64_t elements = fused.tiling.rows * fused.tiling.columns;
  std::vector<Life> lives(end - begin);
  for (const Step& step : fused.once) lives[step.to.place - begin].bytes = elements * step.size;
  for (size_t s = 0; s < fused.steps.size(); ++s) {
    const Step& step = fused.steps[s];
    const auto at = static_cast<int>(s);
    each_read(fused, step, [&](uint16_t place) {
      if (place >= begin) lives[place - begin].last = at;
    });
    each_write(fused, step, [&](uint16_t place) {
      if (place >= begin) lives[place - begin] = {at, at, elements * step.size};
    });
  }
  fused.offsets.assign(lives.size(), 0);
  std::multimap<int64_t, int64_t> free;  // bytes, offset
  const auto take = [&](size_t p) {
    const auto found = free.find(lives[p].bytes);
    if (found != free.end()) {
      fused.offsets[p] = found->second;
      free.erase(found);
      return;
    }
    fused.offsets[p] = fused.bytes;
    fused.bytes += (lives[p].bytes + 63) / 64 * 64;
  };
  for (size_t p = 0; p < lives.size(); ++p)
    if (lives[p].first == kAlways && lives[p].bytes != 0) take(p);
  for (size_t s = 0; s < fused.steps.size(); ++s) {
    const auto at = static_cast<int>(s);
    const auto release = [&](size_t p) { free.emplace(lives[p].bytes, fused.offsets[p]); };
    // A stretch may write where it reads; a reduction, a move or a chain may not.
    const bool in_place = fused.steps[s].kind == Step::Kind::kCompute;
    const auto dying = [&](const Life& life) {
      return life.first != kAlways && life.first < at && life.last == at;
    };
    for (size_t p = 0; in_place && p < lives.size(); ++p)
      if (dying(lives[p])) release(p);
    for (size_t p = 0; p < lives.size(); ++p)
      if (lives[p].first == at) take(p);
    for (size_t p = 0; p < lives.size(); ++p)
      if (lives[p].first == at && lives[p].last == at) release(p);
    for (size_t p = 0; !in_place && p < lives.size(); ++p)
      if (dying(lives[p])) release(p);
  }
}

}  // namespace tenon::cpu
