#include "runner.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "bridge.hpp"
#include "gradcheck.hpp"
#include "new_op.hpp"

namespace tenon::conformance {
namespace {

uint64_t mask_of(DType dtype) { return TN_MASK(static_cast<uint32_t>(dtype)); }

// How far a result may be from the reference, relative to its magnitude.
double relative_tolerance(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 2e-3;
    case DType::BF16:
      return 1.6e-2;
    case DType::F32:
    case DType::C64:
      return 4e-6;
    case DType::F64:
    case DType::C128:
      return 1e-13;
    default:
      return 0;
  }
}

bool near(Complex got, Complex wanted, double tolerance) {
  auto part = [&](double g, double w) {
    if (std::isnan(w)) return std::isnan(g);
    if (std::isinf(w) || std::isinf(g)) return g == w;
    return std::abs(g - w) <= tolerance * std::max(1.0, std::abs(wanted));
  };
  return part(got.real(), wanted.real()) && part(got.imag(), wanted.imag());
}

// "1.25", and "1.25-0.5i" where there can be an imaginary part.
std::string format(Complex value, DType dtype) {
  std::ostringstream out;
  out.precision(dtype == DType::F64 || dtype == DType::C128 ? 17 : 10);
  out << value.real();
  if (is_complex(dtype)) out << std::showpos << value.imag() << 'i';
  return out.str();
}

std::string format(const Shape& shape) {
  std::ostringstream out;
  out << '(';
  for (size_t d = 0; d < shape.size(); ++d) out << (d ? ", " : "") << shape[d];
  out << ')';
  return out.str();
}

}  // namespace

// `precision`: the coarsest rounding on the way, at least that of the inputs' dtype.
std::string compare_arrays(const Array& got, const Array& exact, double factor, DType precision) {
  Array wanted = exact;
  std::ostringstream out;
  if (got.dtype != wanted.dtype)
    out << "dtype " << name_of(got.dtype) << ", wanted " << name_of(wanted.dtype) << "; ";
  if (got.shape != wanted.shape)
    out << "shape " << format(got.shape) << ", wanted " << format(wanted.shape) << "; ";
  if (!out.str().empty()) return out.str();
  round_to_dtype(wanted);
  double tolerance = factor * std::max(relative_tolerance(got.dtype),
                                       is_integral(got.dtype) || got.dtype == DType::Bool
                                           ? 0
                                           : relative_tolerance(precision));
  for (size_t i = 0; i < got.size(); ++i)
    if (!near(got.v[i], wanted.v[i], tolerance)) {
      out << "element " << i << " of " << format(got.shape) << ": " << format(got.v[i], got.dtype)
          << ", wanted " << format(wanted.v[i], wanted.dtype);
      return out.str();
    }
  return {};
}

namespace {

bool has_tensor_of_rank(const Args& args) {
  return std::any_of(args.begin(), args.end(), [](const Arg& arg) {
    if (auto* given = std::get_if<Array>(&arg)) return given->rank() > 0;
    return std::holds_alternative<std::vector<Array>>(arg);
  });
}

}  // namespace

Rng Case::rng() const {
  uint64_t mixed = seed * 1000003 + static_cast<uint64_t>(dtype) * 101;
  for (char c : sample.op + sample.label) mixed = mixed * 31 + static_cast<unsigned char>(c);
  return Rng(mixed);
}

std::string Case::name() const {
  return sample.op + '/' + sample.label + '/' + std::string(name_of(dtype)) + '/' +
         std::string(name_of(static_cast<Layout>(layout)));
}

bool Case::make(Args& args, Rng& rng) const {
  args = sample.make(dtype, rng);
  const auto how = static_cast<Layout>(layout);
  if (how == Layout::Broadcast)
    for (Arg& arg : args) {
      if (auto* given = std::get_if<Array>(&arg)) repeat_for_broadcast(*given);
      if (auto* list = std::get_if<std::vector<Array>>(&arg))
        for (Array& each : *list) repeat_for_broadcast(each);
    }
  return how == Layout::Contiguous || (sample.layouts && has_tensor_of_rank(args));
}

std::string compare_results(const Case& c, const Args& args, const std::vector<Tensor>& results) {
  std::vector<Array> got;
  for (const Tensor& result : results) got.push_back(to_array(result));
  if (c.sample.check) return c.sample.check(args, got);
  std::vector<Array> wanted = c.sample.reference(args);
  if (got.size() != wanted.size())
    return std::to_string(got.size()) + " results, wanted " + std::to_string(wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    std::string problem = compare_arrays(got[k], wanted[k], c.sample.tolerance, c.dtype);
    if (!problem.empty()) return "result " + std::to_string(k) + ": " + problem;
  }
  return {};
}

