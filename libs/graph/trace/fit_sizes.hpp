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

// Values of buffers, by number, that are the same at all sizes.
using Constants = std::unordered_map<uint32_t, Tensor>;

// Chooses the sizes to trace at and finds how the graph's numbers depend on them. Each number that differs between traces is fitted by a
// sum of products of dims, or by such a sum rounded down or limited. Traces that the fit did not use must agree with it.
class SizeFit {
 public:
  // What of a dim somebody asked for.
  struct Declared {
    bool min, multiple;
  };
  SizeFit(std::vector<Dim> dims, std::vector<Declared> declared);

  // The size of a dim in the caller's example, near which the sizes of traces begin. Before the first trace takes the dim.
  void begin_near(size_t dim, int64_t size);
  // The sizes for the next trace.
  const std::vector<int64_t>& next() const { return next_; }
  // Takes that trace. Returns whether another one is needed. Throws Error(TN_FAILED_PRECONDITION) with the op, if the function calls other
  // ops at other sizes or a number follows no formula.
  bool add(Traced traced);
  // The function failed at these sizes. If they were only a check, the dim's range begins after them; otherwise it may take only
  // larger or smaller sizes, or multiples of a divisor of the sizes of the example: these are searched for once. Throws if there is none.
  bool failed();
  // Whether the error that add() or failed() threw is that the function failed at sizes that it has to take.
  bool function_failed() const { return function_failed_; }
  // After the last trace: the graph, at the sizes of the example if the dims allow them. `inputs`: Sizes::inputs.
  Graph take(std::vector<std::vector<int32_t>> inputs);

 private:
  bool advance();
  bool fit();
  void find_lifted();
  bool separate(const Formulas& formulas, const Formulas::Ambiguous& of);
  void plan_checks();
  bool next_check();
  bool check(Traced traced);
  bool is_as_fitted(const Traced& traced) const;
  bool calls_the_same(const Traced& traced) const;
  void begin_behind_check(const std::string& why);
  void check_between();
  bool search();
  bool search_multiple(bool fits);
  bool search_ends();
  bool searched(bool fits);
  [[noreturn]] void refuse_function(const std::string& why);

  std::vector<Dim> dims_;
  std::vector<Declared> declared_;
  std::vector<int64_t> example_;
  std::vector<Probe> probes_;
  Constants constants_;
  std::vector<uint32_t> lifted_;  // buffers of tensors from outside that follow the sizes
  // A check of the formulas: one dim is traced at this size, the others at their usual ones. Where it does not hold, more checks find the
  // size at which the dim has to begin.
  struct Check {
    uint32_t dim;
    int64_t size;
  };
  std::vector<Check> checks_;  // the next one is last
  struct Checked {
    int64_t fails = -1, fits = 0;  // the greatest size that does not hold, the least that does
  };
  std::vector<Checked> known_;  // by dim
  std::vector<Check> wanted_;   // sizes to fit as well, because the formulas do not hold there
  Check checked_{};
  std::vector<int64_t> next_;
  // The sizes that the function takes, dim by dim, with the other dims as in the example: their multiple, at sizes that nothing else
  // divides, then the least, then the greatest.
  struct Search {
    enum class For : uint8_t { Multiple, Least, Greatest, Nothing };
    std::vector<Dim> found;  // so far; the last is on trial
    std::string why;         // what to refuse with if nothing is found
    For what = For::Multiple;
    size_t trial = 0, tried = 0;  // of the multiple
    int64_t fails = 0, fits = 0;  // the nearest to the end that are known
  };
  std::optional<Search> search_;
  bool has_searched_ = false;
  bool checking_ = false;
  bool function_failed_ = false;
  int extra_ = 0;
  Graph fitted_;
};

}  // namespace tenon::graph
