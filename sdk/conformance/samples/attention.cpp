// Attention and its backward by definition, one score at a time.
#include "helpers.hpp"

namespace tenon::conformance {
namespace {

enum class Mask { None, Bool, Additive };

struct Case {
  int64_t b, heads, kept, queries, keys, width, values;  // k and v have `kept` heads
  Mask mask = Mask::None;
  Shape mask_shape = {};
  bool causal = false;
  double scale = 0;  // 0: left out

  Shape q() const { return {b, heads, queries, width}; }
  Shape k() const { return {b, kept, keys, width}; }
  Shape v() const { return {b, kept, keys, values}; }
  Shape y() const { return {b, heads, queries, values}; }
  Shape lse() const { return {b, heads, queries}; }
  double factor() const { return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(width)); }
  // A mask with one column allows or forbids whole rows; any other allows key 0.
  bool forbids_rows() const { return keys == 0 || (mask == Mask::Bool && mask_shape.back() == 1); }
  std::string label() const {
    return label_of(q()) + label_of(k()) + label_of(v()) + (causal ? " causal" : "") +
           (scale != 0 ? " scaled" : "") +
           (mask == Mask::None ? ""
                               : (mask == Mask::Bool ? " mask " : " bias ") + label_of(mask_shape));
  }
};

DType statistics_dtype(DType dtype) { return dtype == DType::F64 ? DType::F64 : DType::F32; }

// Elements of a (B, H, N, W) array whose heads are shared by groups of query heads.
struct Rows {
  const Array& a;
  int64_t heads;
  size_t place(int64_t b, int64_t h, int64_t n, int64_t w) const {
    return a.at({b, h / (heads / a.shape[1]), n, w});
  }
  double operator()(int64_t b, int64_t h, int64_t n, int64_t w) const {
    return a.re(place(b, h, n, w));
  }
};

// The score of query i and key j; −∞ where forbidden.
double score(const Case& c, const Rows& q, const Rows& k, const Array* mask, int64_t b, int64_t h,
             int64_t i, int64_t j) {
  if (c.causal && j > i) return -kInf;
  double s = 0;
  for (int64_t e = 0; e < c.width; ++e) s += q(b, h, i, e) * k(b, h, j, e);
  s *= c.factor();
  if (mask == nullptr) return s;
  const double m = broadcast_at(*mask, {b, h, i, j}).real();
  return c.mask == Mask::Additive ? s + m : m != 0 ? s : -kInf;
}

std::vector<Array> forward(const Case& c, const Array& q, const Array& k, const Array& v,
                           const Array* mask) {
  Array y(q.dtype, c.y()), lse(statistics_dtype(q.dtype), c.lse());
  const Rows qs{q, c.heads}, ks{k, c.heads}, vs{v, c.heads}, ys{y, c.heads};
  for_each_index(c.lse(), [&](const Shape& at) {
    const int64_t b = at[0], h = at[1], i = at[2];
    double most = -kInf, total = 0;
    for (int64_t j = 0; j < c.keys; ++j) most = std::max(most, score(c, qs, ks, mask, b, h, i, j));
    lse.v[lse.at(at)] = -kInf;
    if (most == -kInf) return;
    for (int64_t j = 0; j < c.keys; ++j) {
      const double p = std::exp(score(c, qs, ks, mask, b, h, i, j) - most);
      total += p;
      for (int64_t f = 0; f < c.values; ++f) y.v[ys.place(b, h, i, f)] += p * vs(b, h, j, f);
    }
    for (int64_t f = 0; f < c.values; ++f) y.v[ys.place(b, h, i, f)] /= total;
    lse.v[lse.at(at)] = most + std::log(total);
  });
  return {y, lse};
}

// With p = e^(s − lse): gv = pᵀ·g, ds = p∘(g·vᵀ − Σ g∘y + glse), gq = ds·k·scale, gk = dsᵀ·q·scale.
std::vector<Array> backward(const Case& c, const Args& a) {
  using arg = tenon::arg::attention_backward;
  const Array &g = array(a, arg::g), &q = array(a, arg::q), &k = array(a, arg::k),
              &v = array(a, arg::v), &y = array(a, arg::y), &lse = array(a, arg::lse);
  const Array *glse = has(a, arg::glse) ? &array(a, arg::glse) : nullptr,
              *mask = has(a, arg::mask) ? &array(a, arg::mask) : nullptr;
  Array gq(q.dtype, q.shape), gk(q.dtype, k.shape), gv(q.dtype, v.shape);
  const Rows gs{g, c.heads}, qs{q, c.heads}, ks{k, c.heads}, vs{v, c.heads}, ys{y, c.heads};
  for_each_index({c.b, c.heads, c.queries, c.keys}, [&](const Shape& at) {
    const int64_t b = at[0], h = at[1], i = at[2], j = at[3];
    const double s = score(c, qs, ks, mask, b, h, i, j);
    if (s == -kInf) return;
    const size_t row = lse.at({b, h, i});
    const double p = std::exp(s - lse.re(row));
    double ds = glse ? glse->re(row) : 0;
    for (int64_t f = 0; f < c.values; ++f) {
      ds += gs(b, h, i, f) * (vs(b, h, j, f) - ys(b, h, i, f));
      gv.v[vs.place(b, h, j, f)] += p * gs(b, h, i, f);
    }
    ds *= p * c.factor();
    for (int64_t e = 0; e < c.width; ++e) {
      gq.v[qs.place(b, h, i, e)] += ds * ks(b, h, j, e);
      gk.v[ks.place(b, h, j, e)] += ds * qs(b, h, i, e);
    }
  });
  return {gq, gk, gv};
}

Arg mask_of(const Case& c, DType dtype, Rng& rng) {
  if (c.mask == Mask::None) return {};
  if (c.mask == Mask::Additive) return random_array(rng, dtype, c.mask_shape);
  Array allowed = random_array(rng, DType::Bool, c.mask_shape);
  if (!c.forbids_rows())
    for (size_t i = 0; i < allowed.size(); i += static_cast<size_t>(c.mask_shape.back()))
      allowed.v[i] = 1;
  return allowed;
}
Arg scale_of(const Case& c) { return c.scale == 0 ? Arg() : Arg(c.scale); }

void add_case(Table& t, const Case& c) {
  // Differences take many calls, and kernels work in whole tiles, so only the smallest operands.
  const bool tiny = c.b * c.heads * c.queries * c.keys < 13;
  Sample& fused = t.add(
      "attention", c.label(), kFloats,
      [=](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, c.q()),
                    random_array(rng, dtype, c.k()),
                    random_array(rng, dtype, c.v()),
                    mask_of(c, dtype, rng),
                    c.causal,
                    scale_of(c)};
      },
      [=](const Args& a) {
        using arg = tenon::arg::attention;
        return forward(c, array(a, arg::q), array(a, arg::k), array(a, arg::v),
                       has(a, arg::mask) ? &array(a, arg::mask) : nullptr);
      });
  Sample& back = t.add(
      "attention_backward", c.label(), kFloats,
      [=](DType dtype, Rng& rng) {
        const Array q = random_array(rng, dtype, c.q()), k = random_array(rng, dtype, c.k()),
                    v = random_array(rng, dtype, c.v());
        const Arg mask = mask_of(c, dtype, rng);
        auto out = forward(c, q, k, v, c.mask == Mask::None ? nullptr : &std::get<Array>(mask));
        round_to_dtype(out[0]), round_to_dtype(out[1]);
        // Vendors' libraries require rows of whole vectors, and no gradient to lse.
        const bool has_glse = c.causal && c.width % 8 != 0;
        const Arg glse = has_glse ? Arg(random_array(rng, out[1].dtype, c.lse())) : Arg();
        return Args{random_array(rng, dtype, c.y()),
                    q,
                    k,
                    v,
                    out[0],
                    out[1],
                    glse,
                    mask,
                    c.causal,
                    scale_of(c)};
      },
      [=](const Args& a) { return backward(c, a); });
  fused.tolerance = back.tolerance = 60;
  fused.gradient = tiny && !c.forbids_rows();  // there are no differences at −∞
  back.gradient = tiny && c.causal && c.mask == Mask::None;
  fused.layouts = c.keys < 10;
  // A broadcast layout would change scores, and with them lse.
  back.layouts = tiny && !c.forbids_rows();
}

