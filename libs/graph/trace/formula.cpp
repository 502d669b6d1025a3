#include "trace/formula.hpp"

#include <algorithm>
#include <numeric>

namespace tenon::graph {
namespace {

constexpr size_t kMostFactors = 20;
constexpr size_t kDegree = 5;         // as in the scores of attention over an image: b * (h * w)^2
constexpr int64_t kMostBy = 128;      // of quotients
constexpr size_t kFewFactors = 6;     // of which quotients of products are looked for
constexpr int64_t kMostMultiple = 8;  // for the sum that is rounded
constexpr int64_t kLarge = int64_t{1} << 52;

using Wide = __int128;

// values = factor * of + rest at all probes in `at`.
bool on_line(const Samples& values, const Samples& of, const std::vector<size_t>& at,
             int64_t& factor, int64_t& rest) {
  size_t other = 1;
  while (other < at.size() && of[at[other]] == of[at[0]]) ++other;
  if (other >= at.size()) return false;
  const int64_t run = of[at[other]] - of[at[0]], rise = values[at[other]] - values[at[0]];
  if (rise % run != 0) return false;
  factor = rise / run;
  const Wide constant = values[at[0]] - Wide{factor} * of[at[0]];
  if (constant > kLarge || constant < -kLarge) return false;
  rest = static_cast<int64_t>(constant);
  return std::ranges::all_of(at,
                             [&](size_t p) { return values[p] == Wide{factor} * of[p] + rest; });
}

std::vector<size_t> all(size_t count) {
  std::vector<size_t> at(count);
  std::iota(at.begin(), at.end(), size_t{0});
  return at;
}

Size sum_of(std::vector<Size::Term> terms, int64_t rest) {
  if (rest != 0) terms.push_back({rest, {}});
  return {Size::Kind::Sum, std::move(terms), 1};
}

}  // namespace

Formulas::Formulas(const std::vector<Dim>& dims, const std::vector<std::vector<int64_t>>& probes)
    : dims_(dims.size()), probes_(probes.size()), products_(kDegree + 1) {
  for (uint32_t d = 0; d < dims_; ++d) {
    Samples& values = values_.emplace_back();
    for (const auto& probe : probes) values.push_back(probe[d]);
    add_factor(d);
  }
  for (uint32_t d = 0; d < dims_; ++d) {
    if (dims[d].multiple == 1) continue;
    Samples values;
    for (const int64_t size : values_[d]) values.push_back(size / dims[d].multiple);
    keep({Size::Kind::Quotient, {{1, {d}}}, dims[d].multiple}, values, true);
  }
}

// Makes the products of up to kDegree factors that this one, the last so far, is among.
void Formulas::add_factor(uint32_t factor) {
  factors_.push_back(factor);
  products_[1].push_back({{factor}, values_[factor]});
  for (size_t degree = 2; degree <= kDegree; ++degree)
    for (const Product& product : products_[degree - 1]) {
      Product made = product;
      made.of.push_back(factor);
      bool fits = true;
      for (size_t i = 0; i < probes_ && fits; ++i)
        fits = !__builtin_mul_overflow(made.values[i], values_[factor][i], &made.values[i]) &&
               made.values[i] < kLarge;
      if (fits) products_[degree].push_back(std::move(made));
    }
}

std::optional<uint32_t> Formulas::find(const Samples& values, bool shape) {
  const auto found = known_.find(values);
  if (found != known_.end()) return found->second;
  if (std::ranges::any_of(values, [](int64_t one) { return std::abs(one) > kLarge; }))
    return std::nullopt;
  if (auto made = linear(values)) return keep(std::move(*made), values, shape);
  if (auto made = two_products(values)) return keep(std::move(*made), values, shape);
  if (auto made = half(values)) return keep(std::move(*made), values, true);
  if (auto made = quotient(values)) return keep(std::move(*made), values, true);
  if (auto made = bounded(values)) return keep(std::move(*made), values, true);
  return std::nullopt;
}

std::optional<uint32_t> Formulas::find_near(const Samples& near,
                                            const std::function<bool(const Samples&)>& is) {
  const auto least = static_cast<size_t>(std::ranges::min_element(near) - near.begin());
  for (const auto& products : products_)
    for (const Product& product : products) {
      const int64_t of = product.values[least];
      const int64_t factor = of < 1 ? 0 : (near[least] + of / 2) / of;
      if (factor < 1) continue;
      Samples values;
      for (const int64_t one : product.values) values.push_back(factor * one);
      if (is(values)) return find(values, false);
    }
  return std::nullopt;
}

uint32_t Formulas::keep(Size size, const Samples& values, bool factor) {
  const auto index = static_cast<uint32_t>(sizes_.size());
  const bool plain = size.kind == Size::Kind::Sum && size.terms.size() == 1;
  sizes_.push_back(std::move(size));
  values_.push_back(values);
  known_.emplace(values, index);
  if (factor && !plain && factors_.size() < kMostFactors)
    add_factor(static_cast<uint32_t>(dims_) + index);
  return index;
}

std::optional<Size> Formulas::linear(const Samples& values) const {
  const std::vector<size_t> at = all(probes_);
  std::optional<Size> with_rest;
  for (const auto& products : products_)
    for (const Product& product : products) {
      int64_t factor = 0, rest = 0;
      if (!on_line(values, product.values, at, factor, rest)) continue;
      if (rest == 0) return sum_of({{factor, product.of}}, 0);
      if (!with_rest) with_rest = sum_of({{factor, product.of}}, rest);
    }
  return with_rest;
}

// values = a*x + b*y + rest: the differences to the first probe determine a and b.
std::optional<Size> Formulas::two_products(const Samples& values) const {
  if (probes_ < 5) return std::nullopt;
  std::vector<const Product*> simple;
  for (const size_t degree : {1, 2})
    for (const Product& product : products_[degree]) simple.push_back(&product);
  for (size_t i = 0; i < simple.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Product &x = *simple[i], &y = *simple[j];
      const auto step = [&](const Samples& of, size_t p) { return Wide{of[p]} - of[0]; };
      const Wide divisor =
          step(x.values, 1) * step(y.values, 2) - step(x.values, 2) * step(y.values, 1);
      if (divisor == 0) continue;
      const Wide a = step(values, 1) * step(y.values, 2) - step(values, 2) * step(y.values, 1);
      const Wide b = step(x.values, 1) * step(values, 2) - step(x.values, 2) * step(values, 1);
      if (a % divisor != 0 || b % divisor != 0 || a == 0 || b == 0) continue;
      const Wide fa = a / divisor, fb = b / divisor;
      const Wide rest = values[0] - fa * x.values[0] - fb * y.values[0];
      if (std::max({fa, fb, rest}) > kLarge || std::min({fa, fb, rest}) < -kLarge) continue;
      bool fits = true;
      for (size_t p = 0; p < probes_ && fits; ++p)
        fits = values[p] == fa * x.values[p] + fb * y.values[p] + rest;
      if (fits)
        return sum_of({{static_cast<int64_t>(fa), x.of}, {static_cast<int64_t>(fb), y.of}},
                      static_cast<int64_t>(rest));
    }
  return std::nullopt;
}

// Half of a sum of two products, as is n (n + 1) / 2.
std::optional<Size> Formulas::half(const Samples& values) const {
  Samples twice = values;
  for (int64_t& one : twice) one *= 2;
  auto made = two_products(twice);
  if (!made) return std::nullopt;
  made->kind = Size::Kind::Quotient;
  made->by = 2;
  return made;
}

std::optional<Size> Formulas::quotient(const Samples& values) {
  for (const size_t degree : {1, 2}) {
    if (degree > 1 && factors_.size() > kFewFactors) break;
    for (int64_t by = 2; by <= kMostBy; ++by)
      for (int64_t a = 1; a <= std::min(kMostMultiple, by * 2); ++a) {
        if (std::gcd(a, by) != 1) continue;
        for (const Product& x : products_[degree])
          if (auto made = quotient_of(values, a, x, by)) return made;
      }
  }
  return std::nullopt;
}

// values = (a*x + b) / by, rounded down: by * values - a*x lies in an interval of `by` numbers.
std::optional<Size> Formulas::quotient_of(const Samples& values, int64_t a, Product x, int64_t by) {
  Wide low = -kLarge, high = kLarge;
  for (size_t p = 0; p < probes_ && low <= high; ++p) {
    const Wide rest = Wide{by} * values[p] - Wide{a} * x.values[p];
    low = std::max(low, rest);
    high = std::min(high, rest + by - 1);
  }
  if (low > high) return std::nullopt;
  const auto rest = static_cast<int64_t>(low);
  if (low != high && !ambiguous_) {
    const uint32_t of =
        x.of.size() == 1 ? x.of[0] : static_cast<uint32_t>(dims_) + find(x.values, false).value();
    ambiguous_ = Ambiguous{a, of, by, rest, static_cast<int64_t>(high)};
  }
  Size made = sum_of({{a, x.of}}, rest);
  made.kind = Size::Kind::Quotient;
  made.by = by;
  return made;
}

// Numbers that stop growing at a limit, as in x[:, :64].
std::optional<Size> Formulas::bounded(const Samples& values) const {
  const auto [least, greatest] = std::ranges::minmax(values);
  for (const int64_t bound : {greatest, least}) {
    std::vector<size_t> at;
    for (size_t p = 0; p < probes_; ++p)
      if (values[p] != bound) at.push_back(p);
    if (at.size() < 3 || at.size() + 2 > probes_) continue;
    const bool upper = bound == greatest;
    for (const size_t degree : {1, 2})
      for (const Product& product : products_[degree]) {
        int64_t factor = 0, rest = 0;
        if (!on_line(values, product.values, at, factor, rest)) continue;
        bool fits = true;
        for (size_t p = 0; p < probes_ && fits; ++p) {
          const Wide line = Wide{factor} * product.values[p] + rest;
          fits = values[p] == (upper ? std::min<Wide>(line, bound) : std::max<Wide>(line, bound));
        }
        if (!fits) continue;
        Size made = sum_of({{factor, product.of}}, rest);
        made.kind = upper ? Size::Kind::Least : Size::Kind::Greatest;
        made.by = bound;
        return made;
      }
  }
  return std::nullopt;
}

}  // namespace tenon::graph
