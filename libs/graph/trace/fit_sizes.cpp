#include "trace/fit_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "run/agree.hpp"
#include "trace/derived.hpp"
#include "trace/fit.hpp"
#include "trace/fit_numbers.hpp"
#include "trace/fit_structure.hpp"
#include "trace/lift.hpp"

namespace tenon::graph {
namespace {

constexpr size_t kProbes = 7;
constexpr int kMostExtra = 16;
constexpr int64_t kMostMultiple = 256;  // that is searched for
// For dims without a maximum. Odd and even sizes with every remainder by 3 and 4, no two in the same ratio.
constexpr std::array<int64_t, kProbes> kSizes = {12, 17, 23, 38, 64, 251, 1030};
// The same for multiples, so that they do not grow beyond the others.
constexpr std::array<int64_t, kProbes> kUnits = {5, 6, 7, 9, 11, 16, 23};
const int64_t kUnlimited = Dim{}.max;

// Makes the ends of the range multiples, too.
void round_range(Dim& dim) {
  dim.min = (dim.min + dim.multiple - 1) / dim.multiple * dim.multiple;
  if (dim.max != kUnlimited) dim.max = dim.max / dim.multiple * dim.multiple;
}

// The rests by 8 of trial sizes: layers that halve a size round it up, so odd sizes may fit by luck.
constexpr std::array<int64_t, 4> kRests = {1, 5, 3, 7};

// A size that only `multiple` and its divisors divide, besides itself; 0 if none is as large as the example and within the range.
int64_t trial_size(const Dim& dim, int64_t example, size_t trial) {
  const auto is_prime = [](int64_t n) {
    for (int64_t by = 2; by * by <= n; ++by)
      if (n % by == 0) return false;
    return true;
  };
  int64_t times = std::max<int64_t>({7, example / dim.multiple, dim.min / dim.multiple + 1});
  while (times % 8 != kRests[trial] || !is_prime(times)) ++times;
  return times * dim.multiple <= dim.max ? times * dim.multiple : 0;
}

// The dim's size at one of the probes. They spread over its whole range but avoid the smallest, at which functions call other ops: they
// begin near the example's, of which layers that divide it leave more than 1.
int64_t probe_size(const Dim& of, size_t probe, int64_t example) {
  const Dim dim{{}, of.min / of.multiple, of.max == kUnlimited ? of.max : of.max / of.multiple};
  const int64_t usual = std::clamp<int64_t>(example, kSizes[0], 240) / 12 * 12;
  if (dim.max == kUnlimited) {
    const auto& all = of.multiple == 1 ? kSizes : kUnits;
    const int64_t least = of.multiple == 1 ? usual : all[0];
    const int64_t size = std::max(dim.min, least) + all[probe] - all[0];
    const bool last = of.multiple > 1 && probe + 1 == kProbes;
    return of.multiple * (last ? std::max(size, kSizes.back() / of.multiple) : size);
  }
  const int64_t few = std::clamp<int64_t>(dim.max / 4, 2, usual);
  const int64_t low = std::max(dim.min, std::min(few, dim.max)), range = dim.max - low;
  return of.multiple *
         (low + std::min<int64_t>(range * static_cast<int64_t>(probe) / 6 +
                                      static_cast<int64_t>(probe % 2 == 1 && range > 12),
                                  range));
}

std::string sizes_text(const std::vector<Dim>& dims, std::span<const int64_t> sizes) {
  std::vector<std::string> all;
  for (size_t d = 0; d < dims.size(); ++d)
    all.push_back(fmt::format("{} = {}", dims[d].name, sizes[d]));
  return fmt::format("{}", fmt::join(all, ", "));
}

bool is_constant(const Node& node, const Constants& constants) {
  return !node.results.empty() && std::ranges::all_of(node.results, [&](const View& view) {
    return constants.contains(view.buffer);
  });
}

// Keeps the buffers that hold their value whenever a node reads them that is not itself replaced by a constant.
void keep_final(const Traced& traced, Constants& constants) {
  const auto& nodes = traced.graph.nodes;
  std::unordered_map<uint32_t, size_t> last;  // the last node that writes to a buffer
  std::unordered_map<uint32_t, int> writers;
  std::vector<uint32_t> touched;
  for (size_t i = 0; i < nodes.size(); ++i, touched.clear()) {
    writes(nodes[i], touched);
    for (const uint32_t b : touched) {
      last[b] = i;
      const bool result = std::ranges::count(nodes[i].results, b, &View::buffer) != 0;
      if (!result || i >= traced.known_after(b)) constants.erase(b);
      ++writers[b];
    }
  }
  for (size_t before = 0; before != constants.size();) {
    before = constants.size();
    for (size_t i = 0; i < nodes.size(); ++i, touched.clear()) {
      if (is_constant(nodes[i], constants)) continue;
      reads(nodes[i], touched);
      for (const uint32_t b : touched)
        if (writers[b] > 1 && i < last[b]) constants.erase(b);
      touched.clear();
      writes(nodes[i], touched);  // what writes to other buffers as well stays
      for (const uint32_t b : touched) constants.erase(b);
    }
  }
}

// Values computed only from outside tensors that are equal at all sizes, so that runs need not compute them.
Constants constants_of(const std::vector<Probe>& probes) {
  Constants found;
  for (const auto& [buffer, value] : probes[0].traced.known) {
    const auto same_there = [&, b = buffer, &mine = value.elements](const Probe& probe) {
      const auto there = probe.traced.known.find(b);
      return there != probe.traced.known.end() && same_tensor(mine, there->second.elements);
    };
    if (std::ranges::all_of(probes, same_there)) found.emplace(buffer, value.elements);
  }
  keep_final(probes[0].traced, found);
  return found;
}

void fold(Graph& graph, const Constants& constants) {
  std::erase_if(graph.nodes, [&](const Node& node) { return is_constant(node, constants); });
  for (const auto& [b, value] : constants) {
    if (b >= graph.buffers.size() || graph.buffers[b].role != Role::Temporary) continue;
    graph.buffers[b].role = Role::Constant;
    graph.buffers[b].constant = value;
  }
  drop_dead(graph);
  drop_unused(graph);
}

}  // namespace

SizeFit::SizeFit(std::vector<Dim> dims, std::vector<Declared> declared)
    : dims_(std::move(dims)), declared_(std::move(declared)), example_(dims_.size()) {
  for (Dim& dim : dims_) {
    const Dim asked = dim;
    round_range(dim);
    if (asked.min < 0 || dim.max < dim.min)
      throw Error(TN_INVALID_ARGUMENT,
                  fmt::format("[graph] {} of {} to {} sizes", dim.name, asked.min, asked.max));
  }
  advance();
}

void SizeFit::begin_near(size_t dim, int64_t size) {
  if (example_[dim] == size || !probes_.empty() || search_ || checking_) return;
  example_[dim] = size;
  advance();
}

// Chooses the sizes of the next trace to fit. Dims step through their sizes at different paces. False if no more are needed.
bool SizeFit::advance() {
  const size_t probe = probes_.size();
  if (!wanted_.empty()) {
    next_ = probes_[0].dims;
    next_[wanted_.back().dim] = wanted_.back().size;
    wanted_.pop_back();
    return true;
  }
  if (probe >= kProbes) return false;
  next_.clear();
  for (size_t d = 0; d < dims_.size(); ++d) {
    // Only one dim is at its largest at a time, because what the function makes on the host may be of their product.
    const size_t largest = (2 * kProbes - 1 - d % kProbes) % kProbes;
    const size_t step = (probe + kProbes - largest) * (d % 6 + 1);
    next_.push_back(probe_size(dims_[d], (step + kProbes - 1) % kProbes, example_[d]));
  }
  return true;
}

bool SizeFit::add(Traced traced) {
  if (search_) return searched(true);
  if (checking_) return check(std::move(traced));
  if (!probes_.empty()) traced.calls.reset();  // the constants are those of the first
  probes_.push_back({next_, std::move(traced)});
  if (advance()) return true;
  return fit();
}

bool SizeFit::fit() {
  constants_ = constants_of(probes_);
  find_lifted();
  std::vector<Graph> graphs;
  std::vector<std::vector<int64_t>> sizes;
  for (const Probe& probe : probes_) {
    graphs.push_back(probe.traced.graph);
    sizes.push_back(probe.dims);
    lift(graphs.back(), lifted_);
    fold(graphs.back(), constants_);
    check_structure(graphs[0], graphs.back(), sizes_text(dims_, probe.dims));
    check_held(graphs[0], graphs.back());
  }
  const Numbered numbered(graphs, sizes, dims_);
  if (numbered.formulas().ambiguous() && extra_ < kMostExtra &&
      separate(numbered.formulas(), *numbered.formulas().ambiguous()))
    return true;
  fitted_ = std::move(graphs[0]);
  fitted_.sizes.dims = dims_;
  fitted_.sizes.sizes = numbered.formulas().sizes();
  fitted_.sizes.varying = numbered.varying();
  plan_checks();
  return next_check();
}

void SizeFit::find_lifted() {
  lifted_.clear();
  for (const Probe& probe : probes_) {
    const auto found = numbers_that_differ(probes_[0].traced.graph, probe.traced.graph);
    lifted_.insert(lifted_.end(), found.begin(), found.end());
  }
  std::ranges::sort(lifted_);
  lifted_.erase(std::unique(lifted_.begin(), lifted_.end()), lifted_.end());
}

// Chooses sizes that refute one of two formulas between which the probes cannot decide.
bool SizeFit::separate(const Formulas& formulas, const Formulas::Ambiguous& of) {
  ++extra_;
  const Sizes sizes{dims_, {}, formulas.sizes(), {}};
  const int64_t middle = of.low + (of.high - of.low + 1) / 2;
  for (size_t d = 0; d < dims_.size(); ++d)
    for (int64_t step = 0; step < 4 * of.by; ++step) {
      std::vector<int64_t> at = probes_[0].dims;
      at[d] += step * dims_[d].multiple;
      if (at[d] > dims_[d].max) break;
      const auto values = evaluate(sizes, at);
      const int64_t value = of.of < dims_.size() ? at[of.of] : values[of.of - dims_.size()];
      const int64_t sum = of.factor * value + middle;
      if (((sum % of.by) + of.by) % of.by != 0) continue;
      next_ = std::move(at);
      return true;
    }
  return false;
}

// The smallest sizes, where slices end early and functions call other ops; the smallest comes last.
void SizeFit::plan_checks() {
  checks_.clear();
  known_.clear();
  for (uint32_t d = 0; d < dims_.size(); ++d) {
    known_.push_back({-1, probes_[0].dims[d]});
    for (const int64_t more : {0, 1, 2, 5}) {
      const int64_t by = dims_[d].multiple, size = std::max(dims_[d].min, by) + more * by;
      if (size >= probes_[0].dims[d] || size > dims_[d].max) break;
      checks_.push_back({d, size});
    }
  }
  checking_ = true;
}

bool SizeFit::next_check() {
  if (checks_.empty()) return false;
  checked_ = checks_.back();
  checks_.pop_back();
  next_ = probes_[0].dims;
  next_[checked_.dim] = checked_.size;
  return true;
}

bool SizeFit::is_as_fitted(const Traced& traced) const {
  bool known = true;
  for (const auto& [buffer, value] : constants_) {
    const auto there = traced.known.find(buffer);
    known = known && there != traced.known.end() && same_tensor(value, there->second.elements);
  }
  Graph graph = traced.graph;
  if (!lift(graph, lifted_)) return false;
  fold(graph, known ? constants_ : Constants());
  try {
    const Graph expected = concrete(fitted_, next_);
    const bool smallest = checked_.size == dims_[checked_.dim].multiple;
    return (known && alike(expected, graph)) || (smallest && agree(expected, graph));
  } catch (const Error&) {  // a number that depends on sizes differs here
    return false;
  }
}

bool SizeFit::calls_the_same(const Traced& traced) const {
  Graph graph = traced.graph;
  if (!lift(graph, lifted_)) return false;
  fold(graph, constants_);
  try {
    check_structure(fitted_, graph, "");
  } catch (const Error&) {
    return false;
  }
  return true;
}

bool SizeFit::check(Traced traced) {
  const Dim& dim = dims_[checked_.dim];
  if (is_as_fitted(traced)) {
    known_[checked_.dim].fits = checked_.size;
    check_between();
    return next_check();
  }
  const bool excluded =
      known_[checked_.dim].fails >= 0 || (!declared_[checked_.dim].min && !calls_the_same(traced));
  if (checked_.size == dim.multiple || excluded) {
    begin_behind_check("it calls other ops, or gives other numbers");
    return next_check();
  }
  // Something that the other probes did not show, such as the end of a slice. It is fitted as well, or refused.
  if (++extra_ > kMostExtra)
    refuse(fmt::format("what the function calls at {} does not follow from other sizes",
                       sizes_text(dims_, next_)));
  checking_ = false;
  probes_.push_back({next_, std::move(traced)});
  for (const int64_t more : {0, 1, 2, 3, 5}) {
    const int64_t size = std::max(dim.min, 2 * dim.multiple) + more * dim.multiple;
    if (size != checked_.size && size <= dim.max) wanted_.push_back({checked_.dim, size});
  }
  return advance() || fit();
}

bool SizeFit::failed() {
  if (search_) return searched(false);
  if (!checking_ && probes_.size() > kProbes && advance()) return true;  // do without this probe
  if (!checking_) {
    const std::string why = fmt::format(
        "the function fails where {}: declare the sizes that it takes", sizes_text(dims_, next_));
    if (std::exchange(has_searched_, true)) refuse_function(why);
    search_ = Search{};
    search_->why = why;
    return search();
  }
  begin_behind_check("the function fails");
  return next_check();
}

void SizeFit::refuse_function(const std::string& why) {
  function_failed_ = true;
  refuse(why);
}

// The next trial, of the next dim; after the last dim, the first probe of what was found.
bool SizeFit::search() {
  std::vector<Dim>& found = search_->found;
  while (found.size() < dims_.size()) {
    found.push_back(dims_[found.size()]);
    next_ = example_;
    search_->what = Search::For::Multiple;
    search_->trial = search_->tried = 0;
    if (search_multiple(true) || search_ends()) return true;
  }
  const auto same = [](const Dim& a, const Dim& b) {
    return a.multiple == b.multiple && a.min == b.min && a.max == b.max;
  };
  if (std::ranges::equal(found, dims_, same)) refuse_function(search_->why);
  dims_ = std::move(found);
  search_.reset();
  probes_.clear();
  return advance();
}

// The next trial of the dim's multiple: several sizes have to fit; else it is the next larger divisor of the example's size. False if the
// multiple is known, or if there is none.
bool SizeFit::search_multiple(bool fits) {
  Dim& dim = search_->found.back();
  const size_t d = search_->found.size() - 1;
  const int64_t size = example_[d], asked = dims_[d].multiple;
  search_->what = Search::For::Least;
  if (declared_[d].multiple) return false;
  if (!fits) {
    search_->trial = search_->tried = 0;
    do ++dim.multiple;
    while (dim.multiple <= size && size % dim.multiple != 0);
  }
  while (dim.multiple <= std::min(size, kMostMultiple) && search_->trial < kRests.size()) {
    next_[d] = trial_size(dim, size, search_->trial++);
    if (next_[d] == 0) continue;
    ++search_->tried;
    search_->what = Search::For::Multiple;
    return true;
  }
  if (search_->tried == 0) dim.multiple = asked;
  round_range(dim);
  return false;
}

// The next trial of the dim's least size, then of its greatest, between one that fails and one that fits. False if none is left.
bool SizeFit::search_ends() {
  Dim& dim = search_->found.back();
  const size_t d = search_->found.size() - 1;
  const int64_t by = dim.multiple, size = example_[d];
  int64_t &fails = search_->fails, &fits = search_->fits;
  while (search_->what != Search::For::Nothing) {
    const bool least = search_->what == Search::For::Least;
    if (fits == 0) {
      const int64_t end = probe_size(dim, least ? 0 : kProbes - 1, size);
      const bool asked = least ? declared_[d].min : dim.max != kUnlimited;
      if (!asked && size % by == 0 && (least ? end < size : end > size)) {
        fits = size;
        next_[d] = end;
        return true;
      }
    } else if (fails != 0) {
      next_[d] = (fails / by + fits / by) / 2 * by;
      if (next_[d] != fails && next_[d] != fits) return true;
      (least ? dim.min : dim.max) = fits;
    }
    fails = fits = 0;
    next_[d] = size;
    search_->what = least ? Search::For::Greatest : Search::For::Nothing;
  }
  return false;
}

// Takes the outcome of a trial.
bool SizeFit::searched(bool fits) {
  if (search_->what == Search::For::Multiple) {
    if (search_multiple(fits)) return true;
  } else {
    (fits ? search_->fits : search_->fails) = next_[search_->found.size() - 1];
  }
  return search_ends() || search();
}

// The dim begins with a greater size, unless somebody asked for this one.
void SizeFit::begin_behind_check(const std::string& why) {
  if (declared_[checked_.dim].min || dims_[checked_.dim].max == checked_.size)
    refuse(fmt::format("{} where {}: declare the sizes that the function takes", why,
                       sizes_text(dims_, next_)));
  known_[checked_.dim].fails = checked_.size;
  std::erase_if(checks_, [&](const Check& one) {
    return one.dim == checked_.dim && one.size <= checked_.size;
  });
  check_between();
}

// Once a size of the dim just checked did not hold, the dim begins with the least that did, and the middle between the two is checked.
void SizeFit::check_between() {
  const Checked& known = known_[checked_.dim];
  if (known.fails < 0) return;
  Dim& dim = dims_[checked_.dim];
  dim.min = fitted_.sizes.dims[checked_.dim].min = known.fits;
  const int64_t by = dim.multiple, middle = (known.fails / by + known.fits / by) / 2 * by;
  if (middle > known.fails && middle < known.fits) checks_.push_back({checked_.dim, middle});
}

Graph SizeFit::take(std::vector<std::vector<int32_t>> inputs) {
  bool fits = true;
  for (size_t d = 0; d < dims_.size(); ++d)
    fits = fits && example_[d] >= dims_[d].min && example_[d] <= dims_[d].max &&
           example_[d] % dims_[d].multiple == 0;
  fitted_.sizes.inputs = std::move(inputs);
  if (const auto& calls = probes_[0].traced.calls) fitted_.derived = Derived::of(*calls, fitted_);
  if (!fits) return std::move(fitted_);
  Graph made = concrete(fitted_, example_);
  made.sizes = std::move(fitted_.sizes);
  return made;
}

}  // namespace tenon::graph