// ---- q, k and v in one operand ------------------------------------------------------------------------------------------

// q, k or v (B, H, L, E) of qkv (B, L, 3, H, E).
Array part(const Array& qkv, int64_t which) {
  const Shape& n = qkv.shape;
  Array made(qkv.dtype, {n[0], n[3], n[1], n[4]});
  for_each_index(made.shape, [&](const Shape& at) {
    made.v[made.at(at)] = qkv.v[qkv.at({at[0], at[2], which, at[1], at[3]})];
  });
  return made;
}
// (B, H, L, E) as (B, L, H, E), and back.
Array swapped(const Array& x) {
  const Shape& n = x.shape;
  Array made(x.dtype, {n[0], n[2], n[1], n[3]});
  for_each_index(n, [&](const Shape& at) {
    made.v[made.at({at[0], at[2], at[1], at[3]})] = x.v[x.at(at)];
  });
  return made;
}
Array packed(const std::vector<Array>& parts) {
  const Shape& n = parts[0].shape;
  Array made(parts[0].dtype, {n[0], n[2], 3, n[1], n[3]});
  for (int64_t which = 0; which < 3; ++which)
    for_each_index(n, [&](const Shape& at) {
      const Array& from = parts[static_cast<size_t>(which)];
      made.v[made.at({at[0], at[2], which, at[1], at[3]})] = from.v[from.at(at)];
    });
  return made;
}

std::vector<Array> packed_forward(const Case& c, const Array& qkv, const Array* mask) {
  std::vector<Array> out = forward(c, part(qkv, 0), part(qkv, 1), part(qkv, 2), mask);
  out[0] = swapped(out[0]);
  return out;
}

