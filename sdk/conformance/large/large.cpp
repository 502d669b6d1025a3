#include "large.hpp"

#include <algorithm>
#include <sstream>

namespace tenon::conformance::large {
namespace {

constexpr int kPlaces = 96;

std::string place_of(int64_t place, const Shape& shape) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0; place /= shape[d])
    text = std::to_string(place % shape[d]) + (text.empty() ? "" : ", ") + text;
  return "(" + text + ")";
}

}  // namespace

double unit_of(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 0x1p-11;
    case DType::BF16:
      return 0x1p-8;
    case DType::F64:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}
double sum_unit_of(DType dtype) { return dtype == DType::F64 ? 0x1p-53 : 0x1p-24; }

std::vector<double> elements_of(const Tensor& tensor) {
  return tensor.to("cpu").to(DType::F64).contiguous().to_vector<double>();
}

Numbers Setting::draw(const Shape& shape, double low, double high) {
  std::vector<float> drawn(static_cast<size_t>(Array::count(shape)));
  for (float& value : drawn) value = static_cast<float>(rng.uniform(low, high));
  const Tensor held = reshape(tenon::tensor(drawn), shape).to(dtype);
  return {held.to(device), shape, elements_of(held)};
}

Tensor Setting::labels(const Shape& shape, int64_t classes, std::vector<int64_t>& drawn) {
  drawn.resize(static_cast<size_t>(Array::count(shape)));
  for (int64_t& label : drawn) label = rng.integer(0, classes);
  return reshape(tenon::tensor(drawn), shape).to(device);
}

std::string compare(Setting& s, const Tensor& got, const Shape& shape,
                    const std::function<Wanted(int64_t place)>& wanted) {
  const std::vector<double> values = elements_of(got);
  const auto count = static_cast<int64_t>(values.size());
  if (count != Array::count(shape)) return "a result of another shape than the definition's";
  // The ends, where tiles are cut off, and positions in between.
  for (int i = 0; i < kPlaces; ++i) {
    const int64_t place = i == 0 ? 0 : i == 1 ? count - 1 : s.rng.integer(0, count);
    const Wanted w = wanted(place);
    const double value = values[static_cast<size_t>(place)];
    // In f16, values below the normal range round to multiples of 2^-24.
    const double allowed = w.error + unit_of(got.dtype()) * (std::abs(w.value) + w.error) +
                           (got.dtype() == DType::F16 ? 0x1p-24 : 0);
    if (std::abs(value - w.value) <= allowed) continue;
    std::ostringstream out;
    out.precision(12);
    out << "element " << place_of(place, shape) << ": " << value << ", wanted " << w.value << " ± "
        << allowed;
    return out.str();
  }
  return {};
}

}  // namespace tenon::conformance::large
