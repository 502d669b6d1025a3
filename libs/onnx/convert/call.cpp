#include "convert/call.hpp"

#include <algorithm>

#include "convert/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {
namespace {

bool on_host(const Tensor& x) { return x.device() == Device("cpu"); }

// AttributeProto.AttributeType.
constexpr int64_t kFloat = 1, kInt = 2, kText = 3, kFloats = 6, kInts = 7, kTexts = 8;

// A traced tensor uses weights as they are: copies would not fold.
bool traced(const Device& device) { return device.id().starts_with("trace"); }

}  // namespace

bool traced(const Value& value) { return value.is_tensor() && traced(value.tensor().device()); }

Call::Call(const NodeProto& node, std::vector<Value> inputs, const Context& context)
    : node_(node), inputs_(std::move(inputs)), context_(context), device_("cpu") {
  for (const Value& value : inputs_)
    if (value.is_tensor() && !on_host(value.tensor())) {
      device_ = value.tensor().device();
      break;
    }
}

const Value& Call::value(size_t i) const {
  if (!has(i)) fail("input " + std::to_string(i) + " is missing");
  return inputs_[i];
}

Tensor Call::x(size_t i) const {
  const Value& found = value(i);
  if (!found.is_tensor()) fail("input " + std::to_string(i) + " is a sequence, not a tensor");
  const Tensor& x = found.tensor();
  const bool stays = !on_host(x) || device_ == Device("cpu") || traced(device_);
  return stays ? x : context_.weights->placed(x, device_);
}

bool Call::constant(std::initializer_list<size_t> inputs) const {
  return std::ranges::all_of(inputs, [&](size_t i) {
    return !has(i) || (i < context_.constant.size() && context_.constant[i]);
  });
}

Device Call::home() const { return traced(device_) ? Device("cpu") : device_; }

std::vector<Tensor> Call::tensors(size_t from) const {
  std::vector<Tensor> list;
  for (size_t i = from; i < size(); ++i) list.push_back(x(i));
  return list;
}

std::vector<Value> Call::sequence(size_t i) const {
  if (!value(i).is_sequence()) fail("input " + std::to_string(i) + " is no sequence");
  return value(i).items();
}

template <class T>
std::vector<T> read(const Tensor& x) {
  const Tensor host = x.dtype() == dtype_of<T> ? x : x.to(dtype_of<T>);
  return host.to_vector<T>();
}
template std::vector<int64_t> read(const Tensor& x);
template std::vector<double> read(const Tensor& x);
template std::vector<float> read(const Tensor& x);

std::vector<int64_t> Call::ints(size_t i) const {
  const Value& found = value(i);
  if (!found.is_tensor()) fail("input " + std::to_string(i) + " is a sequence, not a tensor");
  return read<int64_t>(found.tensor());
}

int64_t Call::integer(size_t i) const {
  const std::vector<int64_t> list = ints(i);
  if (list.size() != 1)
    fail("input " + std::to_string(i) + " has " + std::to_string(list.size()) +
         " elements where one is expected");
  return list[0];
}

double Call::number(size_t i) const {
  if (!value(i).is_tensor() || value(i).tensor().numel() != 1)
    fail("input " + std::to_string(i) + " is not one number");
  return read<double>(value(i).tensor())[0];
}

const AttributeProto* Call::find(std::string_view name) const {
  const AttributeProto* found = node_.find(name);
  if (found == nullptr || found->reference.empty()) return found;
  // An attribute of the surrounding function: the caller's value, or the default.
  if (context_.caller != nullptr)
    if (const AttributeProto* given = context_.caller->find(found->reference)) return given;
  if (context_.function != nullptr)
    for (const AttributeProto& known : context_.function->defaults)
      if (known.name == found->reference) return &known;
  return nullptr;
}

const AttributeProto* Call::find(std::string_view name, int64_t type) const {
  const AttributeProto* found = find(name);
  if (found != nullptr && found->type != 0 && found->type != type)
    fail("attribute " + std::string(name) + " has the type " + std::to_string(found->type) +
         ", not " + std::to_string(type));
  return found;
}

int64_t Call::i(std::string_view name, int64_t otherwise) const {
  const AttributeProto* found = find(name, kInt);
  return found == nullptr ? otherwise : found->i;
}
double Call::f(std::string_view name, double otherwise) const {
  const AttributeProto* found = find(name, kFloat);
  return found == nullptr ? otherwise : static_cast<double>(found->f);
}
std::string Call::s(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* found = find(name, kText);
  return std::string(found == nullptr ? otherwise : found->s);
}
std::vector<int64_t> Call::list(std::string_view name,
                                const std::vector<int64_t>& otherwise) const {
  const AttributeProto* found = find(name, kInts);
  return found == nullptr ? otherwise : found->ints;
}
std::vector<double> Call::floats(std::string_view name) const {
  const AttributeProto* found = find(name, kFloats);
  return found == nullptr ? std::vector<double>()
                          : std::vector<double>(found->floats.begin(), found->floats.end());
}
Tensor Call::weight(std::string_view name, const std::vector<int64_t>& shape, int slot) const {
  return *kept(
      true,
      [&] {
        const std::vector<double> numbers = floats(name);
        int64_t count = 1;
        for (const int64_t size : shape) count *= size;
        if (std::ssize(numbers) != count)
          fail(std::to_string(numbers.size()) + " numbers in " + std::string(name) + ", not " +
               std::to_string(count));
        return Tensor(tenon::tensor(numbers, shape).to(DType::F32).to(home()));
      },
      slot);
}
std::vector<std::string> Call::strings(std::string_view name) const {
  const AttributeProto* found = find(name, kTexts);
  return found == nullptr ? std::vector<std::string>()
                          : std::vector<std::string>(found->strings.begin(), found->strings.end());
}
const GraphProto& Call::graph(std::string_view name) const {
  const AttributeProto* found = find(name);
  if (found == nullptr || !found->graph) fail("attribute " + std::string(name) + " is missing");
  return *found->graph;
}
Tensor Call::tensor(std::string_view name) const {
  const AttributeProto* found = find(name);
  return found == nullptr || !found->tensor ? Tensor() : context_.files->tensor(*found->tensor);
}
DType Call::dtype(std::string_view name, DType otherwise) const {
  const AttributeProto* found = find(name);
  if (found == nullptr) return otherwise;
  return dtype_of_type(static_cast<Type>(found->i), "attribute " + std::string(name));
}

int64_t wrap(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    throw Error(TN_OUT_OF_RANGE,
                "axis " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}
std::vector<int64_t> wrap(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& axis : axes) axis = wrap(axis, rank);
  return axes;
}
std::vector<int64_t> shape_of(const Tensor& x) { return {x.shape().begin(), x.shape().end()}; }
Tensor host(const std::vector<int64_t>& numbers) { return tensor(numbers); }
Tensor host(const std::vector<int64_t>& numbers, IntList shape, DType dtype, Device device) {
  const Tensor made = tensor(numbers, shape).to(dtype);
  return device == Device("cpu") || traced(device) ? made : made.to(device);
}

}  // namespace tenon::onnx
