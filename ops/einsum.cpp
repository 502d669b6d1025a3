// Einstein sums.
// NumPy's syntax, turned into permutations, matrix products and sums.
#include <algorithm>
#include <array>
#include <cctype>

#include "ops/record.hpp"

namespace {

// Labels are letters; dimension k of the ellipsis, counted from the right, is kEllipsis + k.
constexpr int kEllipsis = 256;
constexpr size_t kLabels = kEllipsis + TN_MAX_DIMS;
// Only the first operands that remain are compared with each other, this many, so that the time to find an order is linear in their
// number.
constexpr size_t kWindow = 16;
using Labels = std::vector<int>;
using List = std::vector<int64_t>;

bool has(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}

// An operand with distinct labels, one for each dimension.
struct Term {
  Tensor x;
  Labels labels;
};

class Einsum {
 public:
  explicit Einsum(const CompositeArgs& in)
      : frame_(in.frame()), equation_(in.str(arg::einsum::equation)) {
    size_.fill(kUnknown);
    for (const char c : equation_)
      if (c != ' ') text_ += c;
    parse(in.tensors(arg::einsum::xs));
    find_sizes();
  }

  Tensor run() {
    for (Term& term : terms_) {
      drop_ones(term);
      count(term, +1);
    }
    for (Term& term : terms_) sum_alone(term);
    std::vector<Term> window;
    for (size_t next = 0; next < terms_.size() || window.size() > 1;) {
      while (window.size() < kWindow && next < terms_.size()) window.push_back(terms_[next++]);
      if (window.size() > 1) contract_best(window);
    }
    return arranged(window[0]);
  }

 private:
  // "ij,jk->ik": the operands' labels, then those of the result, given or implied.
  void parse(const std::vector<Tensor>& xs) {
    const size_t arrow = text_.find("->");
    const std::string inputs = text_.substr(0, arrow);
    std::vector<std::string> parts(1);
    for (const char c : inputs) {
      if (c == ',')
        parts.emplace_back();
      else
        parts.back() += c;
    }
    frame_.require(!xs.empty() && parts.size() == xs.size(), "\"{}\" names {} operands, {} given",
                   equation_, parts.size(), xs.size());
    for (size_t k = 0; k < xs.size(); ++k)
      terms_.push_back(without_repetition(xs[k], labels_of(parts[k], xs[k].ndim(), k)));
    if (arrow == std::string::npos)
      imply_result(inputs);
    else
      read_result(text_.substr(arrow + 2));
  }

  // One label for each dimension; an ellipsis stands for the dimensions that the letters leave over.
  Labels labels_of(const std::string& part, int64_t rank, size_t operand) {
    Labels labels;
    const size_t dots = part.find('.');
    const auto letters = static_cast<int64_t>(
        std::ranges::count_if(part, [](unsigned char c) { return std::isalpha(c) != 0; }));
    const bool ellipsis = dots != std::string::npos;
    const bool legal = letters + (ellipsis ? 3 : 0) == static_cast<int64_t>(part.size()) &&
                       (!ellipsis || part.compare(dots, 3, "...") == 0);
    frame_.require(legal, "\"{}\" in \"{}\" is no list of letters with at most one ellipsis", part,
                   equation_);
    frame_.require(ellipsis ? letters <= rank : letters == rank,
                   "\"{}\" labels {} dims, operand {} has rank {}", part, letters, operand, rank);
    const int64_t spread = rank - letters;
    for (size_t i = 0; i < part.size(); ++i) {
      if (i == dots) {
        for (int64_t k = spread; k-- > 0;) labels.push_back(kEllipsis + static_cast<int>(k));
        widest_ = std::max(widest_, spread);
        i += 2;
      } else {
        labels.push_back(static_cast<unsigned char>(part[i]));
      }
    }
    return labels;
  }

