#include <algorithm>
#include <cmath>
#include <limits>

#include "call.hpp"

namespace tenon::fuzz {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(),
                  kLeast = std::numeric_limits<int64_t>::min();

template <class T, size_t N>
T one_of(Rng& rng, const T (&choices)[N]) {
  return choices[rng.integer(0, static_cast<int64_t>(N))];
}
size_t below(Rng& rng, size_t n) {
  return static_cast<size_t>(rng.integer(0, static_cast<int64_t>(n)));
}

int64_t odd_size(Rng& rng) {
  constexpr int64_t kSizes[] = {
      0, 0, 0, 1, 1, 2, 3, 5, 7, 17, 65, int64_t{1} << 31, int64_t{1} << 40, int64_t{1} << 62};
  return one_of(rng, kSizes);
}

// Values that were meant for the old shape are dropped; their range stays.
void reshape(Operand& x, Shape shape) {
  x.shape = std::move(shape);
  if (static_cast<double>(x.values.size()) != elements(x.shape)) x.values.clear();
}

void change_shape(Operand& x, Rng& rng) {
  Shape shape = x.shape;
  const size_t rank = shape.size(), d = rank == 0 ? 0 : below(rng, rank);
  switch (rng.integer(0, 8)) {
    case 0:
    case 1:
      shape.clear();
      break;
    case 2:
      shape.assign(rank, 1);
      break;
    case 3:
      if (rank > 0) shape.erase(shape.begin() + static_cast<ptrdiff_t>(d));
      break;
    case 4:
      shape.insert(shape.begin() + static_cast<ptrdiff_t>(d), rng.integer(0, 3));
      break;
    case 5:
      if (rank > 0) shape[d] += rng.integer(-1, 2);
      break;
    case 6:
      shape.resize(static_cast<size_t>(rng.integer(0, 17)), 1);
      break;
    default:
      if (rank > 0) shape[d] = odd_size(rng);
      break;
  }
  for (int64_t& size : shape) size = std::max<int64_t>(size, 0);
  reshape(x, std::move(shape));
}

void mutate_operand(Operand& x, Rng& rng) {
  switch (rng.integer(0, 8)) {
    case 0:
      x.dtype = any_dtype(rng), x.values.clear();
      break;
    case 1:
      x.low = odd_real(rng), x.high = x.low + 1, x.values.clear();
      break;
    case 2:
      x.low = -5, x.high = 9, x.values.clear();
      break;
    default:
      change_shape(x, rng);
      break;
  }
}

void mutate_list(Shape& list, Rng& rng) {
  switch (rng.integer(0, 6)) {
    case 0:
      list.clear();
      break;
    case 1:
      if (!list.empty()) list.pop_back();
      break;
    case 2:
      list.insert(list.begin(), odd_integer(rng));
      break;
    case 3:
      if (!list.empty()) list.push_back(list.front());
      break;
    default:
      if (!list.empty())
        list[below(rng, list.size())] = rng.integer(0, 2) ? odd_integer(rng) : rng.integer(-2, 4);
      break;
  }
}

void mutate_tensors(std::vector<std::optional<Operand>>& list, const Argument& arg, Rng& rng) {
  if (list.empty() || rng.integer(0, 6) == 0) {
    list.clear();
    return;
  }
  const size_t k = below(rng, list.size());
  switch (rng.integer(0, 5)) {
    case 0:
      list.erase(list.begin() + static_cast<ptrdiff_t>(k));
      break;
    case 1:
      list.push_back(list[k]);
      break;
    case 2:
      if (arg.optional_entries) list[k].reset();
      break;
    default:
      if (list[k]) mutate_operand(*list[k], rng);
      break;
  }
}

std::string odd_text(Rng& rng) {
  const std::string texts[] = {"",         "none",
                               "sum",      "mean",
                               "tanh",     "nonsense",
                               "nearest",  "linear",
                               "reflect",  "bilinear",
                               "ii->i",    "...ij,...jk->...ik",
                               "i,,->",    std::string(3000, 'a'),
                               "\xff\xfe", "->",
                               "ij->ijj"};
  return one_of(rng, texts);
}

void mutate_one(Call& call, const Signature& signature, size_t i, Rng& rng) {
  Value& value = call.args[i];
  const Argument& arg = signature.args[i];
  const int64_t dice = rng.integer(0, 30);
  if (dice == 0) {
    value = Nothing{};
  } else if (dice == 1 && arg.type == "Tensor") {
    value = SameAs{below(rng, call.args.size())};
  } else if (auto* operand = std::get_if<Operand>(&value)) {
    mutate_operand(*operand, rng);
  } else if (auto* list = std::get_if<Shape>(&value)) {
    mutate_list(*list, rng);
  } else if (auto* tensors = std::get_if<std::vector<std::optional<Operand>>>(&value)) {
    mutate_tensors(*tensors, arg, rng);
  } else if (auto* integer = std::get_if<int64_t>(&value)) {
    *integer = rng.integer(0, 2) ? odd_integer(rng) : rng.integer(-4, 5);
  } else if (auto* real = std::get_if<double>(&value)) {
    *real = odd_real(rng);
  } else if (auto* flag = std::get_if<bool>(&value)) {
    *flag = !*flag;
  } else if (auto* text = std::get_if<std::string>(&value)) {
    *text = odd_text(rng);
  } else if (auto* dtype = std::get_if<DType>(&value)) {
    *dtype = any_dtype(rng);
  } else if (arg.type == "int" || arg.type == "Scalar") {
    arg.list ? value = Shape{rng.integer(-2, 3)} : value = odd_integer(rng);
  } else if (arg.type == "Tensor" && !arg.list) {
    value = plain_operand(DType::F32, {});
    mutate_operand(std::get<Operand>(value), rng);
  }
}

template <class Fn>
void for_each_operand(Call& call, Fn&& fn) {
  for (Value& value : call.args) {
    if (auto* operand = std::get_if<Operand>(&value)) fn(*operand);
    if (auto* list = std::get_if<std::vector<std::optional<Operand>>>(&value))
      for (auto& entry : *list)
        if (entry) fn(*entry);
  }
}

// Replaces one size everywhere it occurs, so that sizes that belong together still agree: an empty batch, no heads, 2^40 rows.
void replace_size(Call& call, Rng& rng) {
  Shape sizes;
  for_each_operand(call,
                   [&](Operand& x) { sizes.insert(sizes.end(), x.shape.begin(), x.shape.end()); });
  if (sizes.empty()) return;
  const int64_t from = sizes[below(rng, sizes.size())], to = odd_size(rng);
  for_each_operand(call, [&](Operand& x) {
    Shape shape = x.shape;
    std::ranges::replace(shape, from, to);
    reshape(x, std::move(shape));
  });
  for (Value& value : call.args) {
    if (auto* list = std::get_if<Shape>(&value)) std::ranges::replace(*list, from, to);
    auto* integer = std::get_if<int64_t>(&value);
    if (integer != nullptr && *integer == from) *integer = to;
  }
}

}  // namespace