namespace {

// With atomics that add in any order, bits may differ from run to run.
bool adds_in_any_order(const tn_op* op) {
  const std::string_view name = detail::to_view(tn_op_name(op));
  for (std::string_view part : {"scatter", "index_add", "_backward", "bincount"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

bool same_bits(const Complex& a, const Complex& b) {
  const auto same = [](double x, double y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  };
  return same(a.real(), b.real()) && same(a.imag(), b.imag());
}

}  // namespace

std::string repeat_differs(const tn_op* op, const Call& call, const std::vector<Array>& first) {
  const std::vector<Tensor> again = call.run();
  for (size_t k = 0; k < first.size(); ++k) {
    const Array second = to_array(again[k]);
    const std::string where = "the same call gives another result: result " + std::to_string(k);
    if (adds_in_any_order(op)) {
      if (auto text = compare_arrays(second, first[k], 4, second.dtype); !text.empty())
        return where + ": " + text;
      continue;
    }
    if (second.shape != first[k].shape || second.dtype != first[k].dtype)
      return where + " has another shape or dtype";
    for (size_t i = 0; i < second.size(); ++i)
      if (!same_bits(second.v[i], first[k].v[i]))
        return where + ": element " + std::to_string(i) + " of " + format(second.shape) + ": " +
               format(second.v[i], second.dtype) + ", at first " +
               format(first[k].v[i], second.dtype);
  }
  return {};
}

void run_backward(const Call& call) {
  const EnableGrad on;
  std::vector<Tensor> tensors = call.tensors(), leaves;
  for (Tensor& tensor : tensors) {
    if (!is_floating(tensor.dtype())) continue;
    tensor = tensor.detach();
    tensor.requires_grad_();
    leaves.push_back(tensor);
  }
  for (const Tensor& result : call.run(tensors))
    if (result.defined() && result.requires_grad())
      static_cast<void>(gradient({result}, leaves, {ones_like(result)},
                                 {.retain_graph = true, .allow_unused = true}));
}

namespace {

// x.op_(…): the first tensor receives the result, if dtype and shape allow it.
std::string check_in_place(const Call& call, const Args& args, const std::vector<Tensor>& results) {
  const auto* first = args.empty() ? nullptr : std::get_if<Array>(&args[0]);
  if (first == nullptr || results.size() != 1 || first->rank() == 0) return {};
  Array wanted = to_array(results[0]);
  if (wanted.dtype != first->dtype || wanted.shape != first->shape) return {};
  std::vector<Tensor> tensors = call.tensors();
  if (!(tensors[0].device() == results[0].device())) return {};  // `to` another device
  tensors[0] = tensors[0].clone();
  call.run_in_place(tensors);
  Array got = to_array(tensors[0]);
  std::string problem = compare_arrays(got, wanted, 1, got.dtype);
  return problem.empty() ? problem : "in place: " + problem;
}

bool is_random(const tn_op* op) {
  return detail::to_view(tn_op_schema(op)).find("generator") != std::string_view::npos;
}
bool is_view(const tn_op* op) {
  constexpr std::string_view kViews[] = {
      "reshape", "permute", "transpose", "expand",   "squeeze",    "unsqueeze", "flatten",
      "slice",   "select",  "flip",      "diagonal", "as_strided", "alias"};
  return std::find(std::begin(kViews), std::end(kViews), detail::to_view(tn_op_name(op))) !=
         std::end(kViews);
}

void check_case(const tn_op* op, const Case& c, Device device, Sink& sink) {
  Rng rng = c.rng();
  Args args;
  if (!c.make(args, rng)) return;
  run_case(sink, c.name(), [&] {
    NoGrad off;
    Call call(op, args, device, static_cast<Layout>(c.layout), rng);
    std::vector<Tensor> results = call.run();
    std::string problem = compare_results(c, args, results);
    if (problem.empty() && !is_random(op) && !is_view(op))
      problem = check_in_place(call, args, results);
    const bool repeats = c.layout == static_cast<uint32_t>(Layout::Contiguous) && !is_random(op) &&
                         !c.sample.check && call.written().empty();
    if (problem.empty() && repeats) {
      std::vector<Array> first;
      for (const Tensor& result : results) first.push_back(to_array(result));
      problem = repeat_differs(op, call, first);
    }
    return problem;
  });
}

// Takes differences for all f64 and c128 tensors in the sample.
std::string check_gradient(const tn_op* op, const Case& c, Device device) {
  Rng rng = c.rng();
  Args args;
  c.make(args, rng);
  Call call(op, args, device, static_cast<Layout>(c.layout), rng);
  std::vector<size_t> free;  // tensors that need gradients
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < call.tensors().size(); ++i)
    if (!call.belongs_to(i, c.sample.fixed)) free.push_back(i), inputs.push_back(call.tensors()[i]);
  auto fn = [&](const std::vector<Tensor>& given) {
    std::vector<Tensor> tensors = call.tensors();
    for (size_t k = 0; k < free.size(); ++k) tensors[free[k]] = given[k];
    return call.run(tensors);
  };
  testing::GradcheckOptions options;
  std::string problem = testing::gradcheck(fn, inputs, options);
  if (!problem.empty()) return problem;
  options.tolerance = 1e-4;
  return testing::gradgradcheck(fn, inputs, options);
}

const tn_op* find(const std::string& name) {
  const tn_op* op = nullptr;
  detail::check(tn_op_require(detail::to_str(name), &op));
  return op;
}

}  // namespace

namespace {

// The sample's dtypes that the device supports. f32 comes first, because most kernels take it; with `brief` it is the only one.
std::vector<DType> dtypes_of(const Sample& sample, const Options& options, Sink& sink) {
  std::vector<DType> found;
  const uint64_t offered = options.device.info().dtypes;
  for (uint32_t k = 0; k < TN_DTYPE_COUNT; ++k) {
    const auto dtype = static_cast<DType>((k + TN_DTYPE_F32) % TN_DTYPE_COUNT);
    if ((sample.dtypes & mask_of(dtype)) == 0) continue;
    if ((offered & mask_of(dtype)) != 0)
      found.push_back(dtype);
    else if (!options.brief)
      sink.skip(sample.op + "/" + sample.label, "the device has no " + std::string(name_of(dtype)));
  }
  if (options.brief && found.size() > 1) found.resize(1);
  return found;
}

}  // namespace

std::unique_ptr<Call> first_call(const std::string& name, const Options& options) {
  const tn_op* op = find(name);
  Report ignored;
  ReportSink sink(ignored, options.seed);
  for (const Sample* sample : table().of(name)) {
    const std::vector<DType> dtypes = dtypes_of(*sample, options, sink);
    if (dtypes.empty()) continue;
    const Case c{*sample, dtypes[0], static_cast<uint32_t>(Layout::Contiguous), options.seed};
    Rng rng = c.rng();
    Args args;
    c.make(args, rng);
    return std::make_unique<Call>(op, args, options.device, Layout::Contiguous, rng);
  }
  if (has_samples(name)) return nullptr;
  const NewOp made_up(name, options.device, options.seed);
  return made_up.sets() == 0 ? nullptr : made_up.call(0, DType::F32, 0, Layout::Contiguous);
}

void run_values(const std::string& name, const Options& options, Sink& sink) {
  if (!has_samples(name)) return run_made_up_values(name, options, sink);
  const tn_op* op = find(name);
  for (const Sample* sample : table().of(name))
    for (DType dtype : dtypes_of(*sample, options, sink))
      for (Layout layout : kLayouts)
        if (!options.brief || layout == Layout::Contiguous || layout == Layout::Mixed)
          check_case(op, {*sample, dtype, static_cast<uint32_t>(layout), options.seed},
                     options.device, sink);
}

void run_gradients(const std::string& name, const Options& options, Sink& sink) {
  const tn_op* op = find(name);
  if (tn_op_is_differentiable(op) == 0) return;
  const uint64_t offered = options.device.info().dtypes;
  for (const Sample* sample : table().of(name)) {
    if (!sample->gradient || sample->check) continue;
    for (DType dtype : {DType::F32, DType::F64, DType::C128}) {
      if ((sample->dtypes & mask_of(dtype)) == 0 ||
          (dtype == DType::C128 && !sample->complex_gradient))
        continue;
      if ((offered & mask_of(dtype)) == 0) {
        sink.skip(name + "/" + sample->label, "the device has no " + std::string(name_of(dtype)));
        continue;
      }
      for (Layout layout : {Layout::Contiguous, Layout::Mixed}) {
        if (layout == Layout::Mixed && !sample->layouts) continue;
        const Case c{*sample, dtype, static_cast<uint32_t>(layout), options.seed};
        run_case(sink, c.name(), [&] {
          return dtype == DType::F32 ? check_narrow_gradient(op, c, options.device)
                                     : check_gradient(op, c, options.device);
        });
      }
    }
  }
}

Report check_values(const std::string& name, const Options& options) {
  Report report;
  ReportSink sink(report, options.seed);
  run_values(name, options, sink);
  return report;
}

Report check_gradients(const std::string& name, const Options& options) {
  Report report;
  ReportSink sink(report, options.seed);
  run_gradients(name, options, sink);
  return report;
}

std::vector<std::string> ops_without_samples() {
  std::set<std::string> known;
  for (const Sample& sample : table().samples()) known.insert(sample.op);
  std::vector<std::string> missing;
  for (uint32_t i = 0; i < tn_op_count(); ++i) {
    std::string name(detail::to_view(tn_op_name(tn_op_at(i))));
    if (!known.contains(name)) missing.push_back(name);
  }
  return missing;
}

}  // namespace tenon::conformance
