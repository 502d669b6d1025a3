// Merges traces of one function at several input sizes into one graph.
#pragma once

#include "ir/graph.hpp"
#include "trace/formula.hpp"
#include "trace/tracer.hpp"

namespace tenon::graph {

// A trace at these sizes of the dims.
struct Probe {
  std::vector<int64_t> dims;
  Traced traced;
};

// Chooses the sizes to trace at and finds how the graph's numbers depend on them. Each number that differs between traces is fitted by a
// sum of products of dims, or by such a sum rounded down or limited. Traces that the fit did not use must agree with it.
class SizeFit {
 public:
  SizeFit(std::vector<Dim> dims, std::vector<bool> declared_min);

  // The sizes for the next trace.
  const std::vector<int64_t>& next() const { return next_; }
  // Takes that trace. Returns whether another one is needed. Throws Error(TN_FAILED_PRECONDITION) with the op, if the function calls other
  // ops at other sizes or a number follows no formula.
  bool add(Traced traced);
  // The function failed at these sizes. If they were only a check, the dim's range begins after them; otherwise this throws.
  bool failed();
  // After the last trace: the graph, at the sizes of `example` if the dims allow them. `inputs`: Sizes::inputs.
  Graph take(std::vector<std::vector<int32_t>> inputs, std::span<const int64_t> example);

 private:
  bool advance();
  bool fit();
  bool separate(const Formulas& formulas, const Formulas::Ambiguous& of);
  void plan_checks();
  bool next_check();
  bool check(Traced traced);
  bool is_as_fitted(const Traced& traced) const;
  void begin_behind_check(const std::string& why);

  std::vector<Dim> dims_;
  std::vector<bool> declared_min_;
  std::vector<Probe> probes_;
  Known constants_;
  // A check of the formulas: one dim is traced at this size, the others at their usual ones.
  struct Check {
    uint32_t dim;
    int64_t size;
  };
  std::vector<Check> checks_;  // the next one is last
  std::vector<Check> wanted_;  // sizes to fit as well, because the formulas do not hold there
  Check checked_{};
  std::vector<int64_t> next_;
  bool checking_ = false;
  int extra_ = 0;
  Graph fitted_;
};

}  // namespace tenon::graph
