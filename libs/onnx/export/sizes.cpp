#include "export/sizes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tenon::onnx {
namespace {

// Sizes that few layers have, so that a probe is not mistaken for another dimension. Four in a row have every odd rest by 8, or every even
// one, so that halves rounded down differ from halves rounded up.
constexpr std::array<std::array<int64_t, 8>, 2> kUnusual = {
    {{101, 111, 113, 107, 109, 127, 137, 131}, {106, 108, 126, 136, 114, 124, 118, 152}}};
constexpr size_t kProbes = 8;
// Of the number of a probe, the bits whose sum tells whether a dim is odd there. Of any three dims all combinations occur, so halves of
// their products and sums differ, too.
constexpr std::array<size_t, 7> kBits = {1, 2, 4, 3, 5, 6, 7};

int64_t unusual(size_t probe, size_t dim) {
  const auto even = [&](size_t k) {
    return static_cast<size_t>(std::popcount(k & kBits.at(dim % kBits.size()))) % 2;
  };
  size_t before = 0;
  for (size_t k = 0; k < probe; ++k) before += even(k) == even(probe) ? 1 : 0;
  return kUnusual.at(even(probe)).at((before + 3 * dim) % 8);
}
constexpr std::array kForms = {Follows::Form::Plain, Follows::Form::Reciprocal, Follows::Form::Root,
                               Follows::Form::ReciprocalRoot, Follows::Form::Log};

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - static_cast<int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

int64_t finished(const Json& formula, int64_t sum) {
  const auto is = formula.at("is").get<std::string>();
  const auto by = formula.at("by").get<int64_t>();
  return is == "floor" ? floor_divide(sum, by)
         : is == "min" ? std::min(sum, by)
         : is == "max" ? std::max(sum, by)
                       : sum;
}

double precision_of(DType dtype) {
  return dtype == DType::F64 ? 1e-15 : dtype == DType::F32 ? 1e-6 : is_floating(dtype) ? 1e-2 : 0;
}

double nearest(double value, double tolerance) {
  const double whole = std::round(value);
  return std::abs(value - whole) <= tolerance * std::abs(whole) ? whole : NAN;
}

}  // namespace

Sizes::Sizes(const Json& description) {
  if (!description.contains("sizes")) return;
  const Json& sizes = description["sizes"];
  for (const Json& dim : sizes.at("dims"))
    dims_.push_back({dim.at("name").get<std::string>(), dim.at("min").get<int64_t>(),
                     dim.at("max").get<int64_t>(), dim.at("multiple").get<int64_t>()});
  inputs_ = sizes.at("inputs").get<std::vector<std::vector<int32_t>>>();
  for (const Json& formula : sizes.at("formulas")) formulas_.push_back(formula);
  probe();
}

void Sizes::probe() {
  for (size_t k = 0; k < kProbes; ++k) {
    std::vector<int64_t> sizes;
    for (size_t d = 0; d < dims_.size(); ++d) {
      // Many nodes treat one element, also of a part, and sizes near the maximum specially.
      const int64_t by = dims_[d].multiple, least = dims_[d].min / by, most = dims_[d].max / by;
      const int64_t low = std::clamp(std::clamp<int64_t>(most / 4, 2, 24), least, most),
                    range = std::max<int64_t>(most - low - (most - low) / 4, 1);
      int64_t size = unusual(k, d);
      for (int64_t tries = 0; tries < range; ++tries, ++size) {
        const int64_t in_range = by * (low + ((size - low) % range + range) % range);
        if (std::ranges::find(sizes, in_range) != sizes.end() && tries + 1 < range) continue;
        sizes.push_back(in_range);
        break;
      }
    }
    values_.push_back(values_at(sizes));
    probes_.push_back(std::move(sizes));
  }
  make_products();
}

std::vector<double> Sizes::values_at(const std::vector<int64_t>& sizes) const {
  std::vector<int64_t> values = sizes;
  for (const Json& formula : formulas_) {
    int64_t sum = 0;
    for (const Json& term : formula.at("terms")) {
      auto product = term.at(0).get<int64_t>();
      for (const Json& factor : term.at(1)) product *= values.at(factor.get<size_t>());
      sum += product;
    }
    values.push_back(finished(formula, sum));
  }
  return {values.begin(), values.end()};
}

void Sizes::make_products() {
  const auto count = static_cast<uint32_t>(values_[0].size());
  const auto add = [&](std::vector<uint32_t> of) {
    std::vector<double> product(values_.size(), 1);
    for (size_t k = 0; k < values_.size(); ++k)
      for (const uint32_t factor : of) product[k] *= values_[k][factor];
    products_.push_back({std::move(of), std::move(product)});
  };
  for (uint32_t i = 0; i < count; ++i) add({i});
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t j = i; j < count; ++j) add({i, j});
}

namespace {

bool whole(double value) { return value == std::round(value); }

}  // namespace

