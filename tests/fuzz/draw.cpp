#include <algorithm>

#include "call.hpp"

namespace tenon::fuzz {
namespace {

using conformance::Arg;
using conformance::Array;

constexpr double kMany = 1e6;  // elements that take long to walk over

Operand operand_of(const Array& array) {
  Operand x = plain_operand(array.dtype, array.shape);
  x.values = array.v;
  const auto real = [](const Complex& v) { return v.real(); };
  if (array.v.empty()) return x;
  x.low = std::ranges::min(array.v, {}, real).real();
  x.high = std::ranges::max(array.v, {}, real).real();
  return x;
}

// An argument of a sample of the conformance suite, in the fuzzer's form.
struct FromSample {
  Value operator()(std::monostate) const { return Nothing{}; }
  Value operator()(const Array& array) const { return operand_of(array); }
  Value operator()(const std::vector<Array>& arrays) const {
    std::vector<std::optional<Operand>> list;
    for (const Array& array : arrays) list.emplace_back(operand_of(array));
    return list;
  }
  Value operator()(const conformance::Number& number) const { return number.real; }
  Value operator()(const Device&) const { return HostDevice{}; }
  template <class T>
  Value operator()(const T& plain) const {
    return plain;
  }
};

DType dtype_within(uint64_t mask, Rng& rng) {
  std::vector<DType> all;
  for (uint32_t d = 0; d < TN_DTYPE_COUNT; ++d)
    if (mask >> d & 1) all.push_back(static_cast<DType>(d));
  return all.empty() ? DType::F32
                     : all[static_cast<size_t>(rng.integer(0, static_cast<int64_t>(all.size())))];
}

void draw_from_sample(Call& call, const conformance::Sample& sample, Rng& rng) {
  const conformance::Args args = sample.make(dtype_within(sample.dtypes, rng), rng);
  for (size_t i = 0; i < std::min(args.size(), call.args.size()); ++i)
    call.args[i] = std::visit(FromSample(), args[i]);
}

Shape small_shape(Rng& rng) {
  Shape shape(static_cast<size_t>(rng.integer(0, 5)));
  for (int64_t& size : shape) size = rng.integer(0, 5);
  return shape;
}

// Draws from the schema alone; `shape` and `dtype` are those that the operands share, if they share any.
Value draw_value(const Argument& arg, const Shape& shape, DType dtype, Rng& rng) {
  if ((arg.optional || !arg.otherwise.empty()) && rng.integer(0, 2) == 0) return Nothing{};
  const auto operand = [&] {
    const bool index = arg.name.starts_with("ind") || arg.name == "target";
    const DType given = index ? DType::I64 : rng.integer(0, 8) == 0 ? any_dtype(rng) : dtype;
    return plain_operand(given, rng.integer(0, 3) == 0 ? small_shape(rng) : shape);
  };
  if (arg.type == "Tensor" && !arg.list) return operand();
  if (arg.type == "Tensor") {
    std::vector<std::optional<Operand>> list(static_cast<size_t>(rng.integer(0, 4)));
    for (auto& entry : list)
      if (!arg.optional_entries || rng.integer(0, 3) != 0) entry = operand();
    return list;
  }
  if (arg.list) return rng.integer(0, 2) == 0 ? shape : small_shape(rng);
  if (arg.type == "int") return rng.integer(0, 4) == 0 ? odd_integer(rng) : rng.integer(-3, 4);
  if (arg.type == "float") return rng.integer(0, 2) == 0 ? odd_real(rng) : rng.uniform(0, 1);
  if (arg.type == "Scalar")
    return rng.integer(0, 2) == 0 ? Value(odd_real(rng)) : Value(rng.integer(-2, 6));
  if (arg.type == "bool") return rng.integer(0, 2) == 0;
  if (arg.type == "dtype") return any_dtype(rng);
  if (arg.type == "device") return HostDevice{};
  if (arg.type == "str") return std::string("ij,jk->ik");
  return Nothing{};
}

void draw_from_schema(Call& call, const Signature& signature, Rng& rng) {
  const Shape shape = small_shape(rng);
  constexpr DType kUsual[] = {DType::F32, DType::F64, DType::I64, DType::F32};
  const DType dtype = kUsual[rng.integer(0, 4)];
  for (size_t i = 0; i < call.args.size(); ++i)
    call.args[i] = draw_value(signature.args[i], shape, dtype, rng);
}

// Whether the op may write to argument `i`.
bool is_written(const Call& call, const Signature& signature, size_t i) {
  if (signature.args[i].written) return true;
  for (size_t k = 0; k < call.args.size(); ++k) {
    const auto* same = std::get_if<SameAs>(&call.args[k]);
    if (same != nullptr && same->arg == i && signature.args[k].written) return true;
  }
  return false;
}

void finish(Call& call, Operand& x, bool written, Rng& rng) {
  lay_out(x, rng);
  // An operand that the op writes to is sealed only if Tenon is told so.
  x.read_only = rng.integer(0, 12) == 0;
  x.sealed = x.read_only || (x.sealed && !written);
  const bool real = is_floating(x.dtype) || x.dtype == DType::C64 || x.dtype == DType::C128;
  x.requires_grad = call.recording && real && rng.integer(0, 5) != 0;
  call.huge |= elements(x.shape) > kMany;
}

uint64_t mixed(uint64_t seed, uint64_t number, std::string_view op) {
  uint64_t hash = 14695981039346656037u ^ seed * 0x9e3779b97f4a7c15u;
  for (const char c : op) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  hash ^= number * 0xbf58476d1ce4e5b9u;
  return (hash ^ hash >> 29) * 0x94d049bb133111ebu;
}

}  // namespace

Call draw_call(const Signature& signature, uint64_t seed, uint64_t number) {
  Rng rng(mixed(seed, number, signature.op));
  Call call;
  call.args.resize(signature.args.size());
  call.recording = rng.integer(0, 2) == 0;
  call.twice = call.recording && rng.integer(0, 3) == 0;
  call.into = rng.integer(0, 3) == 0;
  const auto samples = conformance::table().of(signature.op);
  if (!samples.empty() && rng.integer(0, 8) != 0)
    draw_from_sample(
        call, *samples[static_cast<size_t>(rng.integer(0, static_cast<int64_t>(samples.size())))],
        rng);
  else
    draw_from_schema(call, signature, rng);
  mutate(call, signature, rng);
  for (size_t i = 0; i < call.args.size(); ++i) {
    const bool written = is_written(call, signature, i);
    if (auto* operand = std::get_if<Operand>(&call.args[i])) finish(call, *operand, written, rng);
    if (auto* list = std::get_if<std::vector<std::optional<Operand>>>(&call.args[i]))
      for (auto& entry : *list)
        if (entry) finish(call, *entry, written, rng);
  }
  call.seed = rng.engine()();
  return call;
}

}  // namespace tenon::fuzz