  // "ii" is the diagonal, which moves to the end.
  Term without_repetition(Tensor x, Labels labels) const {
    for (size_t b = 1; b < labels.size(); ++b) {
      const auto a = static_cast<size_t>(std::ranges::find(labels, labels[b]) - labels.begin());
      if (a == b) continue;
      frame_.require(x.shape()[a] == x.shape()[b],
                     "label {} names dims of sizes {} and {} of one operand", name(labels[b]),
                     x.shape()[a], x.shape()[b]);
      x = diagonal(x, 0, static_cast<int64_t>(a), static_cast<int64_t>(b));
      const int label = labels[b];
      labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(b));
      labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(a));
      labels.push_back(label);
      b = 0;
    }
    return {x, labels};
  }

  // The result without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
  void imply_result(const std::string& inputs) {
    for (int64_t k = widest_; k-- > 0;) result_.push_back(kEllipsis + static_cast<int>(k));
    for (int letter = 'A'; letter <= 'z'; ++letter)
      if (std::isalpha(letter) != 0 && std::ranges::count(inputs, static_cast<char>(letter)) == 1)
        result_.push_back(letter);
  }

  void read_result(const std::string& part) {
    const bool ellipsis = part.find('.') != std::string::npos;
    const auto letters = static_cast<int64_t>(part.size()) - (ellipsis ? 3 : 0);
    frame_.require(ellipsis || widest_ == 0, "the result in \"{}\" leaves the ellipsis out",
                   equation_);
    result_ = labels_of(part, letters + (ellipsis ? widest_ : 0), terms_.size());
    for (size_t i = 0; i < result_.size(); ++i) {
      const bool known = std::ranges::any_of(
          terms_, [&](const Term& term) { return has(term.labels, result_[i]); });
      frame_.require(known, "label {} of the result is in no operand: \"{}\"", name(result_[i]),
                     equation_);
      frame_.require(std::ranges::count(result_, result_[i]) == 1,
                     "label {} is twice in the result: \"{}\"", name(result_[i]), equation_);
    }
  }

  static std::string name(int label) {
    return label < kEllipsis ? std::string(1, static_cast<char>(label)) : "...";
  }

  void find_sizes() {
    for (const Term& term : terms_)
      for (size_t d = 0; d < term.labels.size(); ++d) {
        const int64_t size = term.x.shape()[d];
        int64_t& known = size_[static_cast<size_t>(term.labels[d])];
        frame_.require(known == kUnknown || known == size || known == 1 || size == 1,
                       "label {} has sizes {} and {}", name(term.labels[d]), known, size);
        if (known == kUnknown || known == 1) known = size;
      }
  }

  // Removes the term's dimensions for which `leaves` is true and returns their positions.
  template <class Leaves>
  static List take_out(Term& term, Leaves&& leaves) {
    List gone;
    Labels kept;
    for (size_t d = 0; d < term.labels.size(); ++d)
      leaves(d) ? gone.push_back(static_cast<int64_t>(d)) : kept.push_back(term.labels[d]);
    term.labels = kept;
    return gone;
  }

  // A dimension of 1 whose label is larger elsewhere broadcasts, so it can be dropped.
  void drop_ones(Term& term) {
    const List gone = take_out(
        term, [&](size_t d) { return term.x.shape()[d] == 1 && size_of(term.labels[d]) != 1; });
    if (!gone.empty()) term.x = squeeze(term.x, gone);
  }

  int64_t size_of(int label) const { return size_[static_cast<size_t>(label)]; }

  // Counts a term that is added or removed.
  void count(const Term& term, int change) {
    for (const int label : term.labels) holders_[static_cast<size_t>(label)] += change;
  }

  // Whether the result or any term but these two has the label.
  bool needed_outside(int label, const Term& a, const Term& b) const {
    const int inside = has(a.labels, label) + (&a != &b && has(b.labels, label));
    return has(result_, label) || holders_[static_cast<size_t>(label)] > inside;
  }

  // Sums over the labels that only this term has.
  void sum_alone(Term& term) {
    const List gone =
        take_out(term, [&](size_t d) { return !needed_outside(term.labels[d], term, term); });
    if (!gone.empty()) term.x = sum(term.x, gone, false, term.x.dtype());
  }

  double volume(const Labels& labels) const {
    double n = 1;
    for (const int label : labels) n *= static_cast<double>(size_of(label));
    return n;
  }

  Labels joined(const Term& a, const Term& b) const {
    Labels labels;
    for (const Term* term : {&a, &b})
      for (const int label : term->labels)
        if (!has(labels, label) && needed_outside(label, a, b)) labels.push_back(label);
    return labels;
  }

  // Contracts the pair whose product is smallest compared with its operands; Daniel and Gray 2018.
  void contract_best(std::vector<Term>& terms) {
    size_t best_a = 0, best_b = 1;
    double best = 0;
    for (size_t a = 0; a < terms.size(); ++a)
      for (size_t b = a + 1; b < terms.size(); ++b) {
        const double cost =
            volume(joined(terms[a], terms[b])) - volume(terms[a].labels) - volume(terms[b].labels);
        if ((a == 0 && b == 1) || cost < best) {
          best = cost;
          best_a = a;
          best_b = b;
        }
      }
    Term product = contract(terms[best_a], terms[best_b]);
    count(terms[best_a], -1);
    count(terms[best_b], -1);
    count(product, +1);
    terms[best_a] = std::move(product);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(best_b));
  }

  // Both operands as batches of matrices: (kept by both, kept by a, summed) times (kept by both, summed, kept by b).
  Term contract(const Term& a, const Term& b) const {
    Labels batch, rows, inner, columns;
    for (const int label : a.labels)
      (!has(b.labels, label) ? rows : needed_outside(label, a, b) ? batch : inner).push_back(label);
    for (const int label : b.labels)
      if (!has(a.labels, label)) columns.push_back(label);
    const Labels all = join({batch, rows, columns});
    if (inner.empty()) return {spread(a, all) * spread(b, all), all};
    const Tensor x = grouped(a, {batch, rows, inner}), y = grouped(b, {batch, inner, columns});
    return {reshape(matmul(x, y), sizes_of(all)), all};
  }

  static Labels join(std::initializer_list<Labels> groups) {
    Labels all;
    for (const Labels& group : groups) all.insert(all.end(), group.begin(), group.end());
    return all;
  }

  List sizes_of(const Labels& labels) const {
    List sizes;
    for (const int label : labels) sizes.push_back(size_of(label));
    return sizes;
  }

  static Tensor ordered(const Term& term, const Labels& order) {
    List dims;
    for (const int label : order)
      dims.push_back(std::ranges::find(term.labels, label) - term.labels.begin());
    return std::ranges::is_sorted(dims) ? term.x : permute(term.x, dims);
  }

  // Merges each group into one dimension; without a batch the result is a plain matrix.
  Tensor grouped(const Term& term, std::initializer_list<Labels> groups) const {
    const Labels order = join(groups);
    List shape;
    for (const Labels& group : groups) {
      int64_t n = 1;
      for (const int label : group) n *= size_of(label);
      shape.push_back(n);
    }
    if (groups.begin()->empty()) shape.erase(shape.begin());
    return reshape(ordered(term, order), shape);
  }

  // The labels of `all`, with a 1 for each that the term lacks.
  static Tensor spread(const Term& term, const Labels& all) {
    Labels order;
    for (const int label : all)
      if (has(term.labels, label)) order.push_back(label);
    const Tensor x = ordered(term, order);
    List shape;
    size_t next = 0;
    for (const int label : all) shape.push_back(has(order, label) ? x.shape()[next++] : 1);
    return reshape(x, shape);
  }

  // The last term, in the result's order.
  Tensor arranged(Term& term) {
    sum_alone(term);
    const Tensor x = ordered(term, result_);
    return x.get() == term.x.get() ? alias(x) : x;
  }

  const Frame& frame_;
  std::string_view equation_;
  std::string text_;
  int64_t widest_ = 0;  // dimensions of the longest ellipsis
  std::vector<Term> terms_;
  Labels result_;
  static constexpr int64_t kUnknown = -1;
  std::array<int64_t, kLabels> size_;   // by label
  std::array<int, kLabels> holders_{};  // by label: how many terms have it
};

}  // namespace

TN_OP(einsum) = {
    .schema = "(str equation, Tensor[] xs) -> Tensor",
    .gives = "A sum over products, as the equation says.",
    .example = "tenon.einsum('ij,j->i', [t([[1., 2.], [3., 4.]]), t([1., 1.])])",
    .autocast = "low",
    .dtypes = "numeric, promoted",
    .shapes = "As the equation says",
    .through = true,
    .decompose = &decomposition::einsum,
};

TN_DECOMPOSE(einsum) { out[0] = Einsum(in).run(); }