// Tries one product, then two. The first probes determine the factors, and all must agree.
std::optional<Follows> Sizes::linear(const std::vector<double>& y) const {
  const auto made = [&](double offset, double one, const Product& p, double other,
                        const Product& q) -> std::optional<Follows> {
    if (!whole(one) || !whole(other) || !whole(offset)) return std::nullopt;
    for (size_t k = 0; k < y.size(); ++k)
      if (y[k] != one * p.values[k] + other * q.values[k] + offset) return std::nullopt;
    Follows found{Follows::Form::Plain, static_cast<int64_t>(offset), {}};
    found.terms.push_back({static_cast<int64_t>(one), p.of});
    if (other != 0) found.terms.push_back({static_cast<int64_t>(other), q.of});
    return found;
  };
  for (const Product& p : products_) {
    size_t k = 1;
    while (k < y.size() && p.values[k] == p.values[0]) ++k;
    if (k == y.size()) continue;
    const double slope = (y[k] - y[0]) / (p.values[k] - p.values[0]);
    if (auto found = made(y[0] - slope * p.values[0], slope, p, 0, p)) return found;
  }
  const double y1 = y[1] - y[0], y2 = y[2] - y[0];
  for (const Product& p : products_)
    for (const Product& q : products_) {
      const double p1 = p.values[1] - p.values[0], p2 = p.values[2] - p.values[0],
                   q1 = q.values[1] - q.values[0], q2 = q.values[2] - q.values[0],
                   scale = p1 * q2 - p2 * q1;
      const double one = (y1 * q2 - y2 * q1) / scale, other = (p1 * y2 - p2 * y1) / scale;
      if (scale == 0) continue;
      if (auto found = made(y[0] - one * p.values[0] - other * q.values[0], one, p, other, q))
        return found;
    }
  return std::nullopt;
}

std::optional<Follows> Sizes::find(const std::vector<double>& values, DType dtype) const {
  using Form = Follows::Form;
  if (std::ranges::all_of(values, [&](double value) { return value == values[0]; }) &&
      whole(values[0]))
    return Follows{Form::Plain, static_cast<int64_t>(values[0]), {}};
  const double tolerance = precision_of(dtype);
  if (!is_floating(dtype)) return in_form(Form::Plain, values, tolerance);
  for (const Form form : kForms)
    if (auto found = in_form(form, values, tolerance)) return found;
  return scaled(values, tolerance);
}

std::optional<Follows> Sizes::in_form(Follows::Form form, const std::vector<double>& values,
                                      double tolerance) const {
  using Form = Follows::Form;
  std::vector<double> numbers;
  for (const double value : values)
    numbers.push_back(nearest(form == Form::Plain        ? value
                              : form == Form::Reciprocal ? 1 / value
                              : form == Form::Root       ? value * value
                              : form == Form::Log        ? std::exp(value)
                                                         : 1 / (value * value),
                              tolerance));
  if (std::ranges::any_of(numbers, [](double value) { return std::isnan(value); }))
    return std::nullopt;
  auto found = linear(numbers);
  if (found) found->form = form;
  return found;
}

// A fraction of a formula, or a size near one that is known times a factor, in one of the forms.
std::optional<Follows> Sizes::scaled(const std::vector<double>& values, double tolerance) const {
  using Form = Follows::Form;
  std::vector<double> unscaled(values.size());
  const auto with = [&](Form form, double factor) {
    for (size_t k = 0; k < values.size(); ++k) unscaled[k] = values[k] / factor;
    auto found = in_form(form, unscaled, tolerance);
    if (found) found->factor = factor;
    return found;
  };
  for (int by = 2; by <= 16; ++by)
    if (auto found = with(Form::Plain, 1.0 / by)) return found;
  for (const Form form : kForms)
    for (size_t i = 0; i < values_[0].size(); ++i)
      for (const int more : {0, -1, 1, -2, 2}) {
        const double size = values_[0][i] + more;
        const double base = form == Form::Plain        ? size
                            : form == Form::Reciprocal ? 1 / size
                            : form == Form::Root       ? std::sqrt(size)
                            : form == Form::Log        ? std::log(size)
                                                       : 1 / std::sqrt(size);
        if (!(size > 1) || values[0] == 0) continue;
        if (auto found = with(form, values[0] / base)) return found;
      }
  return std::nullopt;
}

Json described(const tn_program* program, const std::vector<int64_t>& sizes) {
  std::string text;
  detail::check(tn_program_describe_at(program, sizes.data(), static_cast<uint32_t>(sizes.size()),
                                       &detail::append_text, &text));
  return Json::parse(text);
}

namespace {

void mark(const std::vector<Json*>& same) {
  Json& first = *same[0];
  if (first.is_object() && first.contains("%")) {
    const bool varies = std::ranges::any_of(same, [&](const Json* one) { return *one != first; });
    for (Json* one : same) (*one)["varies"] = varies;
    return;
  }
  const auto all = [&](const auto& key) {
    std::vector<Json*> parts;
    for (Json* one : same) parts.push_back(&one->at(key));
    mark(parts);
  };
  if (std::ranges::any_of(same, [&](const Json* one) { return one->size() != first.size(); }))
    return;
  if (first.is_object())
    for (const auto& [key, value] : first.items()) all(key);
  if (first.is_array())
    for (size_t i = 0; i < first.size(); ++i) all(i);
}

}  // namespace

void mark_varying(std::vector<Json>& descriptions) {
  std::vector<Json*> same;
  for (Json& one : descriptions) same.push_back(&one);
  mark(same);
}

}  // namespace tenon::onnx
