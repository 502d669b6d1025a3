#include "bridge.hpp"

#include <algorithm>

namespace tenon::conformance {
namespace {

Tensor row_major(const Array& array, Device device) {
  if (array.dtype == DType::C64 || array.dtype == DType::C128)
    return tensor(array.v, array.shape, {DType::C128, Device()}).to(array.dtype).to(device);
  return visit(array.dtype, [&]<class T>(T) -> Tensor {
    std::vector<T> elements(array.size());
    for (size_t i = 0; i < array.size(); ++i) {
      if constexpr (std::is_same_v<T, std::complex<float>> ||
                    std::is_same_v<T, std::complex<double>>)
        elements[i] = T(array.v[i]);
      else if constexpr (std::is_convertible_v<T, float> && !std::is_arithmetic_v<T>)
        elements[i] = T(static_cast<float>(array.re(i)));
      else if constexpr (std::is_same_v<T, uint64_t>)
        elements[i] = static_cast<uint64_t>(array.re(i));
      else
        elements[i] = static_cast<T>(array.re(i));
    }
    return tensor(elements, array.shape, TensorOptions(device));
  });
}

// The array with its dimensions reversed in memory.
Array reversed(const Array& array) {
  Shape shape(array.shape.rbegin(), array.shape.rend());
  Array out(array.dtype, shape);
  for_each_index(array.shape, [&](const Shape& index) {
    out.v[out.at(Shape(index.rbegin(), index.rend()))] = array.v[array.at(index)];
  });
  return out;
}

Array mirrored(const Array& array) {
  Array out(array.dtype, array.shape);
  std::reverse_copy(array.v.begin(), array.v.end(), out.v.begin());
  return out;
}

// Leaves a gap of one element, filled with other numbers, along each dimension.
Array spread(const Array& array) {
  Shape shape = array.shape;
  for (int64_t& size : shape) size = 2 * size + 1;
  Array out(array.dtype, shape);
  for (Complex& value : out.v) value = array.dtype == DType::Bool ? 1 : 77;
  for_each_index(array.shape, [&](const Shape& index) {
    Shape place = index;
    for (int64_t& i : place) i = 2 * i + 1;
    out.v[out.at(place)] = array.v[array.at(index)];
  });
  return out;
}

Tensor sliced(const Array& array, Device device) {
  Tensor x = row_major(spread(array), device);
  for (size_t d = 0; d < array.rank(); ++d)
    x = slice(x, static_cast<int64_t>(d), 1, 2 * array.shape[d] + 1, 2);
  return x;
}

// One row, shown many times: stride 0 along the first dimension.
Tensor stretched(const Array& array, Device device) {
  Array row(array.dtype, array.shape);
  row.shape[0] = 1;
  row.v.resize(static_cast<size_t>(Array::count(row.shape)));
  std::copy_n(array.v.begin(), row.v.size(), row.v.begin());
  return expand(row_major(row, device), array.shape);
}

bool can_stretch(const Array& array) {
  return array.rank() > 0 && array.shape[0] > 1 && array.size() > 0;
}

}  // namespace

std::string_view name_of(Layout layout) {
  constexpr std::string_view kNames[] = {"contiguous", "transposed", "sliced",
                                         "flipped",    "broadcast",  "mixed"};
  return kNames[static_cast<size_t>(layout)];
}

void repeat_for_broadcast(Array& array) {
  if (!can_stretch(array)) return;
  size_t row = array.size() / static_cast<size_t>(array.shape[0]);
  for (size_t i = row; i < array.size(); ++i) array.v[i] = array.v[i - row];
}

Tensor to_tensor(const Array& array, Device device, Layout layout, Rng& rng) {
  if (layout == Layout::Mixed) layout = kLayouts[rng.integer(0, 4)];
  if (array.rank() == 0) return row_major(array, device);
  switch (layout) {
    case Layout::Transposed: {
      Shape dims(array.rank());
      for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(dims.size() - 1 - d);
      return permute(row_major(reversed(array), device), dims);
    }
    case Layout::Sliced:
      return sliced(array, device);
    case Layout::Flipped:
      return flip(row_major(mirrored(array), device));
    case Layout::Broadcast:
      return can_stretch(array) ? stretched(array, device) : row_major(array, device);
    default:
      return row_major(array, device);
  }
}

Array to_array(const Tensor& tensor) {
  Array out(tensor.dtype(), Shape(tensor.shape().begin(), tensor.shape().end()));
  Tensor host = tensor.detach().contiguous().to(Device("cpu"));
  visit(out.dtype, [&]<class T>(T) {
    const auto elements = host.to_vector<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, std::complex<float>> ||
                    std::is_same_v<T, std::complex<double>>)
        out.v[i] = Complex(elements[i]);
      else if constexpr (std::is_convertible_v<T, float> && !std::is_arithmetic_v<T>)
        out.v[i] = static_cast<float>(elements[i]);
      else
        out.v[i] = static_cast<double>(elements[i]);
    }
  });
  return out;
}

