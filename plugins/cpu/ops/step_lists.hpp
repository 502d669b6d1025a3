// Lists of tensors as optimizer steps take them: entry k of every list belongs to parameter k, and
// all have its shape.
#pragma once

#include <memory>
#include <vector>

#include "dispatch.hpp"
#include "kernels.hpp"
#include "threads.hpp"

namespace tenon::cpu {

// Lists [parameters, gradients, state…] of one parameter as flat memory of `n` elements each.
constexpr uint32_t kMaxLists = 5;
struct Parameter {
  tn_dtype dtype;
  int64_t n;
  char* data[kMaxLists];
};

// The parameters of a call. For what lies otherwise than its parameter, or with gaps, copies stand in, which finish() writes back.
class StepLists {
 public:
  // `lists` are argument indices; those with `written` false are only read.
  StepLists(const tn_call& call, std::vector<uint32_t> lists);
  const std::vector<Parameter>& parameters() const { return parameters_; }
  int64_t total() const { return total_; }
  void finish();

 private:
  struct Copy {
    const tn_view *view, *param;
    std::unique_ptr<char[]> bytes;
    bool written;
  };
  std::vector<Parameter> parameters_;
  std::vector<Copy> copies_;
  int64_t total_ = 0;
};

// visit(parameter, begin, end) over all elements of all parameters, spread evenly over threads.
template <class Visit>
void each_part(const StepLists& lists, Visit&& visit) {
  const std::vector<Parameter>& all = lists.parameters();
  parallel_for(lists.total(), kGrainMath, [&](int64_t begin, int64_t end) {
    int64_t start = 0;
    for (const Parameter& parameter : all) {
      const int64_t first = std::max(begin, start) - start,
                    last = std::min(end, start + parameter.n) - start;
      if (first < last) visit(parameter, first, last);
      start += parameter.n;
    }
  });
}

}  // namespace tenon::cpu
