// Distributes reductions over the device and launches the kernels in reduce.hpp.
#pragma once

#include "../common/walks.hpp"
#include "reduce.hpp"

namespace tenon::gpu {

// `ordered` keeps the order of the reduced elements, for reductions that report positions.
FoldShape plan_fold(Walks kept, Walks reduced, bool ordered = false);
FoldShape plan_loop(const tn_call& call, bool ordered = false);  // of the call's loop

// Whether kFoldBlock elements of a view can be read as a vector wherever the plan begins one.
bool starts_even(const tn_view& view);

inline constexpr uint64_t kMostStateBytes = 32;
// Bytes of scratch that a fold needs; 0 if no result is cut.
inline uint64_t fold_scratch(const FoldShape& f) {
  return f.chunks == 1 ? 0 : static_cast<uint64_t>(f.results * f.chunks) * kMostStateBytes;
}
uint32_t lanes_of_columns(int64_t results, int64_t shares);
// A number of blocks of kFoldThreads; kernels loop if there is more work.
inline Grid fold_grid(int64_t blocks) {
  return {{static_cast<uint32_t>(std::min<int64_t>(blocks, 1 << 20)), 1, 1}, {kFoldThreads, 1, 1}};
}

// `views` are laid out as the plan says; the fold's scratch memory begins at `at`.
template <class R>
void run_fold(const tn_call& call, FoldShape f, std::initializer_list<const tn_view*> views,
              const R& r, uint64_t at = 0) {
  using State = typename R::State;
  static_assert(sizeof(State) <= kMostStateBytes);
  if (f.results == 0) return;
  for (const tn_view* view : views) f.together = f.together != 0 && starts_even(*view);
  const int64_t states = f.chunks == 1 ? 0 : f.results * f.chunks;
  const int64_t per = kFoldThreads / f.lanes, blocks = (f.results + per - 1) / per;
  launch(call, fold_grid(blocks * f.chunks), fold_elements<R>, r, f,
         scratch<State>(call, at, states));
  if (f.chunks == 1) return;
  const uint32_t lanes = lanes_of_columns(f.results, f.chunks);
  const int64_t groups = (f.results * lanes + kFoldThreads - 1) / kFoldThreads;
  launch(call, fold_grid(groups), fold_states<R>, r, f.results, f.chunks, lanes,
         scratch<State>(call, at, states));
}

}  // namespace tenon::gpu
