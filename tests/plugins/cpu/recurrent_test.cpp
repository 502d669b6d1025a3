// lstm of halves over many steps beside double precision: what is rounded between steps is only what the results show.
#include "reference.hpp"

namespace {

using namespace reference;
using tenon::DType;
using tenon::Tensor;

std::string provider(const char* name, DType dtype) {
  const tn_op* op = nullptr;
  tenon::detail::check(tn_op_require({name, std::char_traits<char>::length(name)}, &op));
  const tn_str found = tn_op_provider(op, tenon::Device("cpu").get(), static_cast<tn_dtype>(dtype));
  return {found.data, found.size};
}

TEST(Recurrent, EveryFloatingDtypeHasKernelsOfItsOwn) {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16})
    for (const char* name : {"lstm", "lstm_backward"}) EXPECT_EQ(provider(name, dtype), "cpu");
}

struct Sizes {
  int64_t steps, batch, width;
};

// The results of a layer, then the gradients of its operands.
std::vector<std::vector<double>> layer(const Sizes& s, DType dtype, bool reverse) {
  const auto operand = [&](Shape shape, uint32_t seed, double scale) {
    Array a = fractions(std::move(shape), seed);
    for (double& x : a.v) x *= scale;
    Tensor x =
        to_tensor(a, DType::BF16).to(DType::F16).to(dtype);  // the same numbers in each dtype
    x.requires_grad_();
    return x;
  };
  const int64_t w = s.width;
  const Tensor operands[] = {operand({s.steps, s.batch, 4 * w}, 1, 1), operand({s.batch, w}, 2, 1),
                             operand({s.batch, w}, 3, 1),
                             operand({4 * w, w}, 4, 2 / std::sqrt(static_cast<double>(w)))};
  const auto out = tenon::lstm(operands[0], operands[1], operands[2], operands[3], reverse);
  const Tensor g = to_tensor(fractions({s.steps, s.batch, w}, 5), dtype);
  (out.y * g + out.c * g).sum().backward();
  std::vector<std::vector<double>> found = {values(out.y), values(out.c), values(out.gates)};
  for (const Tensor& x : operands) found.push_back(values(x.grad()));
  return found;
}

double most(const std::vector<double>& a, const std::vector<double>* less = nullptr) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - (less == nullptr ? 0 : (*less)[i])));
  return most;
}

TEST(Recurrent, HalvesOverManyStepsStayNearDoublePrecision) {
  for (const Sizes& s : {Sizes{60, 1, 45}, {60, 3, 48}, {50, 20, 64}, {30, 17, 33}})
    for (const bool reverse : {false, true}) {
      const auto wanted = layer(s, DType::F64, reverse);
      for (const DType dtype : {DType::F16, DType::BF16}) {
        const double unit = dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
        const auto got = layer(s, dtype, reverse);
        for (size_t i = 0; i < wanted.size(); ++i)
          EXPECT_LE(most(got[i], &wanted[i]), 6 * unit * most(wanted[i]))
              << "result " << i << ", batch " << s.batch << ", width " << s.width;
      }
    }
}

}  // namespace
