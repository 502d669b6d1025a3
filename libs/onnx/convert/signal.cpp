// Fourier transforms as products with the matrix e^(-2πi·kn/N), and the mel scale.
#include <cmath>
#include <numbers>

#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

// cos and sin of 2π·kn/N, (rows, columns), with the operand's dtype and device.
Tensor table(int64_t rows, int64_t columns, int64_t period, double (*of)(double),
             const Tensor& like) {
  std::vector<double> elements;
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t n = 0; n < columns; ++n)
      elements.push_back(of(2 * std::numbers::pi * static_cast<double>(k * n % period) /
                            static_cast<double>(period)));
  const Tensor made = tensor(elements, {rows, columns}).to(like.dtype());
  const bool stays = like.device() == Device("cpu") || like.device().id().starts_with("trace");
  return stays ? made : made.to(like.device());
}
double cosine(double x) { return std::cos(x); }
double sine(double x) { return std::sin(x); }

// Over the second last dimension of (…, length, 1 or 2): real numbers, or real and imaginary parts.
Tensor transformed(const Tensor& given, int64_t size, bool inverse, bool onesided) {
  const int64_t dim = given.ndim() - 2, length = given.shape(dim);
  Tensor x = given;
  const bool whole = !(inverse && onesided);
  const int64_t wanted = whole ? size : size / 2 + 1;
  if (length > wanted) x = x.narrow(dim, 0, wanted);
  if (length < wanted) x = pad(x, {0, 0, 0, wanted - length});
  Tensor re = x.select(dim + 1, 0),
         im = x.shape(dim + 1) == 2 ? x.select(dim + 1, 1) : zeros_like(re);
  if (!whole) {  // the second half is the conjugate of the first, reversed
    const int64_t rest = size - wanted;
    re = concat({re, re.narrow(dim, 1, rest).flip(dim)}, dim);
    im = concat({im, -im.narrow(dim, 1, rest).flip(dim)}, dim);
  }
  const int64_t rows = onesided && !inverse ? size / 2 + 1 : size;
  const Tensor c = table(size, rows, size, cosine, re),
               s = table(size, rows, size, sine, re) * (inverse ? -1.0 : 1.0);
  Tensor y_re = matmul(re, c) + matmul(im, s), y_im = matmul(im, c) - matmul(re, s);
  if (inverse) {
    y_re = y_re / static_cast<double>(size);
    y_im = y_im / static_cast<double>(size);
  }
  if (inverse && onesided) return y_re.unsqueeze(-1);
  return stack({y_re, y_im}, dim + 1);
}

Tensor dft(const Call& call) {
  const Tensor x = call.x(0);
  int64_t axis = call.opset() < 20 ? call.i("axis", 1) : call.has(2) ? call.integer(2) : -2;
  axis = wrap(axis, x.ndim());
  const int64_t last = x.ndim() - 2;
  const bool inverse = call.flag("inverse"), onesided = call.flag("onesided");
  const Tensor turned = axis == last ? x : x.transpose(axis, last);
  const int64_t length = turned.shape(last);
  const int64_t size = call.has(1)           ? call.integer(1)
                       : inverse && onesided ? 2 * (length - 1)
                                             : length;
  if (size < 1) call.fail("a transform of " + std::to_string(size) + " elements");
  const Tensor y = transformed(turned, size, inverse, onesided);
  return axis == last ? y : y.transpose(axis, last);
}

// (N, length, 1 or 2) to (N, frames, frequencies, 2).
Tensor stft(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t step = call.integer(1), length = x.shape(1);
  const int64_t size = call.has(3) ? call.integer(3) : call.has(2) ? call.x(2).shape(0) : length;
  if (step < 1 || size < 1 || size > length)
    call.fail("frames of " + std::to_string(size) + " every " + std::to_string(step) + " of " +
              std::to_string(length));
  const int64_t frames = (length - size) / step + 1;
  std::vector<int64_t> places;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < size; ++i) places.push_back(f * step + i);
  const Tensor index = host(places, static_cast<int64_t>(places.size()), DType::I64, x.device());
  Tensor cut =
      x.index_select(1, index).reshape({x.shape(0), frames, size, x.ndim() == 3 ? x.shape(2) : 1});
  if (call.has(2)) cut = cut * call.x(2).reshape({size, 1});
  const bool complex = cut.shape(3) == 2;
  return transformed(cut, size, false, call.flag("onesided", true) && !complex);
}

// Triangles of equal width on the mel scale, 2595·log10(1 + f/700).
Tensor mel_weights(const Call& call) {
  const int64_t bins = call.integer(0), dft_length = call.integer(1), rate = call.integer(2);
  const double low = call.number(3), high = call.number(4);
  const auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  const int64_t rows = dft_length / 2 + 1;
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz =
        700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(dft_length + 1) * hertz / static_cast<double>(rate))));
  }
  std::vector<double> weights(static_cast<size_t>(rows * bins));
  for (int64_t b = 0; b < bins; ++b) {
    const auto at = static_cast<size_t>(b);
    const int64_t left = edges[at], centre = edges[at + 1], right = edges[at + 2];
    const auto set = [&](int64_t row, double value) {
      if (row >= 0 && row < rows) weights[static_cast<size_t>(row * bins + b)] = value;
    };
    if (left == centre) set(centre, 1);
    for (int64_t j = left; j <= centre && left != centre; ++j)
      set(j, static_cast<double>(j - left) / static_cast<double>(centre - left));
    for (int64_t j = centre; j < right && centre != right; ++j)
      set(j, static_cast<double>(right - j) / static_cast<double>(right - centre));
  }
  return tensor(weights, {rows, bins}).to(call.dtype("output_datatype", DType::F32));
}

}  // namespace

Family signal_ops() {
  static const Entry ops[] = {
      {"DFT", 17, dft},
      {"STFT", 17, stft},
      {"MelWeightMatrix", 17, mel_weights},
  };
  return ops;
}

}  // namespace tenon::onnx
