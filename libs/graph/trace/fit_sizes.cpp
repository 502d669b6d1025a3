#include "trace/fit_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/numbers.hpp"
#include "ir/schema.hpp"
#include "run/agree.hpp"
#include "trace/fit.hpp"
#include "trace/formula.hpp"

namespace tenon::graph {
namespace {

constexpr size_t kProbes = 7;
constexpr int kMostExtra = 16;
// Where no greatest size is declared. Odd and even, of every remainder by 3 and 4, and no two in one proportion.
constexpr std::array<int64_t, kProbes> kSizes = {12, 17, 23, 38, 64, 251, 1030};
const int64_t kUnlimited = Dim{}.max;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(TN_FAILED_PRECONDITION, "[graph] " + why);
}

// A size of the dim at one of the probes: all over its range, and never 1, at which other ops are called.
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

// Where an op was called, and of what.
std::string place_text(const Node* node, size_t argument) {
  if (node == nullptr) return "an input or a result";
  if (node->op == nullptr) return described(*node) + ": what it takes or gives";
  const auto& known = parameters(*node->op);
  return argument < known.size()
             ? fmt::format("{}: its argument '{}'", described(*node), known[argument].name)
             : fmt::format("{}: its result", described(*node));
}

// The numbers of one graph: whole ones as they are, the others beside them.
struct Numbers {
  std::vector<int64_t> whole;
  std::vector<std::optional<double>> real;  // by place
  std::vector<DType> dtype;                 // of the real ones
  std::vector<std::array<unsigned char, 16>>
      bits;  // of these: complex ones have no other form, and NaN is not equal to itself

  explicit Numbers(const Graph& graph) {
    each_number(graph, [&](const auto& number, const Node*, size_t) { add(number); });
  }
  void add(int64_t number) {
    whole.push_back(number);
    real.emplace_back();
    dtype.push_back(DType::I64);
    bits.emplace_back();
  }
  void add(double number) {
    whole.push_back(0);
    real.emplace_back(number);
    dtype.push_back(DType::F64);
    std::memcpy(bits.emplace_back().data(), &number, sizeof number);
  }
  void add(const Number& number) {
    const double value = visit(number.dtype, [&]<class T>(T one) -> double {
      std::memcpy(&one, number.bytes.data(), sizeof one);
      if constexpr (std::is_convertible_v<T, double>) return static_cast<double>(one);
      return std::nan("");
    });
    add(value);
    dtype.back() = number.dtype;
    bits.back() = number.bytes;
  }
};

struct Copier {
  const Graph& from;
  std::vector<int64_t> whole{};
  std::vector<double> real{};
  std::vector<Number> numbers{};
  size_t at_whole = 0, at_real = 0, at_number = 0;

