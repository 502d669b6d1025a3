// The plugin's entry: three ops, their shape rules, gradients, and kernels for the host's device by pocketfft.
#include <string>
#include <vector>

#include "../common/infer.hpp"
#include "../common/parallel.hpp"
#include "tenon/new_op.hpp"
#include "transform.hpp"

namespace tenon::fft {
namespace {

using host::Results;
using host::Sizes;
using host::text_of;
using host::Views;

constexpr std::string_view kC2c =
    "fft.c2c(Tensor x, int[] dims, bool forward=true, float scale=1.0) -> Tensor @1";
constexpr std::string_view kR2c =
    "fft.r2c(Tensor x, int[] dims, bool forward=true, float scale=1.0, float inner=1.0) -> Tensor "
    "@1";
constexpr std::string_view kC2r =
    "fft.c2r(Tensor x, int[] dims, int n, bool forward=false, float scale=1.0, float inner=1.0) -> "
    "Tensor @1";

// Positions in these schemas.
namespace arg {
struct c2c {
  static constexpr uint32_t x = 0, dims = 1, forward = 2, scale = 3;
};
struct r2c {
  static constexpr uint32_t x = 0, dims = 1, forward = 2, scale = 3, inner = 4;
};
struct c2r {
  static constexpr uint32_t x = 0, dims = 1, n = 2, forward = 3, scale = 4, inner = 5;
};
}  // namespace arg

// ---- Shapes ------------------------------------------------------------------------------------------------------------

int64_t from_front(int64_t dim, size_t rank) {
  return dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
}

// The last of dims, from the front. `longer` is the size there of the side that is not halved. All three ops have dims where
// c2c has them.
int64_t check(const Views& in, uint64_t dtypes, const char* wanted, int64_t longer = -1) {
  if ((TN_MASK(in.dtype(0)) & dtypes) == 0)
    sdk::fail(TN_INVALID_ARGUMENT, "x has dtype ", name_of(in.dtype(0)), "; ", wanted,
              " are possible: cast it first");
  const Sizes shape = in.shape(0), dims = in.ints(arg::c2c::dims);
  if (dims.empty()) sdk::fail(TN_INVALID_ARGUMENT, "dims names no dimension to transform");
  uint32_t seen = 0;
  for (const int64_t each : dims) {
    const int64_t dim = from_front(each, shape.size());
    if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
      sdk::fail(TN_OUT_OF_RANGE, "dim ", each, " out of range for a tensor of rank ", shape.size());
    if ((seen >> dim & 1) != 0) sdk::fail(TN_INVALID_ARGUMENT, "dim ", each, " is given twice");
    seen |= 1u << dim;
    const bool last = &each == &dims.back() && longer >= 0;
    if ((last ? longer : shape[dim]) < 1)
      sdk::fail(TN_INVALID_ARGUMENT, "nothing to transform: dim ", each, " of shape ",
                text_of(shape),
                last ? " is to become " + std::to_string(longer) + " long" : " is empty");
  }
  return from_front(dims.back(), shape.size());
}

constexpr uint64_t kReal = TN_MASK(TN_DTYPE_F32) | TN_MASK(TN_DTYPE_F64);

void c2c_shape(const Views& in, const Results& out) {
  check(in, TN_MASK_COMPLEX, "c64 and c128");
  out.set(0, in.dtype(0), in.shape(0));
}

void r2c_shape(const Views& in, const Results& out) {
  const int64_t dim = check(in, kReal, "f32 and f64");
  std::vector<int64_t> shape(in.shape(0).begin(), in.shape(0).end());
  shape[dim] = shape[dim] / 2 + 1;
  out.set(0, host::complex_of(in.dtype(0)), shape);
}

void c2r_shape(const Views& in, const Results& out) {
  const int64_t n = in.integer(arg::c2r::n), dim = check(in, TN_MASK_COMPLEX, "c64 and c128", n);
  std::vector<int64_t> shape(in.shape(0).begin(), in.shape(0).end());
  if (shape[dim] != n / 2 + 1)
    sdk::fail(TN_INVALID_ARGUMENT, "x has shape ", text_of(shape), "; for ", n,
              " real numbers dim ", dim, " must be ", n / 2 + 1, " long");
  shape[dim] = n;
  out.set(0, host::real_of(in.dtype(0)), shape);
}

// ---- Kernels -----------------------------------------------------------------------------------------------------------

enum class Kind { C2c, R2c, C2r };

template <Kind kind>
void run(const sdk::Call& call) {
  // c2c has r2c's places, but no inner.
  using arg = std::conditional_t<kind == Kind::C2r, fft::arg::c2r, fft::arg::r2c>;
  const tn_view &in = call.in(arg::x), &out = call.out();
  if (sdk::numel(out) == 0) return;
  std::vector<int64_t> dims;
  for (const int64_t dim : call.ints(arg::dims)) dims.push_back(from_front(dim, in.ndim));
  const Job job{in.data,
                out.data,
                sdk::shape(kind == Kind::C2r ? out : in),
                sdk::strides(in),
                dims,
                call.flag(arg::forward),
                call.real(arg::scale),
                kind == Kind::C2c ? 1.0 : call.real(arg::inner)};
  const Transforms& all = transforms();
  const auto& functions = kind == Kind::C2c ? all.c2c : kind == Kind::R2c ? all.r2c : all.c2r;
  functions[in.dtype == TN_DTYPE_F64 || in.dtype == TN_DTYPE_C128](job);
}

// ---- Gradients ---------------------------------------------------------------------------------------------------------
// A transform is linear, y = s·F·x: x̄ = s·Fᴴ·ȳ, the transform in the other direction without a factor of its own.

void c2c_gradient(sdk::GradCall& g) {
  using arg = fft::arg::c2c;
  g.set(arg::x, sdk::call("fft.c2c", g.grad(), g.arg(arg::dims), g.arg(arg::forward).as.i == 0,
                          g.real(arg::scale)));
}

// y is half of F·x, so x̄ = Re(s·Fᴴ·[ȳ 0]); the sum with its conjugate that c2r makes has the inner entries twice.
void r2c_gradient(sdk::GradCall& g) {
  using arg = fft::arg::r2c;
  const Sizes dims{g.arg(arg::dims).as.ints, g.arg(arg::dims).count},
      shape = sdk::shape(g.saved_input(arg::x).view());
  const int64_t n = shape[from_front(dims.back(), shape.size())];
  g.set(arg::x, sdk::call("fft.c2r", g.grad(), dims, n, g.arg(arg::forward).as.i == 0,
                          g.real(arg::scale), g.real(arg::inner) / 2));
}

// The other way round: inner entries of x count twice in y.
void c2r_gradient(sdk::GradCall& g) {
  using arg = fft::arg::c2r;
  g.set(arg::x, sdk::call("fft.r2c", g.grad(), g.arg(arg::dims), g.arg(arg::forward).as.i == 0,
                          g.real(arg::scale), g.real(arg::inner) * 2));
}

template <Kind kind>
void add(sdk::Registry& registry, tn_op_def def, decltype(tn_op_def::infer) infer,
         uint64_t dtypes) {
  def.infer = infer;
  registry.op(def);
  registry.kernels("cpu", {sdk::make_kernel<run<kind>>(sdk::view_of(def.schema), dtypes, 0,
                                                       kind == Kind::C2r ? 0 : TN_KERNEL_STRIDED)});
}

void start(sdk::Registry& registry) {
  host::start_threads(sdk::host());
  add<Kind::C2c>(registry, sdk::new_op<nullptr, c2c_gradient>(kC2c), host::rule<c2c_shape>(),
                 TN_MASK_COMPLEX);
  add<Kind::R2c>(registry, sdk::new_op<nullptr, r2c_gradient>(kR2c, 1), host::rule<r2c_shape>(),
                 kReal);
  add<Kind::C2r>(registry, sdk::new_op<nullptr, c2r_gradient>(kC2r), host::rule<c2r_shape>(),
                 TN_MASK_COMPLEX);
}

}  // namespace
}  // namespace tenon::fft

TENON_PLUGIN("fft", TN_VERSION_STRING, tenon::fft::start)