Call::Call(const tn_op* op, const Args& args, Device device, Layout layout, Rng& rng)
    : op_(op), args_(args) {
  std::string schema(detail::to_view(tn_op_schema(op)));
  size_t from = schema.find('(');
  for (size_t i = 0; i < args_.size(); ++i) {
    size_t end = from == std::string::npos ? from : schema.find(", ", from + 1);
    bool is_written = from != std::string::npos &&
                      schema.substr(from, end == std::string::npos ? end : end - from).find('!') !=
                          std::string::npos;
    from = end;
    tn_value value{};
    std::visit(
        [&]<class T>(const T& given) {
          if constexpr (std::is_same_v<T, Array>) {
            slots_.push_back({i, tensors_.size(), 1, false, is_written});
            tensors_.push_back(to_tensor(given, device, layout, rng));
          } else if constexpr (std::is_same_v<T, std::vector<Array>>) {
            slots_.push_back({i, tensors_.size(), given.size(), true, is_written});
            for (const Array& each : given)
              tensors_.push_back(
                  to_tensor(each, device, is_written ? Layout::Contiguous : layout, rng));
          } else if constexpr (std::is_same_v<T, Number>) {
            value = given.value.value();
          } else if constexpr (std::is_same_v<T, bool>) {
            value.tag = TN_VALUE_BOOL, value.as.i = given;
          } else if constexpr (std::is_same_v<T, int64_t>) {
            value.tag = TN_VALUE_INT, value.as.i = given;
          } else if constexpr (std::is_same_v<T, double>) {
            value.tag = TN_VALUE_FLOAT, value.as.f = given;
          } else if constexpr (std::is_same_v<T, std::string>) {
            value.tag = TN_VALUE_STR, value.count = static_cast<uint32_t>(given.size()),
            value.as.str = given.data();
          } else if constexpr (std::is_same_v<T, Shape>) {
            value.tag = TN_VALUE_INTS, value.count = static_cast<uint32_t>(given.size()),
            value.as.ints = given.data();
          } else if constexpr (std::is_same_v<T, DType>) {
            value.tag = TN_VALUE_DTYPE, value.as.i = static_cast<int64_t>(given);
          } else if constexpr (std::is_same_v<T, Device>) {
            value.tag = TN_VALUE_DEVICE, value.as.device = given.get();
          }
        },
        args_[i]);
    values_.push_back(value);
  }
  make_on(device, schema);
}

// An op that creates a tensor creates it on the device under test, unless the sample names another.
void Call::make_on(Device device, const std::string& schema) {
  const size_t place = schema.find("device? device");
  if (place == std::string::npos) return;
  const auto index = static_cast<size_t>(
      std::count(schema.begin(), schema.begin() + static_cast<std::ptrdiff_t>(place), ','));
  if (values_.size() <= index) values_.resize(index + 1, tn_value{});
  if (values_[index].tag != TN_VALUE_NONE) return;
  values_[index].tag = TN_VALUE_DEVICE;
  values_[index].as.device = device.get();
}

std::vector<tn_value> Call::values(const std::vector<Tensor>& tensors,
                                   std::deque<std::vector<tn_tensor*>>& lists) const {
  std::vector<tn_value> filled = values_;
  for (const Slot& slot : slots_) {
    tn_value& value = filled[slot.value];
    if (!slot.list) {
      value.tag = TN_VALUE_TENSOR, value.as.tensor = tensors[slot.first].get();
      continue;
    }
    auto& list = lists.emplace_back();
    for (size_t k = 0; k < slot.count; ++k) list.push_back(tensors[slot.first + k].get());
    value.tag = TN_VALUE_TENSORS, value.count = static_cast<uint32_t>(slot.count),
    value.as.tensors = list.data();
  }
  return filled;
}

std::vector<Tensor> Call::run(const std::vector<Tensor>& tensors) const {
  std::deque<std::vector<tn_tensor*>> lists;
  std::vector<tn_value> filled = values(tensors, lists);
  const auto nargs = static_cast<uint32_t>(filled.size());
  uint32_t nresults = 0;
  detail::check(tn_op_result_count(op_, filled.data(), nargs, &nresults));
  std::vector<tn_tensor*> outs(nresults);
  detail::check(tn_op_call(op_, filled.data(), nargs, outs.data(), nresults));
  if (nresults == 0) return written();
  std::vector<Tensor> results;
  for (tn_tensor* out : outs) results.push_back(Tensor::adopt(out));
  return results;
}

void Call::run_in_place(const std::vector<Tensor>& tensors) const {
  std::deque<std::vector<tn_tensor*>> lists;
  std::vector<tn_value> filled = values(tensors, lists);
  tn_tensor* out = tensors[0].get();
  detail::check(tn_op_call_into(op_, filled.data(), static_cast<uint32_t>(filled.size()), &out, 1));
}

bool Call::belongs_to(size_t tensor, const std::vector<size_t>& args) const {
  for (const Slot& slot : slots_)
    if (tensor >= slot.first && tensor < slot.first + slot.count)
      return std::find(args.begin(), args.end(), slot.value) != args.end();
  return false;
}

std::vector<Tensor> Call::written() const {
  std::vector<Tensor> found;
  for (const Slot& slot : slots_)
    if (slot.written)
      found.insert(found.end(), tensors_.begin() + static_cast<std::ptrdiff_t>(slot.first),
                   tensors_.begin() + static_cast<std::ptrdiff_t>(slot.first + slot.count));
  return found;
}

}  // namespace tenon::conformance