// As many queries as keys, values as wide as keys, no shared heads.
void add_packed(Table& t, const Case& c) {
  const Shape shape = {c.b, c.queries, 3, c.heads, c.width};
  const bool tiny = c.b * c.heads * c.queries * c.keys < 13;
  Sample& fused = t.add(
      "attention_packed", label_of(shape) + c.label(), kFloats,
      [=](DType dtype, Rng& rng) {
        return Args{random_array(rng, dtype, shape), mask_of(c, dtype, rng), c.causal, scale_of(c)};
      },
      [=](const Args& a) {
        using arg = tenon::arg::attention_packed;
        return packed_forward(c, array(a, arg::qkv),
                              has(a, arg::mask) ? &array(a, arg::mask) : nullptr);
      });
  Sample& back = t.add(
      "attention_packed_backward", label_of(shape) + c.label(), kFloats,
      [=](DType dtype, Rng& rng) {
        const Array qkv = random_array(rng, dtype, shape);
        const Arg mask = mask_of(c, dtype, rng);
        auto out = packed_forward(c, qkv, c.mask == Mask::None ? nullptr : &std::get<Array>(mask));
        round_to_dtype(out[0]), round_to_dtype(out[1]);
        const bool has_glse = c.causal && c.width % 8 != 0;  // as above
        const Arg glse = has_glse ? Arg(random_array(rng, out[1].dtype, c.lse())) : Arg();
        const Array g = random_array(rng, dtype, out[0].shape);
        return Args{g, qkv, out[0], out[1], glse, mask, c.causal, scale_of(c)};
      },
      [=](const Args& a) {
        using arg = tenon::arg::attention_packed_backward;
        const Array& qkv = array(a, arg::qkv);
        const Args apart = {swapped(array(a, arg::g)),
                            part(qkv, 0),
                            part(qkv, 1),
                            part(qkv, 2),
                            swapped(array(a, arg::y)),
                            a[arg::lse],
                            a[arg::glse],
                            a[arg::mask],
                            a[arg::causal],
                            a[arg::scale]};
        return std::vector<Array>{packed(backward(c, apart))};
      });
  fused.tolerance = back.tolerance = 60;
  fused.gradient = tiny && !c.forbids_rows();
  back.gradient = tiny && c.causal && c.mask == Mask::None;
  fused.layouts = c.keys < 10;
  back.layouts = tiny && !c.forbids_rows();
}

void add_packed_samples(Table& t) {
  const Case cases[] = {{1, 2, 2, 2, 2, 3, 3, Mask::None, {}, true, 0.3},
                        {1, 1, 1, 3, 3, 2, 2, Mask::Additive, {3, 3}},
                        {2, 2, 2, 4, 4, 8, 8, Mask::None, {}, true},
                        {2, 3, 3, 5, 5, 4, 4, Mask::Bool, {2, 1, 5, 5}},
                        {1, 2, 2, 0, 0, 2, 2},
                        {1, 2, 2, 66, 66, 33, 33, Mask::None, {}, true}};
  for (const Case& c : cases) add_packed(t, c);
}

}  // namespace

void add_attention_samples(Table& t) {
  const Shape each = {2, 2, 3, 4};
  const Case cases[] = {{1, 1, 1, 3, 4, 2, 2},
                        {1, 2, 1, 2, 3, 2, 1, Mask::None, {}, true, 0.3},
                        {1, 2, 2, 2, 3, 1, 2, Mask::Additive, {2, 1, 3}},
                        {1, 1, 1, 3, 4, 2, 2, Mask::Bool, {3, 4}},
                        {2, 2, 2, 3, 4, 3, 5},
                        {1, 2, 2, 4, 4, 8, 8, Mask::None, {}, true},
                        {2, 4, 2, 5, 9, 8, 16},
                        {2, 2, 1, 3, 4, 3, 2, Mask::None, {}, true, 0.3},
                        {1, 4, 2, 2, 3, 4, 4, Mask::None, {}, false, 1.5},
                        {2, 2, 2, 3, 4, 3, 3, Mask::Bool, each},
                        {2, 2, 1, 3, 4, 3, 3, Mask::Bool, {2, 1, 1, 4}, true},
                        {1, 2, 2, 5, 4, 3, 3, Mask::Bool, {2, 5, 1}, true},
                        {2, 2, 2, 3, 4, 3, 3, Mask::Additive, each},
                        {2, 2, 2, 3, 4, 3, 3, Mask::Additive, {3, 4}, true},
                        {1, 2, 2, 4, 3, 2, 2, Mask::None, {}, true},
                        {1, 2, 2, 0, 3, 2, 2},
                        {1, 2, 2, 3, 0, 2, 2},
                        {0, 2, 1, 3, 3, 2, 2},
                        {1, 2, 1, 70, 75, 33, 20, Mask::None, {}, true},
                        {1, 2, 2, 66, 130, 64, 64, Mask::Bool, {66, 130}},
                        {1, 2, 1, 200, 140, 8, 8, Mask::None, {}, true},
                        {1, 1, 1, 20, 40, 96, 130, Mask::Additive, {1, 40}}};
  for (const Case& c : cases) add_case(t, c);
  add_packed_samples(t);
}

}  // namespace tenon::conformance
