#include "new_op.hpp"

#include <algorithm>

namespace tenon::conformance {
namespace {

// Results must depend on the arguments alone; otherwise there is no reference to compare them with.
bool is_random(const tn_op* op) {
  return detail::to_view(tn_op_schema(op)).find("generator") != std::string_view::npos;
}

DType widest(DType dtype) {
  return dtype == DType::F32 ? DType::F64 : dtype == DType::C64 ? DType::C128 : dtype;
}

void widen(Array& array) { array.dtype = widest(array.dtype); }
void narrow(Array& array) {
  array.dtype = array.dtype == DType::F64    ? DType::F32
                : array.dtype == DType::C128 ? DType::C64
                                             : array.dtype;
}

std::vector<Array> arrays_of(const std::vector<Tensor>& tensors) {
  std::vector<Array> arrays;
  for (const Tensor& tensor : tensors) arrays.push_back(to_array(tensor));
  return arrays;
}

}  // namespace

bool has_samples(const std::string& name) { return !table().of(name).empty(); }

std::vector<NewOp::Parameter> NewOp::parameters_of(const std::string& schema) {
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

const std::vector<NewOp::Try>& NewOp::tries() {
  static const std::vector<Try> all = {{{{2, 3}}, 0}, {{{2, 3}}, 1},         {{{3, 3}}, 1},
                                       {{{4}}, 0},    {{{2, 3}, {3, 4}}, 1}, {{{2, 3, 4}}, 1},
                                       {{{3}, {}}, 1}};
  return all;
}

Args NewOp::make_args(const Try& attempt, DType dtype, uint64_t seed) const {
  Rng rng(seed);
  Args args;
  size_t tensors = 0;
  const auto tensor = [&] {
    const Shape& shape = attempt.shapes[std::min(tensors++, attempt.shapes.size() - 1)];
    return random_array(rng, dtype, shape, 0.25, 1.75);
  };
  for (const Parameter& parameter : parameters_) {
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

NewOp::NewOp(const std::string& name, Device device, uint64_t seed) : device_(device), seed_(seed) {
  detail::check(tn_op_require(detail::to_str(name), &op_));
  parameters_ = parameters_of(std::string(detail::to_view(tn_op_schema(op_))));
  find_arguments();
}

void NewOp::find_arguments() {
  for (const Try& attempt : tries()) {
    try {
      Rng rng(seed_);
      const NoGrad off;
      static_cast<void>(
          Call(op_, make_args(attempt, dtype(), seed_), device_, Layout::Contiguous, rng).run());
      taken_.push_back(&attempt);
    } catch (const Error& error) {
      if (error.code() != TN_UNIMPLEMENTED || reason_.empty()) reason_ = error.what();
    }
  }
  reason_ = taken_.empty()
                ? "no arguments that it takes could be made up from its schema: " + reason_
                : std::string();
}

bool NewOp::writes() const {
  return std::ranges::any_of(parameters_,
                             [](const Parameter& p) { return p.type.find('!') != p.type.npos; });
}

DType NewOp::dtype() const {
  return (device_.info().dtypes & TN_MASK(TN_DTYPE_F64)) != 0 ? DType::F64 : DType::F32;
}

std::unique_ptr<Call> NewOp::call(size_t set, DType dtype, uint64_t variant, Layout layout) const {
  Rng rng(seed_ + variant);
  return std::make_unique<Call>(op_, make_args(*taken_[set], dtype, seed_ + variant), device_,
                                layout, rng);
}

std::vector<Array> NewOp::results(DType dtype, uint64_t variant, Layout layout) const {
  const NoGrad off;
  return arrays_of(call(0, dtype, variant, layout)->run());
}

std::vector<Array> NewOp::reference(size_t set, DType dtype) const {
  const NoGrad off;
  Args args = make_args(*taken_[set], dtype, seed_);
  const bool wide = (device_.info().dtypes & TN_MASK(TN_DTYPE_F64)) != 0;
  const auto run_on = [&](Device device, bool widened) {
    Args own = args;
    for (Arg& arg : own) {
      if (!widened) break;
      if (auto* one = std::get_if<Array>(&arg)) widen(*one);
      if (auto* list = std::get_if<std::vector<Array>>(&arg))
        std::for_each(list->begin(), list->end(), widen);
    }
    Rng rng(seed_);
    return arrays_of(Call(op_, own, device, Layout::Contiguous, rng).run());
  };
  std::vector<Array> wanted;
  try {
    wanted = run_on(Device("cpu"), true);
  } catch (const Error& error) {
    if (error.code() != TN_UNIMPLEMENTED) throw;
    wanted = run_on(device_, wide);
  }
  if (widest(dtype) != dtype) std::for_each(wanted.begin(), wanted.end(), narrow);
  return wanted;
}

namespace {

std::string check_made_up(const NewOp& op, size_t set, DType dtype, Layout layout) {
  const NoGrad off;
  const auto call = op.call(set, dtype, 0, layout);
  const std::vector<Array> got = arrays_of(call->run());
  const std::vector<Array> wanted = op.reference(set, dtype);
  if (got.size() != wanted.size()) return "another number of results than on the host";
  for (size_t k = 0; k < got.size(); ++k)
    if (auto problem = compare_arrays(got[k], wanted[k], 64, dtype); !problem.empty())
      return "beside f64 on the host, result " + std::to_string(k) + ": " + problem;
  return call->written().empty() ? repeat_differs(op.op(), *call, got) : "";
}

}  // namespace

void run_made_up_values(const std::string& name, const Options& options, Sink& sink) {
  const NewOp op(name, options.device, options.seed);
  if (op.sets() == 0) return sink.skip(name, op.reason());
  if (is_random(op.op())) return sink.skip(name, "its results are random");
  for (size_t set = 0; set < op.sets(); ++set)
    for (DType dtype : {DType::F32, DType::F64})
      for (Layout layout : kLayouts) {
        const bool offered = dtype == DType::F32 || op.dtype() == DType::F64;
        if (!offered || layout == Layout::Broadcast) continue;  // broadcasting changes the data
        if (options.brief && layout != Layout::Contiguous && layout != Layout::Sliced) continue;
        run_case(sink,
                 name + "/arguments " + std::to_string(set + 1) + "/" +
                     std::string(name_of(dtype)) + "/" + std::string(name_of(layout)),
                 [&] { return check_made_up(op, set, dtype, layout); });
      }
}

}  // namespace tenon::conformance