int64_t odd_integer(Rng& rng) {
  constexpr int64_t kOdd[] = {0,
                              1,
                              -1,
                              2,
                              -2,
                              3,
                              15,
                              16,
                              17,
                              -16,
                              -17,
                              63,
                              64,
                              1000,
                              int64_t{1} << 31,
                              -(int64_t{1} << 31),
                              int64_t{1} << 32,
                              int64_t{1} << 40,
                              int64_t{1} << 62,
                              -(int64_t{1} << 62),
                              kMost,
                              kMost - 1,
                              kMost / 2,
                              kLeast,
                              kLeast + 1};
  return one_of(rng, kOdd);
}

double odd_real(Rng& rng) {
  constexpr double kOdd[] = {0,      -0.0,   1,       -1,       0.5,       2,
                             1e-300, 1e30,   1e300,   -1e300,   0x1p31,    -0x1p31,
                             0x1p62, 0x1p63, -0x1p63, INFINITY, -INFINITY, NAN};
  return one_of(rng, kOdd);
}

DType any_dtype(Rng& rng) { return static_cast<DType>(rng.integer(0, TN_DTYPE_COUNT)); }

Operand plain_operand(DType dtype, Shape shape) {
  Operand x;
  x.dtype = dtype;
  x.shape = std::move(shape);
  return x;
}

void mutate(Call& call, const Signature& signature, Rng& rng) {
  if (signature.args.empty()) return;
  constexpr int64_t kTimes[] = {0, 1, 1, 1, 1, 2, 2, 3};
  for (int64_t n = one_of(rng, kTimes); n > 0; --n) {
    if (rng.integer(0, 3) == 0)
      replace_size(call, rng);
    else
      mutate_one(call, signature, below(rng, call.args.size()), rng);
  }
  // Sometimes makes all operands rank 0, like a number read from a file.
  if (rng.integer(0, 12) == 0) for_each_operand(call, [](Operand& x) { reshape(x, {}); });
}

}  // namespace tenon::fuzz
