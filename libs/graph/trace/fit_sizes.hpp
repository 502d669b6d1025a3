// Traces of one function at several sizes of its inputs, as one graph.
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

// Which sizes to trace at, and what numbers of the graph are of them. Each number that differs between traces is fitted: a sum of
// products of dims, and of what it is rounded down, or no more or less than. Traces that were not used to find it have to agree.
class SizeFit {
 public:
  SizeFit(std::vector<Dim> dims, std::vector<bool> declared_min);

  // The sizes of the next trace.
  const std::vector<int64_t>& next() const { return next_; }
  // Takes that trace; whether another one is wanted. Throws Error(TN_FAILED_PRECONDITION) with the op that calls for other ops, or
  // another number than its sizes tell, at other sizes.
  bool add(Traced traced);
  // The function failed at these sizes. Where they are a check that nobody asked for, the dim begins behind it; else this throws.
  bool failed();
  // After the last one: for the sizes of `example` where the dims may have them. `inputs`: Sizes::inputs.
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
  // A size at which one dim is traced, with the others as usual, to see whether the formulas hold.
  struct Check {
    uint32_t dim;
    int64_t size;
  };
  std::vector<Check> checks_;  // the next one last
  std::vector<Check> wanted_;  // sizes that are fitted too, as formulas do not hold there
  Check checked_{};
  std::vector<int64_t> next_;
  bool checking_ = false;
  int extra_ = 0;
  Graph fitted_;
};

}  // namespace tenon::graph
