// The body of transform_*.cpp: TN_FFT_TABLE is the function it defines, TN_FFT_POCKET the name it gives pocketfft's namespace, so
// that code of different instruction sets is never taken for the same. Everything of the standard library is included before.
#include <pocketfft_hdronly.h>

namespace tenon::fft {
namespace {

namespace pocket = ::TN_FFT_POCKET;
using pocket::shape_t;
using pocket::stride_t;

// One side of a transform along one dimension.
template <class T>
struct Side {
  T* data;
  stride_t strides;  // bytes
  T* at(int64_t dim, int64_t index) const {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(const_cast<std::remove_const_t<T>*>(data)) +
                                strides[dim] * index);
  }
};

template <class T>
Side<T> contiguous(T* data, std::span<const int64_t> shape) {
  stride_t strides(shape.size());
  auto step = static_cast<ptrdiff_t>(sizeof(T));
  for (size_t d = shape.size(); d-- > 0; step *= shape[d]) strides[d] = step;
  return {data, strides};
}

template <class T>
Side<const T> strided(const Job& job) {
  stride_t strides;
  for (const int64_t stride : job.strides)
    strides.push_back(stride * static_cast<ptrdiff_t>(sizeof(T)));
  return {static_cast<const T*>(job.in), strides};
}

// transform(shape, in, out) over parts of the longest dimension that is not transformed, one a thread.
template <class In, class Out, class Transform>
void divide(std::span<const int64_t> shape, int64_t dim, const Side<In>& in, const Side<Out>& out,
            Transform&& transform) {
  int64_t all = 1, split = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    all *= shape[d];
    if (static_cast<int64_t>(d) != dim && (split < 0 || shape[d] > shape[split]))
      split = static_cast<int64_t>(d);
  }
  const shape_t sizes(shape.begin(), shape.end());
  if (split < 0) return transform(sizes, in.data, out.data);
  // About 3 ns for an element; parts of a multiple of 16 keep the vectors whole.
  const int64_t blocks = (shape[split] + 15) / 16,
                cost = std::max<int64_t>(all / std::max<int64_t>(blocks, 1), 1);
  host::parallel_ranges(
      blocks, std::max<int64_t>(16384 / cost, 1), [&](int64_t begin, int64_t end) {
        shape_t part = sizes;
        part[split] = static_cast<size_t>(std::min(end * 16, shape[split]) - begin * 16);
        transform(part, in.at(split, begin * 16), out.at(split, begin * 16));
      });
}

template <class R>
void along(std::span<const int64_t> shape, int64_t dim, bool forward,
           const Side<const std::complex<R>>& in, const Side<std::complex<R>>& out, double scale) {
  divide(shape, dim, in, out,
         [&](const shape_t& sizes, const std::complex<R>* from, std::complex<R>* to) {
           pocket::c2c(sizes, in.strides, out.strides, {static_cast<size_t>(dim)}, forward, from,
                       to, static_cast<R>(scale));
         });
}

template <class T>
Side<const T> as_input(const Side<T>& side) {
  return {side.data, side.strides};
}

template <class R>
void c2c(const Job& job) {
  const Side<std::complex<R>> out = contiguous(static_cast<std::complex<R>*>(job.out), job.shape);
  along<R>(job.shape, job.dims[0], job.forward, strided<std::complex<R>>(job), out, job.scale);
  for (const int64_t dim : job.dims.subspan(1))
    along<R>(job.shape, dim, job.forward, as_input(out), out, 1);
}

// The complex side's shape: n/2 + 1 along the last of dims.
std::vector<int64_t> half(const Job& job) {
  std::vector<int64_t> shape(job.shape.begin(), job.shape.end());
  shape[job.dims.back()] = shape[job.dims.back()] / 2 + 1;
  return shape;
}

// Multiplies what stands for two entries; x is contiguous, of shape half(job).
template <class R>
void weigh(const Job& job, std::complex<R>* x) {
  if (job.inner == 1) return;
  const std::vector<int64_t> shape = half(job);
  const auto dim = static_cast<size_t>(job.dims.back());
  int64_t before = 1, after = 1;
  for (size_t d = 0; d < shape.size(); ++d) (d < dim ? before : after) *= d == dim ? 1 : shape[d];
  const auto factor = static_cast<R>(job.inner);
  const int64_t n = shape[dim], end = (job.shape[dim] + 1) / 2;
  for (int64_t i = 0; i < before; ++i)
    for (int64_t k = (i * n + 1) * after; k < (i * n + end) * after; ++k) x[k] *= factor;
}

template <class R>
void r2c(const Job& job) {
  const std::vector<int64_t> shape = half(job);
  const int64_t last = job.dims.back();
  auto* data = static_cast<std::complex<R>*>(job.out);
  const Side<std::complex<R>> out = contiguous(data, shape);
  const Side<const R> in = strided<R>(job);
  divide(job.shape, last, in, out, [&](const shape_t& sizes, const R* from, std::complex<R>* to) {
    pocket::r2c(sizes, in.strides, out.strides, static_cast<size_t>(last), job.forward, from, to,
                static_cast<R>(job.scale));
  });
  weigh(job, data);
  for (const int64_t dim : job.dims.first(job.dims.size() - 1))
    along<R>(shape, dim, job.forward, as_input(out), out, 1);
}

template <class R>
void c2r(const Job& job) {
  const std::vector<int64_t> shape = half(job);
  const int64_t last = job.dims.back();
  Side<const std::complex<R>> in = strided<std::complex<R>>(job);
  std::unique_ptr<std::complex<R>[]> memory;
  if (job.dims.size() > 1 || job.inner != 1) {
    size_t all = 1;
    for (const int64_t size : shape) all *= static_cast<size_t>(size);
    memory.reset(new std::complex<R>[all]);
    const Side<std::complex<R>> kept = contiguous(memory.get(), shape);
    if (job.dims.size() == 1) std::copy_n(in.data, all, kept.data);  // it arrives contiguous
    for (const int64_t dim : job.dims.first(job.dims.size() - 1)) {
      along<R>(shape, dim, job.forward, in, kept, 1);
      in = as_input(kept);
    }
    in = as_input(kept);
    weigh(job, memory.get());
  }
  const Side<R> out = contiguous(static_cast<R*>(job.out), job.shape);
  divide(job.shape, last, in, out, [&](const shape_t& sizes, const std::complex<R>* from, R* to) {
    pocket::c2r(sizes, in.strides, out.strides, static_cast<size_t>(last), job.forward, from, to,
                static_cast<R>(job.scale));
  });
}

}  // namespace

const Transforms& TN_FFT_TABLE() {
  static constexpr Transforms kTable{
      {&c2c<float>, &c2c<double>}, {&r2c<float>, &r2c<double>}, {&c2r<float>, &c2r<double>}};
  return kTable;
}

}  // namespace tenon::fft
