#include "convert/layers.hpp"
#include "convert/table.hpp"

namespace tenon::onnx {

// alpha·A·B + beta·C.
Tensor gemm_of(const Call& call) {
  Tensor a = call.x(0), b = call.x(1);
  const double alpha = call.f("alpha", 1), beta = call.f("beta", 1);
  if (call.flag("transA")) a = a.t();
  const bool rows = call.flag("transB");
  if (call.has(2) && alpha == 1 && beta == 1) {
    const Tensor c = call.x(2);
    if (c.ndim() == 1 && c.shape(0) == b.shape(rows ? 0 : 1)) return linear(a, rows ? b : b.t(), c);
  }
  Tensor y = matmul(a, rows ? b.t() : b);
  if (alpha != 1) y = (y * alpha).to(a.dtype());
  if (!call.has(2) || beta == 0) return y;
  const Tensor c = call.x(2);
  return y + (beta == 1 ? c : (c * beta).to(c.dtype()));
}

namespace {

// Determinants of the last two dimensions, by elimination with pivoting in double precision on the host.
Tensor determinant(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t n = x.ndim() < 2 ? -1 : x.shape(-1);
  if (n < 0 || x.shape(-2) != n) call.fail("it takes square matrices");
  const std::vector<double> elements = read<double>(x.cpu().contiguous());
  std::vector<int64_t> sizes = shape_of(x);
  sizes.resize(sizes.size() - 2);
  std::vector<double> found;
  const auto m = static_cast<size_t>(n);
  const size_t count = m == 0 ? 0 : elements.size() / (m * m);
  for (size_t k = 0; k < count; ++k) {
    std::vector<double> a(elements.begin() + static_cast<std::ptrdiff_t>(k * m * m),
                          elements.begin() + static_cast<std::ptrdiff_t>((k + 1) * m * m));
    double product = 1;
    for (size_t c = 0; c < m; ++c) {
      size_t pivot = c;
      for (size_t r = c + 1; r < m; ++r)
        if (std::abs(a[r * m + c]) > std::abs(a[pivot * m + c])) pivot = r;
      if (pivot != c) {
        for (size_t j = 0; j < m; ++j) std::swap(a[c * m + j], a[pivot * m + j]);
        product = -product;
      }
      product *= a[c * m + c];
      if (a[c * m + c] == 0) break;
      for (size_t r = c + 1; r < m; ++r) {
        const double factor = a[r * m + c] / a[c * m + c];
        for (size_t j = c; j < m; ++j) a[r * m + j] -= factor * a[c * m + j];
      }
    }
    found.push_back(product);
  }
  return tensor(found, sizes).to(x.dtype()).to(x.device());
}

}  // namespace

Family matrix_ops() {
  static const Entry ops[] = {
      {"MatMul", 1, [](const Call& call) { return matmul(call.x(0), call.x(1)); }},
      {"Gemm", 7, gemm_of},
      {"Einsum", 12,
       [](const Call& call) {
         const std::vector<Tensor> xs = call.tensors();
         return einsum(call.s("equation", ""), xs);
       }},
      {"Det", 11, determinant},
  };
  return ops;
}

}  // namespace tenon::onnx