  void collect() {
    each_number(from, [&](const auto& one, const Node*, size_t) { push(one); });
  }
  void push(int64_t one) { whole.push_back(one); }
  void push(double one) { real.push_back(one); }
  void push(const Number& one) { numbers.push_back(one); }
  void operator()(int64_t& one, const Node*, size_t) { one = whole.at(at_whole++); }
  void operator()(double& one, const Node*, size_t) { one = real.at(at_real++); }
  void operator()(Number& one, const Node*, size_t) { one = numbers.at(at_number++); }
};

bool same_views(const std::vector<View>& a, const std::vector<View>& b) {
  return std::ranges::equal(a, b, [](const View& x, const View& y) { return same(x, y); });
}

// The same ops with as many numbers each.
void check_ops(const Graph& a, const Graph& b, const std::string& when) {
  const size_t count = std::min(a.nodes.size(), b.nodes.size());
  for (size_t i = 0; i < count; ++i)
    if (a.nodes[i].op != b.nodes[i].op)
      refuse(
          fmt::format("{} is called at {} in the place of {}: what the function calls depends "
                      "on a size; leave that one fixed, or branch with tensors (where)",
                      described(b.nodes[i]), when, described(a.nodes[i])));
  if (a.nodes.size() != b.nodes.size())
    refuse(
        fmt::format("the function calls {} ops at {} and {} at others, {} among them: what it "
                    "calls depends on a size",
                    b.nodes.size(), when, a.nodes.size(),
                    described((a.nodes.size() > count ? a : b).nodes[count])));
}

// But for numbers, both are the same: `b` gets the numbers of `a`, and is compared.
void check_structure(const Graph& a, Graph b, const std::string& when) {
  check_ops(a, b, when);
  const Numbers in_a(a), in_b(b);
  const auto differs = [&](const Node& node) {
    refuse(
        fmt::format("{} is called in another way at {}: with another number of dimensions, "
                    "other tensors or another choice",
                    described(node), when));
  };
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    Graph one, other;
    one.nodes = {a.nodes[i]};
    other.nodes = {b.nodes[i]};
    if (Numbers(one).whole.size() != Numbers(other).whole.size()) differs(a.nodes[i]);
    Copier numbers{one};
    numbers.collect();
    bool fits = one.nodes[0].args.size() == other.nodes[0].args.size();
    for (size_t k = 0; k < one.nodes[0].args.size() && fits; ++k)
      fits = one.nodes[0].args[k].index() == other.nodes[0].args[k].index();
    if (!fits) differs(a.nodes[i]);
    each_number(other, std::ref(numbers));
    for (size_t k = 0; k < one.nodes[0].args.size(); ++k)
      if (!same(one.nodes[0].args[k], other.nodes[0].args[k])) differs(a.nodes[i]);
    if (!same_views(one.nodes[0].results, other.nodes[0].results)) differs(a.nodes[i]);
    if (a.nodes[i].control == nullptr) continue;
    const Control &mine = *a.nodes[i].control, &theirs = *b.nodes[i].control;
    if (mine.kind != theirs.kind || mine.carried != theirs.carried ||
        mine.scanned != theirs.scanned || mine.refused.size() != theirs.refused.size())
      differs(a.nodes[i]);
    for (size_t k = 0; k < mine.bodies.size(); ++k)
      if (is_refused(mine, k) != is_refused(theirs, k)) differs(a.nodes[i]);
    for (size_t k = 0; k < mine.bodies.size(); ++k)
      check_structure(mine.bodies[k], theirs.bodies[k], when);
  }
  if (in_a.whole.size() != in_b.whole.size() || a.buffers.size() != b.buffers.size() ||
      a.results.size() != b.results.size())
    refuse(fmt::format("the function gives or uses other tensors at {}", when));
  for (size_t i = 0; i < a.buffers.size(); ++i)
    if (a.buffers[i].role != b.buffers[i].role || a.buffers[i].dtype != b.buffers[i].dtype)
      refuse(fmt::format("the function uses other tensors from outside at {}", when));
  for (size_t i = 0; i < a.results.size(); ++i)
    if (a.results[i].buffer != b.results[i].buffer)
      refuse(fmt::format("the function gives another tensor at {}", when));
}

// Tensors from outside are one at all sizes, or hold the same.
void check_held(const Graph& a, const Graph& b) {
  for (size_t i = 0; i < a.buffers.size(); ++i)
    if (is_held(a.buffers[i].role) && !same_tensor(a.buffers[i].constant, b.buffers[i].constant))
      refuse(fmt::format(
          "a tensor that the function makes from numbers of the host{} holds others at other "
          "sizes, and would be baked in: make it an argument, or compute it with ops (full, "
          "arange)",
          a.buffers[i].name.empty() ? "" : ", " + a.buffers[i].name + ","));
  for (size_t i = 0; i < a.nodes.size(); ++i)
    for (size_t k = 0; a.nodes[i].control != nullptr && k < a.nodes[i].control->bodies.size(); ++k)
      check_held(a.nodes[i].control->bodies[k], b.nodes[i].control->bodies[k]);
}

