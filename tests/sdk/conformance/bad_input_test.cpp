// Calls every op with one argument made wrong at a time, starting from its samples. The answer must be a result or an error that names an
// op, never a crash or an internal error. Memory is limited, so that sizes out of all proportion are refused instead of tried.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bridge.hpp"

namespace tenon::conformance {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max(),
                  kSmallest = std::numeric_limits<int64_t>::min();
constexpr uint64_t kMemoryLimit = 256 << 20;

Array filled(DType dtype, Shape shape, double value) {
  Array array(dtype, std::move(shape));
  std::fill(array.v.begin(), array.v.end(), Complex(value));
  round_to_dtype(array);
  return array;
}

std::vector<Arg> wrong_tensors(const Array& given) {
  std::vector<Arg> wrong;
  for (DType dtype : {DType::Bool, DType::U8, DType::I64, DType::F16, DType::F64, DType::C64}) {
    Array other = given;
    other.dtype = dtype;
    round_to_dtype(other);
    wrong.emplace_back(other);
  }
  for (const Shape& shape :
       {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{3, 0}, Shape{2, 3}, Shape{1, 2, 3, 4, 5, 6}})
    wrong.emplace_back(filled(given.dtype, shape, 1));
  for (double value : {-1e9, 1e9, -1.0, 1000.0, std::nan("")})
    if (!std::isnan(value) || is_floating(given.dtype))
      wrong.emplace_back(filled(given.dtype, given.shape, value));
  return wrong;
}

// Misplaced values of the argument's own kind, and values of other kinds.
std::vector<Arg> wrong_values(const Arg& given) {
  std::vector<Arg> wrong = {std::monostate{},        int64_t{3},    0.5,     true,
                            std::string("nonsense"), std::string(), Shape{1}};
  auto add = [&](std::vector<Arg> more) { wrong.insert(wrong.end(), more.begin(), more.end()); };
  if (std::holds_alternative<Array>(given))
    add(wrong_tensors(std::get<Array>(given)));
  else
    wrong.emplace_back(filled(DType::F32, {2, 2}, 1));
  if (auto* list = std::get_if<std::vector<Array>>(&given)) {
    add({std::vector<Array>{}, std::vector<Array>(1, filled(DType::F32, {}, 1)),
         std::vector<Array>(1, filled(DType::I64, {9, 9}, 1e6))});
    if (!list->empty()) {
      auto mixed = *list;
      mixed.back() = filled(DType::I32, {5, 1, 2}, 1);
      wrong.emplace_back(mixed);
    }
  }
  for (int64_t value :
       {int64_t{0}, int64_t{-1}, int64_t{-1000}, int64_t{1000}, kLargest, kSmallest})
    wrong.emplace_back(value);
  for (double value : {-1.0, std::nan(""), 1e300, static_cast<double>(INFINITY)})
    wrong.emplace_back(value);
  if (auto* list = std::get_if<Shape>(&given)) {
    add({Shape{}, Shape{0}, Shape{-1}, Shape{-5, 3}, Shape{kLargest}, Shape{kSmallest},
         Shape{kLargest, kLargest}, Shape(17, 1), Shape(3, 1 << 30)});
    for (int64_t value : {int64_t{0}, int64_t{-3}, int64_t{1} << 40, kLargest})
      if (!list->empty()) {
        Shape changed = *list;
        changed.back() = value;
        wrong.emplace_back(changed);
      }
  }
  if (std::holds_alternative<DType>(given)) wrong.emplace_back(static_cast<DType>(99));
  return wrong;
}

std::string describe(const std::string& op, const std::string& label, size_t arg, size_t variant) {
  return op + "/" + label + " argument " + std::to_string(arg) + " variant " +
         std::to_string(variant);
}

void expect_answer(const tn_op* op, const Args& args, const std::string& what) {
  Rng rng(1);
  try {
    Call(op, args, Device("cpu"), Layout::Contiguous, rng).run();
  } catch (const Error& error) {
    std::string message = error.what();
    EXPECT_NE(error.code(), TN_INTERNAL) << what << ": " << message;
    EXPECT_TRUE(message.starts_with("[") || error.code() == TN_OUT_OF_MEMORY)
        << what << ": " << message;
  }
}

class BadInput : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { Device("cpu").set_memory_limit(kMemoryLimit); }
  void TearDown() override { Device("cpu").set_memory_limit(0); }
};

TEST_P(BadInput, IsAnsweredWithAnError) {
  const tn_op* op = nullptr;
  detail::check(tn_op_require(detail::to_str(GetParam()), &op));
  NoGrad off;
  auto samples = table().of(GetParam());
  for (size_t s = 0; s < std::min<size_t>(samples.size(), 3); ++s) {
    Rng rng(7);
    DType dtype = DType::F32;
    while ((samples[s]->dtypes & TN_MASK(static_cast<uint32_t>(dtype))) == 0)
      dtype = static_cast<DType>((static_cast<uint32_t>(dtype) + 1) % TN_DTYPE_COUNT);
    const Args good = samples[s]->make(dtype, rng);
    for (size_t i = 0; i < good.size(); ++i) {
      std::vector<Arg> wrong = wrong_values(good[i]);
      for (size_t k = 0; k < wrong.size(); ++k) {
        Args args = good;
        args[i] = wrong[k];
        expect_answer(op, args, describe(GetParam(), samples[s]->label, i, k));
      }
    }
    // Missing arguments, and one too many.
    for (size_t n = 0; n < good.size(); ++n)
      expect_answer(op, Args(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)),
                    GetParam() + " cut");
    Args more = good;
    more.resize(20);
    expect_answer(op, more, GetParam() + " with too many arguments");
  }
}

TEST_P(BadInput, NullHandlesAndCounts) {
  const tn_op* op = nullptr;
  detail::check(tn_op_require(detail::to_str(GetParam()), &op));
  tn_value args[12] = {};
  tn_tensor* outs[8] = {};
  for (uint32_t tag = 0; tag < 20; ++tag) {  // every tag, known or not, with a null pointer
    for (tn_value& value : args) value.tag = tag, value.count = 0;
    for (uint32_t n : {0u, 1u, 3u, 12u})
      for (uint32_t nouts : {0u, 1u, 7u}) {
        tn_status* status = tn_op_call(op, args, n, outs, nouts);
        if (status == nullptr)
          for (uint32_t k = 0; k < nouts; ++k) tn_tensor_release(outs[k]);
        tn_status_release(status);
      }
  }
}

std::vector<std::string> ops() {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < tn_op_count(); ++i)
    names.emplace_back(detail::to_view(tn_op_name(tn_op_at(i))));
  return names;
}
INSTANTIATE_TEST_SUITE_P(Ops, BadInput, testing::ValuesIn(ops()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tenon::conformance
