// Ops that the plugin brings. Their arguments are made up from the schema; an op whose arguments cannot be made up is skipped, with the
// reason. (The groups for values, the validating layer, threads and memory treat these ops like any others.) Without a reference, an op is
// compared with itself: shapes do not depend on data, values do not depend on layout or dtype, and gradients agree with differences.
#include <algorithm>
#include <functional>

#include "gradcheck.hpp"
#include "groups/groups.hpp"
#include "new_op.hpp"

namespace tenon::conformance {
namespace {

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
  const auto call = op.call(0, DType::F64, 0, Layout::Contiguous);
  const auto fn = [&](const std::vector<Tensor>& inputs) { return call->run(inputs); };
  std::string problem = testing::gradcheck(fn, call->tensors());
  if (!problem.empty()) return problem;
  testing::GradcheckOptions options;
  options.tolerance = 1e-4;
  return testing::gradgradcheck(fn, call->tensors(), options);
}

// Empty if memory is the same after three runs.
std::string growth_of(const NewOp& op, const std::function<void()>& run, const char* what) {
  const auto used = [&] {
    op.device().synchronize();
    return op.device().memory().used + Device("cpu").memory().used;
  };
  run();  // plans and caches are made once
  const uint64_t before = used();
  for (int i = 0; i < 3; ++i) run();
  const uint64_t after = used();
  return after == before ? ""
                         : std::to_string(static_cast<int64_t>(after - before)) +
                               " bytes more are in use after three " + what;
}

std::string check_memory(const NewOp& op) {
  return growth_of(
      op, [&] { static_cast<void>(op.results(op.dtype(), 0, Layout::Contiguous)); }, "calls");
}

std::string check_gradient_memory(const NewOp& op) {
  return growth_of(
      op, [&] { run_backward(*op.call(0, op.dtype(), 0, Layout::Contiguous)); },
      "calls with their gradients");
}

void check_op(const std::string& name, const Subject& subject, Sink& sink) {
  const NewOp op(name, subject.device.empty() ? Device("cpu") : Device(subject.device),
                 subject.seed);
  if (op.sets() == 0) return sink.skip(name, op.reason());
  run_case(sink, name + "/shapes", [&] { return check_shapes(op); });
  run_case(sink, name + "/layouts", [&] { return check_layouts(op); });
  run_case(sink, name + "/memory", [&] { return check_memory(op); });
  if (op.dtype() != DType::F64)
    return sink.skip(name + "/gradient", "the device has no f64, in which differences are taken");
  run_case(sink, name + "/f32 beside f64", [&] { return check_precisions(op); });
  if (tn_op_is_differentiable(op.op()) == 0)
    return sink.skip(name + "/gradient", "it has neither gradient nor decomposition");
  if (op.writes()) return sink.skip(name + "/gradient", "it writes its arguments");
  try {
    std::string problem = check_gradient(op);
    run_case(sink, name + "/gradient", [&] { return problem; });
    run_case(sink, name + "/memory of its gradient", [&] { return check_gradient_memory(op); });
  } catch (const Error& error) {  // it refuses these arguments
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
