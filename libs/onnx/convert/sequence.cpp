// Sequences and optionals.
#include "convert/table.hpp"

namespace tenon::onnx {
namespace {

size_t position(const Call& call, size_t input, size_t size, size_t otherwise) {
  if (!call.has(input)) return otherwise;
  const int64_t given = call.integer(input), count = static_cast<int64_t>(size);
  const int64_t at = given < 0 ? given + static_cast<int64_t>(size) : given;
  if (at < 0 || at > count)
    call.fail("position " + std::to_string(given) + " in a sequence of " + std::to_string(count));
  return static_cast<size_t>(at);
}

Results at(const Call& call) {
  const std::vector<Value> items = call.sequence(0);
  const size_t i = position(call, 1, items.size(), 0);
  if (i == items.size())
    call.fail("position " + std::to_string(i) + " in a sequence of " + std::to_string(i));
  return items[i];
}

Value inserted(const Call& call) {
  std::vector<Value> items = call.sequence(0);
  const size_t i = position(call, 2, items.size(), items.size());
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(i), Value(call.x(1)));
  return items;
}

Value erased(const Call& call) {
  std::vector<Value> items = call.sequence(0);
  if (items.empty()) call.fail("the sequence is empty");
  const size_t i = position(call, 1, items.size(), items.size() - 1);
  if (i == items.size())
    call.fail("position " + std::to_string(i) + " in a sequence of " + std::to_string(i));
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
  return items;
}

Value constructed(const Call& call) {
  std::vector<Value> items;
  for (const Tensor& x : call.tensors()) items.emplace_back(x);
  return items;
}

Tensor concatenated(const Call& call) {
  std::vector<Tensor> parts;
  for (const Value& item : call.sequence(0)) parts.push_back(item.tensor());
  if (parts.empty()) call.fail("the sequence is empty");
  const int64_t axis = call.i("axis", 0);
  return call.flag("new_axis") ? stack(parts, wrap(axis, parts[0].ndim() + 1))
                               : concat(parts, axis);
}

// One number: pieces of that size. A list: pieces of those sizes. Nothing: pieces of one, whose dimension may be dropped.
Value split_to_sequence(const Call& call) {
  const Tensor x = call.x(0);
  const int64_t axis = wrap(call.i("axis", 0), x.ndim());
  std::vector<Value> items;
  if (!call.has(1)) {
    for (const Tensor& part : x.split(1, axis))
      items.emplace_back(call.flag("keepdims", true) ? part : part.squeeze(axis));
    return items;
  }
  const std::vector<int64_t> sizes = call.ints(1);
  if (call.value(1).tensor().ndim() == 0) {
    for (const Tensor& part : x.split(sizes[0], axis)) items.emplace_back(part);
    return items;
  }
  int64_t start = 0;
  for (const int64_t size : sizes) {
    items.emplace_back(x.narrow(axis, start, size));
    start += size;
  }
  return items;
}

}  // namespace

Family sequence_ops() {
  static const Entry ops[] = {
      {"SequenceAt", 11, at},
      {"SequenceConstruct", 11, constructed},
      {"SequenceEmpty", 11, [](const Call&) { return Value(std::vector<Value>()); }},
      {"SequenceErase", 11, erased},
      {"SequenceInsert", 11, inserted},
      {"SequenceLength", 11,
       [](const Call& call) { return tensor(static_cast<int64_t>(call.sequence(0).size())); }},
      {"ConcatFromSequence", 11, concatenated},
      {"SplitToSequence", 11, split_to_sequence},
      {"Optional", 15, [](const Call& call) { return call.has(0) ? call.value(0) : Value(); }},
      {"OptionalGetElement", 15, [](const Call& call) { return call.value(0); }},
      {"OptionalHasElement", 15, [](const Call& call) { return tensor(call.has(0)); }},
  };
  return ops;
}

}  // namespace tenon::onnx
