#include "trace/fit_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "run/agree.hpp"
#include "trace/fit.hpp"
#include "trace/fit_numbers.hpp"
#include "trace/fit_structure.hpp"

namespace tenon::graph {
namespace {

constexpr size_t kProbes = 7;
constexpr int kMostExtra = 16;
// For dims without a maximum. Odd and even sizes with every remainder by 3 and 4, no two in the same ratio.
constexpr std::array<int64_t, kProbes> kSizes = {12, 17, 23, 38, 64, 251, 1030};
const int64_t kUnlimited = Dim{}.max;

// The dim's size at one of the probes. They spread over its whole range but avoid 1, at which functions call other ops.
int64_t probe_size(const Dim& dim, size_t probe) {
  const int64_t low = std::max<int64_t>(dim.min, std::min<int64_t>(2, dim.max));
  if (dim.max == kUnlimited) return low <= 12 ? kSizes[probe] : low + kSizes[probe] - 12;
  const int64_t range = dim.max - low;
  return low + std::min<int64_t>(range * static_cast<int64_t>(probe) / 6 +
                                     static_cast<int64_t>(probe % 2 == 1 && range > 12),
                                 range);
}

std::string sizes_text(const std::vector<Dim>& dims, std::span<const int64_t> sizes) {
  std::vector<std::string> all;
  for (size_t d = 0; d < dims.size(); ++d)
    all.push_back(fmt::format("{} = {}", dims[d].name, sizes[d]));
  return fmt::format("{}", fmt::join(all, ", "));
}

// Values computed only from outside tensors that are equal at all sizes, so that runs need not compute them.
Known constants_of(const std::vector<Probe>& probes) {
  Known found;
  std::unordered_map<uint32_t, int> writers;
  std::vector<uint32_t> written;
  for (const Node& node : probes[0].traced.graph.nodes) writes(node, written);
  for (const uint32_t buffer : written) ++writers[buffer];
  for (const auto& [buffer, value] : probes[0].traced.known) {
    if (writers[buffer] != 1) continue;  // another node writes to it later
    const auto same_there = [&, b = buffer, &mine = value](const Probe& probe) {
      const auto there = probe.traced.known.find(b);
      return there != probe.traced.known.end() && same_tensor(mine, there->second);
    };
    if (std::ranges::all_of(probes, same_there)) found.emplace(buffer, value);
  }
  return found;
}

void fold(Graph& graph, const Known& constants) {
  std::erase_if(graph.nodes, [&](const Node& node) {
    return !node.results.empty() && std::ranges::all_of(node.results, [&](const View& view) {
      return constants.contains(view.buffer);
    });
  });
  for (const auto& [b, value] : constants) {
    if (b >= graph.buffers.size() || graph.buffers[b].role != Role::Temporary) continue;
    graph.buffers[b].role = Role::Constant;
    graph.buffers[b].constant = value;
  }
  drop_dead(graph);
  drop_unused(graph);
}

}  // namespace

SizeFit::SizeFit(std::vector<Dim> dims, std::vector<bool> declared_min)
    : dims_(std::move(dims)), declared_min_(std::move(declared_min)) {
  for (const Dim& dim : dims_)
    if (dim.min < 0 || dim.max < dim.min)
      throw Error(TN_INVALID_ARGUMENT,
                  fmt::format("[graph] {} of {} to {} sizes", dim.name, dim.min, dim.max));
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
  for (size_t d = 0; d < dims_.size(); ++d)
    next_.push_back(probe_size(dims_[d], (probe * (d % 6 + 1) + d) % kProbes));
  return true;
}

bool SizeFit::add(Traced traced) {
  if (checking_) return check(std::move(traced));
  probes_.push_back({next_, std::move(traced)});
  if (advance()) return true;
  return fit();
}

bool SizeFit::fit() {
  constants_ = constants_of(probes_);
  std::vector<Graph> graphs;
  std::vector<std::vector<int64_t>> sizes;
  for (const Probe& probe : probes_) {
    graphs.push_back(probe.traced.graph);
    sizes.push_back(probe.dims);
    fold(graphs.back(), constants_);
    check_structure(graphs[0], graphs.back(), sizes_text(dims_, probe.dims));
    check_held(graphs[0], graphs.back());
  }
  const Numbered numbered(graphs, sizes, dims_.size());
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

// Chooses sizes that refute one of two formulas between which the probes cannot decide.
bool SizeFit::separate(const Formulas& formulas, const Formulas::Ambiguous& of) {
  ++extra_;
  const Sizes sizes{dims_, {}, formulas.sizes(), {}};
  const int64_t middle = of.low + (of.high - of.low + 1) / 2;
  for (size_t d = 0; d < dims_.size(); ++d)
    for (int64_t step = 0; step < 4 * of.by; ++step) {
      std::vector<int64_t> at = probes_[0].dims;
      at[d] += step;
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
  for (uint32_t d = 0; d < dims_.size(); ++d)
    for (const int64_t more : {0, 1, 2, 5}) {
      const int64_t size = std::max<int64_t>(dims_[d].min, 1) + more;
      if (size >= probes_[0].dims[d] || size > dims_[d].max) break;
      checks_.push_back({d, size});
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
    known = known && there != traced.known.end() && same_tensor(value, there->second);
  }
  Graph graph = traced.graph;
  fold(graph, known ? constants_ : Known());
  try {
    const Graph expected = concrete(fitted_, next_);
    return (known && alike(expected, graph)) || (checked_.size == 1 && agree(expected, graph));
  } catch (const Error&) {  // a number that depends on sizes differs here
    return false;
  }
}

bool SizeFit::check(Traced traced) {
  if (is_as_fitted(traced)) return next_check();
  if (checked_.size == 1) {
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
    const int64_t size = std::max<int64_t>(dims_[checked_.dim].min, 2) + more;
    if (size != checked_.size && size <= dims_[checked_.dim].max)
      wanted_.push_back({checked_.dim, size});
  }
  return advance() || fit();
}

bool SizeFit::failed() {
  if (!checking_ && probes_.size() > kProbes && advance()) return true;  // do without this probe
  if (!checking_)
    refuse(fmt::format("the function fails where {}: declare the sizes that it takes",
                       sizes_text(dims_, next_)));
  begin_behind_check("the function fails");
  return next_check();
}

// The dim then begins with the next size, unless this one was asked for.
void SizeFit::begin_behind_check(const std::string& why) {
  Dim& dim = dims_[checked_.dim];
  if (declared_min_[checked_.dim] || dim.max == checked_.size)
    refuse(fmt::format("{} where {}: declare the sizes that the function takes", why,
                       sizes_text(dims_, next_)));
  dim.min = fitted_.sizes.dims[checked_.dim].min = checked_.size + 1;
  std::erase_if(checks_, [&](const Check& one) {
    return one.dim == checked_.dim && one.size <= checked_.size;
  });
}

Graph SizeFit::take(std::vector<std::vector<int32_t>> inputs, std::span<const int64_t> example) {
  bool fits = true;
  for (size_t d = 0; d < dims_.size(); ++d)
    fits = fits && example[d] >= dims_[d].min && example[d] <= dims_[d].max;
  fitted_.sizes.inputs = std::move(inputs);
  if (!fits) return std::move(fitted_);
  Graph made = concrete(fitted_, example);
  made.sizes = std::move(fitted_.sizes);
  return made;
}

}  // namespace tenon::graph
