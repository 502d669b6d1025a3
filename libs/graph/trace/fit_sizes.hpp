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
  // What of a dim somebody asked for.
  struct Declared {
    bool min, multiple;
  };
  SizeFit(std::vector<Dim> dims, std::vector<Declared> declared);

  // The sizes for the next trace.
  const std::vector<int64_t>& next() const { return next_; }
  // Takes that trace. Returns whether another one is needed. Throws Error(TN_FAILED_PRECONDITION) with the op, if the function calls other
  // ops at other sizes or a number follows no formula.
  bool add(Traced traced);
  // The function failed at these sizes. If they were only a check, the dim's range begins after them; otherwise it may take only
  // larger sizes, or multiples of a divisor of the sizes of `example`: these are searched for once. Throws if there is none.
  bool failed(std::span<const int64_t> example);
  // Whether the error that add() or failed() threw is that the function failed at sizes that it has to take.
  bool function_failed() const { return function_failed_; }
  // After the last trace: the graph, at the sizes of `example` if the dims allow them. `inputs`: Sizes::inputs.
  Graph take(std::vector<std::vector<int32_t>> inputs, std::span<const int64_t> example);

 private:
  bool advance();
  bool fit();
  void find_lifted();
  bool separate(const Formulas& formulas, const Formulas::Ambiguous& of);
  void plan_checks();
  bool next_check();
  bool check(Traced traced);
  bool is_as_fitted(const Traced& traced) const;
  void begin_behind_check(const std::string& why);
  bool search();
  bool search_least();
  bool searched(bool fits);
  [[noreturn]] void refuse_function(const std::string& why);

  std::vector<Dim> dims_;
  std::vector<Declared> declared_;
  std::vector<Probe> probes_;
  Known constants_;
  std::vector<uint32_t> lifted_;  // buffers of tensors from outside that follow the sizes
  // A check of the formulas: one dim is traced at this size, the others at their usual ones.
  struct Check {
    uint32_t dim;
    int64_t size;
  };
  std::vector<Check> checks_;  // the next one is last
  std::vector<Check> wanted_;  // sizes to fit as well, because the formulas do not hold there
  Check checked_{};
  std::vector<int64_t> next_;
  // The sizes that the function takes, dim by dim, with the other dims as in the example: first their multiple, at sizes that nothing else
  // divides, then the least.
  struct Search {
    std::vector<int64_t> example;
    std::vector<Dim> found;  // so far; the last is on trial
    std::string why;         // what to refuse with if nothing is found
    int64_t fails = 0,
            fits = 0;  // while the least is sought: the greatest and the least known of each
  };
  std::optional<Search> search_;
  bool has_searched_ = false;
  bool checking_ = false;
  bool function_failed_ = false;
  int extra_ = 0;
  Graph fitted_;
};

}  // namespace tenon::graph
