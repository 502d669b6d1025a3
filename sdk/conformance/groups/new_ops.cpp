// Ops that the plugin brings. Their arguments are made up from the schema: what cannot be made up is skipped with its reason.
// Without a reference of their own they are held against themselves: data changes no shape, layouts and dtypes no value, and
// gradients agree with differences.
#include <algorithm>

#include "bridge.hpp"
#include "gradcheck.hpp"
#include "groups/groups.hpp"
#include "runner.hpp"

namespace tenon::conformance {
namespace {

struct Parameter {
  std::string type;  // "Tensor", "int", "float[]"
  bool optional = false;
};

std::vector<Parameter> parameters_of(const std::string& schema) {
  std::vector<Parameter> found;
  const size_t open = schema.find('('), close = schema.find(')');
  std::string rest = schema.substr(open + 1, close - open - 1) + ",";
  int depth = 0;
  std::string part;
  for (char c : rest) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c != ',' || depth > 0) {
      if (c != ' ' || !part.empty()) part += c;
      continue;
    }
    if (!part.empty())
      found.push_back({part.substr(0, part.find(' ')), part.find('=') != std::string::npos});
    part.clear();
  }
  return found;
}

// One try at arguments: shapes of the tensors, and the number for an int.
struct Try {
  std::vector<Shape> shapes;
  int64_t number;
};
const std::vector<Try>& tries() {
  static const std::vector<Try> all = {{{{2, 3}}, 0}, {{{2, 3}}, 1},         {{{3, 3}}, 1},
                                       {{{4}}, 0},    {{{2, 3}, {3, 4}}, 1}, {{{2, 3, 4}}, 1},
                                       {{{3}, {}}, 1}};
  return all;
}

// Throws Error where a value cannot be made up.
Args make_args(const std::vector<Parameter>& parameters, const Try& attempt, DType dtype,
               uint64_t seed) {
  Rng rng(seed);
  Args args;
  size_t tensors = 0;
  const auto tensor = [&] {
    const Shape& shape = attempt.shapes[std::min(tensors++, attempt.shapes.size() - 1)];
    return random_array(rng, dtype, shape, 0.25, 1.75);
  };
  for (const Parameter& parameter : parameters) {
    const std::string& type = parameter.type;
    if (parameter.optional || type.find('?') != std::string::npos)
      args.emplace_back(std::monostate{});
    else if (type.starts_with("Tensor["))
      args.emplace_back(std::vector<Array>{tensor(), tensor()});
    else if (type == "Tensor" || type == "Tensor!")
      args.emplace_back(tensor());
    else if (type == "int")
      args.emplace_back(attempt.number);
    else if (type == "int[]")
      args.emplace_back(Shape{attempt.number});
    else if (type == "float")
      args.emplace_back(0.75);
    else if (type == "bool")
      args.emplace_back(true);
    else if (type == "Scalar")
      args.emplace_back(Number{Scalar(1.5), 1.5});
    else
      throw Error(TN_UNIMPLEMENTED, "a value of type " + type + " cannot be made up");
  }
  return args;
}

class NewOp {
 public:
  NewOp(const std::string& name, const Subject& subject)
      : device_(subject.device.empty() ? Device("cpu") : Device(subject.device)),
        seed_(subject.seed) {
    detail::check(tn_op_require(detail::to_str(name), &op_));
    parameters_ = parameters_of(std::string(detail::to_view(tn_op_schema(op_))));
  }
  const tn_op* op() const { return op_; }
  Device device() const { return device_; }

  // Finds arguments that the op takes; otherwise says why there are none.
  std::string find_arguments() {
    std::string reason;
    for (const Try& attempt : tries()) {
      try {
        attempt_ = &attempt;
        call(dtype(), 0, Layout::Contiguous).run();
        return {};
      } catch (const Error& error) {
        if (error.code() == TN_UNIMPLEMENTED && reason.empty()) reason = error.what();
        if (error.code() != TN_UNIMPLEMENTED) reason = error.what();
      }
    }
    attempt_ = nullptr;
    return "no arguments that it takes could be made up from its schema: " + reason;
  }
  DType dtype() const {
    return (device_.info().dtypes & TN_MASK(TN_DTYPE_F64)) != 0 ? DType::F64 : DType::F32;
  }
  Call call(DType dtype, uint64_t variant, Layout layout) const {
    Rng rng(seed_ + variant);
    return Call(op_, make_args(parameters_, *attempt_, dtype, seed_ + variant), device_, layout,
                rng);
  }
  std::vector<Array> results(DType dtype, uint64_t variant, Layout layout) const {
    NoGrad off;
    std::vector<Array> arrays;
    for (const Tensor& result : call(dtype, variant, layout).run())
      arrays.push_back(to_array(result));
    return arrays;
  }