// What was computed of tensors from outside alone, and is the same at all sizes: no work for a run.
Known constants_of(const std::vector<Probe>& probes) {
  Known found;
  std::unordered_map<uint32_t, int> writers;
  std::vector<uint32_t> written;
  for (const Node& node : probes[0].traced.graph.nodes) writes(node, written);
  for (const uint32_t buffer : written) ++writers[buffer];
  for (const auto& [buffer, value] : probes[0].traced.known) {
    if (writers[buffer] != 1) continue;  // another node writes into it later
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

// Like `same`, where steps over dimensions of one element tell nothing.
bool alike(const View& a, const View& b) {
  if (a.buffer != b.buffer || a.dtype != b.dtype || a.shape != b.shape) return false;
  if (a.numel() == 0) return true;
  for (size_t d = 0; d < a.shape.size(); ++d)
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return a.offset == b.offset;
}

bool alike(const Argument& a, const Argument& b) {
  if (a.index() != b.index()) return false;
  if (const auto* view = std::get_if<View>(&a)) return alike(*view, std::get<View>(b));
  if (const auto* views = std::get_if<Views>(&a))
    return std::ranges::equal(*views, std::get<Views>(b), [](const auto& x, const auto& y) {
      return x.has_value() == y.has_value() && (!x || alike(*x, *y));
    });
  return same(a, b);
}

constexpr size_t kAlike = SIZE_MAX;
size_t difference(const Graph& a, const Graph& b);

bool alike_bodies(const Node& a, const Node& b) {
  if (a.control == nullptr || b.control == nullptr) return a.control == b.control;
  if (a.control->kind != b.control->kind || a.control->refused != b.control->refused) return false;
  for (size_t k = 0; k < a.control->bodies.size(); ++k)
    if (difference(a.control->bodies[k], b.control->bodies[k]) != kAlike) return false;
  return true;
}

// The first node that is another; the count of nodes where only the ends differ; kAlike.
size_t difference(const Graph& a, const Graph& b) {
  const auto views = [](const std::vector<View>& x, const std::vector<View>& y) {
    return std::ranges::equal(x, y,
                              [](const View& one, const View& two) { return alike(one, two); });
  };
  for (size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); ++i) {
    const Node &x = a.nodes[i], &y = b.nodes[i];
    const bool args = std::ranges::equal(
        x.args, y.args, [](const Argument& one, const Argument& two) { return alike(one, two); });
    if (x.op != y.op || !args || !views(x.results, y.results) || !alike_bodies(x, y)) return i;
  }
  const bool same_ends = a.nodes.size() == b.nodes.size() && views(a.results, b.results) &&
                         a.buffers.size() == b.buffers.size();
  return same_ends ? kAlike : std::min(a.nodes.size(), b.nodes.size());
}

// The numbers of graphs that differ in nothing else, as formulas.
class Numbered {
 public:
  Numbered(const std::vector<Graph>& graphs, const std::vector<std::vector<int64_t>>& probes,
           size_t dims)
      : formulas_(dims, probes) {
    for (const Graph& graph : graphs) numbers_.emplace_back(graph);
    // What nodes give first, then what is found at once: what else varies is made of these.
    for (const Pass pass : {Pass::Results, Pass::Easy, Pass::All}) {
      uint32_t place = 0;
      each_number(graphs[0], [&](const auto&, const Node* node, size_t argument) {
        if (pass != Pass::Results || (node != nullptr && argument == SIZE_MAX))
          find(place, node, argument, pass);
        ++place;
      });
    }
  }
  const Formulas& formulas() const { return formulas_; }
  const std::vector<Varying>& varying() const { return varying_; }

 private:
  enum class Pass : uint8_t { Results, Easy, All };
  void find(uint32_t place, const Node* node, size_t argument, Pass pass) {
    const bool first = pass != Pass::All;
    const bool real = numbers_[0].real[place].has_value();
    if (!varies(place) || (first && real)) return;
    const auto found = real ? find_real(place) : find_whole(place, pass == Pass::Results);
    if (found && !first) varying_.push_back({place, found->size, found->form});
    if (found || first) return;
    std::vector<std::string> values;
    for (const Numbers& one : numbers_)
      values.push_back(real ? fmt::to_string(*one.real[place]) : fmt::to_string(one.whole[place]));
    refuse(
        fmt::format("{} varies with the sizes of the inputs in a way that no formula tells ({}): "
                    "it would be baked in; leave the size fixed, or compute with tensors",
                    place_text(node, argument), fmt::join(values, ", ")));
  }
  bool varies(uint32_t place) const {
    return std::ranges::any_of(numbers_, [&](const Numbers& one) {
      return one.whole[place] != numbers_[0].whole[place] ||
             one.bits[place] != numbers_[0].bits[place];
    });
  }
  std::optional<Varying> find_whole(uint32_t place, bool shape) {
    Samples values;
    for (const Numbers& one : numbers_) values.push_back(one.whole[place]);
    const auto found = formulas_.find(values, shape);
    return found ? std::optional(Varying{place, *found, Varying::Form::Plain}) : std::nullopt;
  }
  // The size that a number in some form is of, if it is of one bit for bit.
  std::optional<Varying> find_real(uint32_t place) {
    using Form = Varying::Form;
    for (const Form form :
         {Form::Plain, Form::Reciprocal, Form::Root, Form::ReciprocalRoot, Form::Unbiased}) {
      Samples values;
      for (const Numbers& one : numbers_) {
        const double size = size_in(form, *one.real[place]);
        if (!(std::abs(size) < 1e15)) break;
        values.push_back(std::llround(size));
      }
      if (values.size() != numbers_.size()) continue;
      const auto has_bits = [&](const Samples& sizes) { return is_of(place, form, sizes); };
      auto found = has_bits(values) ? formulas_.find(values, false) : std::nullopt;
      if (!found && form == Form::Unbiased) found = formulas_.find_near(values, has_bits);
      if (found) return Varying{place, *found, form};
    }
    return std::nullopt;
  }

  // Of which size it is, as near as the bits of a number tell.
  static double size_in(Varying::Form form, double value) {
    using Form = Varying::Form;
    return form == Form::Plain            ? value
           : form == Form::Reciprocal     ? 1 / value
           : form == Form::Root           ? value * value
           : form == Form::ReciprocalRoot ? 1 / (value * value)
                                          : value / (value - 1);
  }
  // Whether the number has at every probe the bits that these sizes give.
  bool is_of(uint32_t place, Varying::Form form, const Samples& sizes) const {
    for (size_t p = 0; p < sizes.size(); ++p) {
      const Numbers& one = numbers_[p];
      const auto wanted = number_of(one.dtype[place], *one.real[place]),
                 made = number_of(one.dtype[place], in_form(form, sizes[p]));
      if (!wanted || !made || wanted->bytes != made->bytes) return false;
    }
    return true;
  }

  Formulas formulas_;
  std::vector<Numbers> numbers_;
  std::vector<Varying> varying_;
};

}  // namespace

