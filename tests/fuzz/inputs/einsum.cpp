// Equations of einsum over operands of a few small dimensions: computed or refused; the sizes of any result are known.
#include <vector>

#include "target.hpp"
#include "tenon/tenon.hpp"

namespace {

// Rank 0 to 4, sizes 0 to 3. All values are ones, so a result counts terms.
tenon::Tensor operand(tenon::fuzz::Steering& steering) {
  const uint8_t rank = steering.byte() % 5, sizes = steering.byte();
  std::vector<int64_t> shape;
  for (int d = 0; d < rank; ++d) shape.push_back(sizes >> (2 * d) & 3);
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return tenon::tensor(std::vector<float>(static_cast<size_t>(n), 1.0f), shape);
}

}  // namespace

TENON_FUZZ_TARGET(einsum) {
  static const bool loaded = [] { return discover_plugins(), true; }();
  static_cast<void>(loaded);
  Steering steering(bytes);
  std::vector<Tensor> operands;
  for (int n = steering.byte() % 5; n > 0; --n) operands.push_back(operand(steering));
  accepted([&] {
    const Tensor result = einsum(std::string(steering.rest()), operands);
    double products = 1, terms = 1;
    for (const int64_t size : result.shape()) {
      require(size >= 0 && size <= 3, "a size that no operand has");
      products *= static_cast<double>(size);
    }
    for (const Tensor& x : operands) terms *= static_cast<double>(std::max<int64_t>(x.numel(), 1));
    // Products and sums of ones: whole numbers, not negative, and no larger than the number of combinations.
    for (const float value : result.to_vector<float>())
      require(value >= 0 && value == static_cast<float>(static_cast<int64_t>(value)) &&
                  value <= static_cast<float>(terms) + 0.5f,
              "a sum of ones that is none");
    static_cast<void>(products);
  });
}
