#include "trace/fit_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "ir/numbers.hpp"
#include "ir/schema.hpp"
#include "trace/fit.hpp"

namespace tenon::graph {
namespace {

// The op's name, where it was called, and which of its numbers this is.
std::string place_text(const Node* node, size_t argument) {
  if (node == nullptr) return "an input or a result";
  if (node->op == nullptr) return described(*node) + ": what it takes or gives";
  const auto& known = parameters(*node->op);
  return argument < known.size()
             ? fmt::format("{}: its argument '{}'", described(*node), known[argument].name)
             : fmt::format("{}: its result", described(*node));
}

// The size behind a number of this form, as precisely as its bits allow.
double size_in(Varying::Form form, double value) {
  using Form = Varying::Form;
  return form == Form::Plain            ? value
         : form == Form::Reciprocal     ? 1 / value
         : form == Form::Root           ? value * value
         : form == Form::ReciprocalRoot ? 1 / (value * value)
         : form == Form::Log            ? std::exp(value)
                                        : value / (value - 1);
}

constexpr int64_t kMostBy = 16;  // of fractions

// What a factor may be that is about these numbers: one of few digits, or such a multiple of pi, or exactly one of them.
std::vector<double> candidates(const std::vector<double>& about) {
  std::vector<double> found;
  for (const double unit : {1.0, std::numbers::pi})
    for (int digits = 1; digits <= 9; ++digits) {
      const double value = about[0] / unit;
      const double scale = std::pow(10, digits - 1 - std::floor(std::log10(std::abs(value))));
      // Dividing by a power of ten gives the number that its decimals name.
      const double near = scale >= 1 ? std::round(value * scale) / scale
                                     : std::round(value * scale) * std::round(1 / scale);
      found.push_back(near * unit);
    }
  for (const double one : about)
    for (const double near : {one, std::nextafter(one, HUGE_VAL), std::nextafter(one, -HUGE_VAL)})
      found.push_back(near);
  return found;
}

}  // namespace

Numbers::Numbers(const Graph& graph) {
  each_number(graph, [&](const auto& number, const Node*, size_t) { add(number); });
}

void Numbers::add(int64_t number) {
  whole.push_back(number);
  real.emplace_back();
  dtype.push_back(DType::I64);
  bits.emplace_back();
}

void Numbers::add(double number) {
  whole.push_back(0);
  real.emplace_back(number);
  dtype.push_back(DType::F64);
  std::memcpy(bits.emplace_back().data(), &number, sizeof number);
}

void Numbers::add(const Number& number) {
  const double value = visit(number.dtype, [&]<class T>(T one) -> double {
    std::memcpy(&one, number.bytes.data(), sizeof one);
    if constexpr (std::is_convertible_v<T, double>) return static_cast<double>(one);
    return std::nan("");
  });
  add(value);
  dtype.back() = number.dtype;
  bits.back() = number.bytes;
}

Numbered::Numbered(const std::vector<Graph>& graphs,
                   const std::vector<std::vector<int64_t>>& probes, const std::vector<Dim>& dims)
    : formulas_(dims, probes) {
  for (const Graph& graph : graphs) numbers_.emplace_back(graph);
  // First the results of nodes, then what is easy to find, because the other varying numbers are built from these.
  for (const Pass pass : {Pass::Results, Pass::Easy, Pass::All}) {
    uint32_t place = 0;
    each_number(graphs[0], [&](const auto&, const Node* node, size_t argument) {
      if (pass != Pass::Results || (node != nullptr && argument == SIZE_MAX))
        find(place, node, argument, pass);
      ++place;
    });
  }
}

void Numbered::find(uint32_t place, const Node* node, size_t argument, Pass pass) {
  const bool first = pass != Pass::All;
  const bool real = numbers_[0].real[place].has_value();
  if (!varies(place) || (first && real)) return;
  const auto found = real ? find_real(place) : find_whole(place, pass == Pass::Results);
  if (found && !first) varying_.push_back(*found);
  if (found || first) return;
  std::vector<std::string> values;
  for (const Numbers& one : numbers_)
    values.push_back(real ? fmt::to_string(*one.real[place]) : fmt::to_string(one.whole[place]));
  refuse(
      fmt::format("{} varies with the sizes of the inputs in a way that fits no formula ({}): "
                  "it would be baked in; leave the size fixed, or compute with tensors",
                  place_text(node, argument), fmt::join(values, ", ")));
}

bool Numbered::varies(uint32_t place) const {
  return std::ranges::any_of(numbers_, [&](const Numbers& one) {
    return one.whole[place] != numbers_[0].whole[place] ||
           one.bits[place] != numbers_[0].bits[place];
  });
}

std::optional<Varying> Numbered::find_whole(uint32_t place, bool shape) {
  Samples values;
  for (const Numbers& one : numbers_) values.push_back(one.whole[place]);
  const auto found = formulas_.find(values, shape);
  return found ? std::optional(Varying{place, *found, Varying::Form::Plain}) : std::nullopt;
}

// The size behind a floating-point number in one of the forms, if it reproduces the number bit for bit.
std::optional<Varying> Numbered::find_real(uint32_t place) {
  using Form = Varying::Form;
  for (const Form form : {Form::Plain, Form::Reciprocal, Form::Root, Form::ReciprocalRoot,
                          Form::Unbiased, Form::Log}) {
    Samples values;
    for (const Numbers& one : numbers_) {
      const double size = size_in(form, *one.real[place]);
      if (!(std::abs(size) < 1e15)) break;
      values.push_back(std::llround(size));
    }
    if (values.size() != numbers_.size()) continue;
    const auto has_bits = [&](const Samples& sizes) { return is_of({place, 0, form}, sizes); };
    auto found = has_bits(values) ? formulas_.find(values, false) : std::nullopt;
    if (!found && form == Form::Unbiased) found = formulas_.find_near(values, has_bits);
    if (found) return Varying{place, *found, form};
  }
  if (const auto part = find_part(place)) return part;
  for (const double plus : {0., -1., 1., -0.5, 0.5, -2., 2.})
    if (const auto found = find_scaled(place, plus)) return found;
  return std::nullopt;
}

// A fraction of a size by a small number, as halves are.
std::optional<Varying> Numbered::find_part(uint32_t place) {
  for (int64_t by = 2; by <= kMostBy; ++by) {
    Samples values;
    for (const Numbers& one : numbers_) {
      const double size = *one.real[place] * static_cast<double>(by);
      if (!(std::abs(size) < 1e15)) return std::nullopt;
      values.push_back(std::llround(size));
    }
    Varying how{place, 0, Varying::Form::Plain, Varying::Scale::By, static_cast<double>(by)};
    if (!is_of(how, values)) continue;
    const auto found = formulas_.find(values, false);
    if (!found) continue;
    how.size = *found;
    return how;
  }
  return std::nullopt;
}

// A size near one that is known, or a function of it, times a constant, by it, or the constant by that, and then more.
std::optional<Varying> Numbered::find_scaled(uint32_t place, double plus) {
  using Form = Varying::Form;
  const std::vector<Samples> all = formulas_.values();
  for (const Form form : {Form::Plain, Form::Root, Form::Log})
    for (const Samples& known : all)
      for (const int64_t more : {0, -1, 1, -2, 2}) {
        Samples sizes = known;
        for (int64_t& size : sizes) size += more;
        if (std::ranges::min(sizes) < (form == Form::Log ? 2 : 1)) continue;
        for (const auto scale : {Varying::Scale::Times, Varying::Scale::Over, Varying::Scale::By})
          if (auto found = scaled_by({place, 0, form, scale, 1, plus}, sizes)) return found;
      }
  return std::nullopt;
}

std::optional<Varying> Numbered::scaled_by(Varying how, const Samples& sizes) {
  const double close = how.plus == 0 ? 1e-6 : 1e-3;  // a difference has lost digits
  std::vector<double> factors;
  for (size_t p = 0; p < sizes.size(); ++p) {
    const double base = in_form(how.form, sizes[p]),
                 value = *numbers_[p].real[how.place] - how.plus;
    factors.push_back(how.scale == Varying::Scale::Times  ? value / base
                      : how.scale == Varying::Scale::Over ? value * base
                                                          : base / value);
    if (!(std::abs(factors.back() - factors[0]) <= close * std::abs(factors[0])))
      return std::nullopt;
  }
  for (const double factor : candidates(factors)) {
    how.factor = factor;
    if (!is_of(how, sizes)) continue;
    const auto found = formulas_.find(sizes, false);
    if (!found) return std::nullopt;
    how.size = *found;
    return how;
  }
  return std::nullopt;
}

// Whether these sizes reproduce the number's bits at every probe.
bool Numbered::is_of(const Varying& how, const Samples& sizes) const {
  const uint32_t place = how.place;
  for (size_t p = 0; p < sizes.size(); ++p) {
    const Numbers& one = numbers_[p];
    const auto wanted = number_of(one.dtype[place], *one.real[place]),
               made = number_of(one.dtype[place], number_at(how, sizes[p]));
    if (!wanted || !made || wanted->bytes != made->bytes) return false;
  }
  return true;
}

}  // namespace tenon::graph