SizeFit::SizeFit(std::vector<Dim> dims, std::vector<bool> declared_min)
    : dims_(std::move(dims)), declared_min_(std::move(declared_min)) {
  for (const Dim& dim : dims_)
    if (dim.min < 0 || dim.max < dim.min)
      throw Error(TN_INVALID_ARGUMENT,
                  fmt::format("[graph] {} of {} to {} sizes", dim.name, dim.min, dim.max));
  advance();
}

// Whether the next trace is one that numbers are fitted to. Dims go through their sizes at different paces.
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

// Sizes at which one of two formulas, of which the probes cannot say which it is, is refuted.
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

// The smallest sizes, where slices end early and other ops are called; the smallest comes last.
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
    return (known && difference(expected, graph) == kAlike) ||
           (checked_.size == 1 && agree(expected, graph));
  } catch (const Error&) {  // a number that follows the sizes is another here
    return false;
  }
}

bool SizeFit::check(Traced traced) {
  if (is_as_fitted(traced)) return next_check();
  if (checked_.size == 1) {
    begin_behind_check("it calls other ops, or gives other numbers");
    return next_check();
  }
  // What the other probes did not show, as the end of a slice: it is fitted too, or refused.
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
  if (!checking_ && probes_.size() > kProbes && advance()) return true;  // one probe less
  if (!checking_)
    refuse(fmt::format("the function fails where {}: declare the sizes that it takes",
                       sizes_text(dims_, next_)));
  begin_behind_check("the function fails");
  return next_check();
}

// The dim begins with the next size, unless somebody asked for this one.
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
