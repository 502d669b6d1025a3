// Distributes reductions over the device, and launches the engine in shaders/reduce.glsl.
#pragma once

#include "../common/walks.hpp"
#include "kernels.hpp"

namespace tenon::vulkan {

struct FoldPlan {
  Walks kept, reduced;
  int64_t results = 1, count = 1;  // elements of each
  uint32_t group_size = 0, log_rows = 0;
  bool even = false;              // elements are contiguous, in rows of at least four
  bool columns = false;           // neighbouring invocations hold neighbouring results
  bool wide = false;              // each holds four, if the inputs are aligned
  int64_t chunk = 0, chunks = 1;  // a result is combined from this many chunks of `chunk` elements
};

FoldPlan plan_fold(Walks kept, Walks reduced, const Device& device);
FoldPlan plan_loop(const tn_call& call);  // of the call's loop
// Whether four elements of a view can be read at a time, because they are aligned from its beginning. Views with negative strides begin
// elsewhere.
bool starts_even(const tn_view* view);

// Where results go: a view, or scratch memory in the computed type.
struct Place {
  const tn_view* view = nullptr;
  uint64_t offset = 0, bytes = 0;
  void bind(Launch& launch) const;
};

struct Fold {
  const Shader& shader;
  Compute compute;
  uint32_t code;
  std::vector<uint32_t> constants;   // dtypes: of the results, of the inputs
  Place outs[2];                     // the second may be missing
  std::vector<const tn_view*> ins;   // the first is laid out as the plan says; NULL if absent
  std::vector<uint32_t> words = {};  // from word 11 on
  uint32_t arrays = 1;               // how many of `ins` are laid out as the plan says
  uint32_t written = 0;              // mask of the `ins` that are also written
  IndexCheck check = {};  // for indices that the shader reads: reported in slot 7, after four ins
  bool heavy = false;     // much code for each element, so it is not repeated
};

// Scratch bytes that a fold needs from `states` on; 0 if no result is cut.
uint64_t fold_scratch(const FoldPlan& plan);
void run_fold(const tn_call& call, const FoldPlan& plan, const Fold& fold, uint64_t states = 0);

// The words of a real attribute P: an f32, then an f64.
std::vector<uint32_t> real_words(double value);

enum Moments : uint32_t { kVar, kMoments };         // as shaders/moments.comp
enum Exps : uint32_t { kLogSum, kExpParts };        // as shaders/exps.comp
enum Pairs : uint32_t { kDot, kCentred, kScaled };  // as shaders/pairs.comp
enum Norm : uint32_t {
  kCounted,
  kSum,
  kRoot,
  kGreatest,
  kSmallest,
  kPowers,
  kRms
};  // as shaders/norm.comp

}  // namespace tenon::vulkan