 private:
  const tn_op* op_ = nullptr;
  Device device_;
  uint64_t seed_;
  std::vector<Parameter> parameters_;
  const Try* attempt_ = nullptr;
};

std::string compare(const std::vector<Array>& got, const std::vector<Array>& wanted, double factor,
                    DType precision) {
  if (got.size() != wanted.size()) return "another number of results";
  for (size_t k = 0; k < got.size(); ++k)
    if (auto problem = compare_arrays(got[k], wanted[k], factor, precision); !problem.empty())
      return "result " + std::to_string(k) + ": " + problem;
  return {};
}

std::string check_shapes(const NewOp& op) {
  const auto first = op.results(op.dtype(), 0, Layout::Contiguous);
  for (uint64_t variant : {1u, 2u}) {
    const auto other = op.results(op.dtype(), variant, Layout::Contiguous);
    for (size_t k = 0; k < first.size(); ++k)
      if (other[k].shape != first[k].shape || other[k].dtype != first[k].dtype)
        return "result " + std::to_string(k) + " has another shape or dtype for other data";
  }
  return {};
}

std::string check_layouts(const NewOp& op) {
  const auto wanted = op.results(op.dtype(), 0, Layout::Contiguous);
  for (Layout layout : {Layout::Transposed, Layout::Sliced, Layout::Flipped})
    if (auto problem = compare(op.results(op.dtype(), 0, layout), wanted, 4, op.dtype());
        !problem.empty())
      return std::string(name_of(layout)) + " arguments: " + problem;
  return {};
}

std::string check_precisions(const NewOp& op) {
  auto wanted = op.results(DType::F64, 0, Layout::Contiguous);
  const auto got = op.results(DType::F32, 0, Layout::Contiguous);
  for (size_t k = 0; k < std::min(wanted.size(), got.size()); ++k)
    if (wanted[k].dtype == DType::F64 || wanted[k].dtype == DType::C128)
      wanted[k].dtype = wanted[k].dtype == DType::F64 ? DType::F32 : DType::C64;
  return compare(got, wanted, 8, DType::F32);
}

std::string check_gradient(const NewOp& op) {
  const Call call = op.call(DType::F64, 0, Layout::Contiguous);
  const auto fn = [&](const std::vector<Tensor>& inputs) { return call.run(inputs); };
  std::string problem = testing::gradcheck(fn, call.tensors());
  if (!problem.empty()) return problem;
  testing::GradcheckOptions options;
  options.tolerance = 1e-4;
  return testing::gradgradcheck(fn, call.tensors(), options);
}

std::string check_memory(const NewOp& op) {
  const auto used = [&] {
    op.device().synchronize();
    return op.device().memory().used + Device("cpu").memory().used;
  };
  static_cast<void>(op.results(op.dtype(), 0, Layout::Contiguous));
  const uint64_t before = used();
  for (int i = 0; i < 3; ++i) static_cast<void>(op.results(op.dtype(), 0, Layout::Contiguous));
  const uint64_t after = used();
  return after == before ? ""
                         : std::to_string(static_cast<int64_t>(after - before)) +
                               " bytes more are in use after three calls";
}

void check_op(const std::string& name, const Subject& subject, Sink& sink) {
  NewOp op(name, subject);
  if (const std::string reason = op.find_arguments(); !reason.empty())
    return sink.skip(name, reason);
  run_case(sink, name + "/shapes", [&] { return check_shapes(op); });
  run_case(sink, name + "/layouts", [&] { return check_layouts(op); });
  run_case(sink, name + "/memory", [&] { return check_memory(op); });
  if (op.dtype() != DType::F64)
    return sink.skip(name + "/gradient", "the device has no f64, in which differences are taken");
  run_case(sink, name + "/f32 beside f64", [&] { return check_precisions(op); });
  if (tn_op_is_differentiable(op.op()) == 0)
    return sink.skip(name + "/gradient", "it has neither gradient nor decomposition");
  try {
    std::string problem = check_gradient(op);
    run_case(sink, name + "/gradient", [&] { return problem; });
  } catch (const Error& error) {  // for what it is asked here
    if (error.code() == TN_UNIMPLEMENTED) return sink.skip(name + "/gradient", error.what());
    run_case(sink, name + "/gradient", [&]() -> std::string { throw error; });
  }
}

}  // namespace

std::vector<std::string> new_ops_units(const Claims& claims) { return claims.new_ops; }

void run_new_ops(const Subject& given, const std::string& unit, Sink& sink) {
  Subject subject = given;
  load_subject(subject);
  check_op(unit, subject, sink);
}

}  // namespace tenon::conformance
