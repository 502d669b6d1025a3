#include "export/emitter.hpp"

#include <algorithm>
#include <numeric>

#include "export/shared.hpp"
#include "model/files.hpp"
#include "tenon/creation.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

Writer attribute(const char* name, const Attribute& value) {
  Writer made;
  made.bytes(1, name);
  if (const auto* i = std::get_if<int64_t>(&value)) made.number(3, *i).number(20, 2);
  if (const auto* f = std::get_if<double>(&value))
    made.single(2, static_cast<float>(*f)).number(20, 1);
  if (const auto* s = std::get_if<std::string>(&value)) made.bytes(4, *s).number(20, 3);
  if (const auto* list = std::get_if<Ints>(&value)) made.numbers(8, *list).number(20, 7);
  if (const auto* graph = std::get_if<Writer>(&value)) made.message(6, *graph).number(20, 5);
  return made;
}

int64_t product(const Ints& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// Whether the view shows each element of a dense range once.
bool dense(const RecordedView& view) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] != 1) dims.emplace_back(view.strides[d], view.shape[d]);
  std::ranges::sort(dims);
  int64_t elements = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != elements) return false;
    elements *= size;
  }
  return true;
}

}  // namespace

Emitter::Emitter(const tn_program* program, const Recorded& from, const Following* following)
    : program_(program),
      from_(from),
      held_(from.buffers.size()),
      shared_(std::make_shared<Shared>()),
      graph_(&shared_->outermost) {
  shared_->following = following;
  if (following != nullptr) shared_->by_element = following->by_element;
  note_reads();
}

Emitter::Emitter(Emitter& outer, const Recorded& from, Writer& to)
    : program_(outer.program_),
      from_(from),
      held_(from.buffers.size()),
      shared_(outer.shared_),
      graph_(&to) {
  note_reads();
}

void Emitter::note_reads() {
  for (const RecordedView& view : from_.results) reads_[view.buffer].push_back(view);
  for (const RecordedCall& call : from_.calls) {
    for (const RecordedView& view : call.operands) reads_[view.buffer].push_back(view);
    for (const auto& [name, json] : call.args) {
      if (call.is_view(name)) {
        const RecordedView view = call.view(name);
        reads_[view.buffer].push_back(view);
      }
      if (!json.is_array()) continue;
      for (const auto& view : call.views(name))
        if (view) reads_[view->buffer].push_back(*view);
    }
  }
  join_products();
}

// Merges a linear layer into the recurrent layer that alone reads its result, because ONNX's op includes it.
void Emitter::join_products() {
  std::map<uint32_t, const RecordedCall*> products;
  for (const RecordedCall& call : from_.calls) {
    if (call.op == "linear" && call.text("activation") == "none" &&
        call.view("x").shape.size() == 3)
      products[call.results[0].buffer] = &call;
    if (call.op != "lstm") continue;
    const RecordedView x = call.view("x");
    const auto found = products.find(x.buffer);
    if (found != products.end() && found->second->results[0] == x && reads_[x.buffer].size() == 1)
      joined_[x.buffer] = found->second;
  }
}

const RecordedCall* Emitter::joined(const RecordedView& x) const {
  const auto found = joined_.find(x.buffer);
  return found == joined_.end() ? nullptr : found->second;
}

bool Emitter::read_within(uint32_t buffer, int64_t begin, int64_t end) const {
  const auto found = reads_.find(buffer);
  if (found == reads_.end()) return true;
  return std::ranges::all_of(found->second, [&](const RecordedView& view) {
    int64_t low = view.offset, high = view.offset;
    for (size_t d = 0; d < view.shape.size(); ++d) {
      const int64_t reach = std::max<int64_t>(0, view.shape[d] - 1) * view.strides[d];
      (reach < 0 ? low : high) += reach;
    }
    return low >= begin && high < end;
  });
}

std::string Emitter::expanded(const std::string& name, const RecordedCall& call,
                              const Names& operands) {
  Ints shape = call.results[0].shape, found(shape.size(), 1);
  for (const std::string& operand : operands) {
    if (!call.is_view(operand)) continue;
    const RecordedView view = call.view(operand);
    const size_t ahead = shape.size() - std::min(shape.size(), view.shape.size());
    for (size_t d = 0; d < view.shape.size(); ++d)
      if (view.strides[d] != 0 || view.shape[d] == 0)
        found[ahead + d] = std::max(found[ahead + d], view.shape[d]);
  }
  return found == shape ? name : node("Expand", {name, ints(shape)});
}

std::string Emitter::fresh(const std::string& stem) {
  std::string name = stem;
  for (int i = 1; name.empty() || !shared_->names.insert(name).second; ++i)
    name = stem + "_" + std::to_string(i);
  return name;
}

Names Emitter::nodes(const char* op, const Names& inputs, const Attributes& attributes,
                     size_t results) {
  Writer node;
  Names outputs;
  for (const std::string& input : inputs) node.bytes(1, input);
  for (size_t i = 0; i < results; ++i) node.bytes(2, outputs.emplace_back(fresh(op)));
  node.bytes(3, outputs[0]).bytes(4, op);
  for (const auto& [name, value] : attributes) node.message(5, attribute(name, value));
  graph_->message(1, node);
  if (shared_->sketch) shared_->ops.append(op).append(" ");
  return outputs;
}

std::string Emitter::node(const char* op, const Names& inputs, const Attributes& attributes) {
  Names kept = inputs;
  while (!kept.empty() && kept.back().empty()) kept.pop_back();
  return nodes(op, kept, attributes, 1)[0];
}

std::string Emitter::ints(const Ints& numbers) { return weight(tensor(numbers)); }
std::string Emitter::number(double value, DType dtype) { return weight(tensor(value).to(dtype)); }
std::string Emitter::range(int64_t n) {
  return node("Range", {weight(tensor(int64_t{0})), weight(tensor(n)), weight(tensor(int64_t{1}))});
}

void Emitter::hold(const RecordedView& view, const std::string& name) {
  const RecordedBuffer& buffer = from_.buffers[view.buffer];
  if (view.numel() != buffer.size) return write(view, name);
  held_[view.buffer] = Held{name, view};
  flat_.erase(view.buffer);
}

// Writes into a part of a buffer: all its elements are made anew, with those of the part in their places.
void Emitter::write(const RecordedView& part, const std::string& name) {
  const RecordedBuffer& buffer = from_.buffers[part.buffer];
  const RecordedView all{part.buffer, buffer.dtype, 0, {buffer.size}, {1}, part.varies};
  const std::string before = held_[part.buffer] || buffer.role == RecordedBuffer::Weight
                                 ? rows(held(all))
                                 : node("Expand", {number(0, buffer.dtype), ints({buffer.size})});
  const std::string at = node("Reshape", {places(part), ints({-1})}),
                    flat = node("Reshape", {name, ints({-1})});
  held_[part.buffer] =
      Held{node("ScatterElements", {before, at, flat}, {{"axis", int64_t{0}}}), all};
  flat_.erase(part.buffer);
}

Emitter::Held& Emitter::held(const RecordedView& wanted) {
  auto& found = held_[wanted.buffer];
  if (found) return *found;
  const RecordedBuffer& buffer = from_.buffers[wanted.buffer];
  if (buffer.role != RecordedBuffer::Weight)
    throw Error(TN_DATA_LOSS, "[onnx.export] a buffer is read before it is written");
  const RecordedView all{wanted.buffer, buffer.dtype, 0, {buffer.size}, {1}};
  std::string& name = shared_->whole[buffer.tensor];
  if (name.empty()) name = weight(elements(all), buffer.tensor);
  found = Held{name, all};
  return *found;
}

// A view of a weight.
Tensor Emitter::elements(const RecordedView& wanted) const {
  tn_tensor* made = nullptr;
  detail::check(
      tn_program_weight(program_, detail::to_str(from_.buffers[wanted.buffer].tensor), &made));
  return as_strided(Tensor::adopt(made), wanted.shape, wanted.strides, wanted.offset);
}

// A constant with a weight's elements in the order in which they are read, so that tools recognise the operand of a product. "" if such
// constants of one weight would have more elements than the weight.
std::string Emitter::piece(const RecordedView& wanted) {
  const RecordedBuffer& buffer = from_.buffers[wanted.buffer];
  if (buffer.role != RecordedBuffer::Weight || held_[wanted.buffer] || wanted.varies) return "";
  Shared::Pieces& pieces = shared_->pieces[buffer.tensor];
  for (Held& one : pieces.list) {
    one.view.buffer = wanted.buffer;  // the buffer in this graph
    if (one.view == wanted) return one.name;
  }
  const int64_t size = wanted.numel();
  if (size == 0 || pieces.size + size > buffer.size) return "";
  pieces.size += size;
  const Held made{weight(elements(wanted), buffer.tensor), wanted};
  pieces.list.push_back(made);
  // If this view covers the whole weight, other views are made from it.
  if (size == buffer.size && dense(wanted)) held_[wanted.buffer] = made;
  return made.name;
}

std::string Emitter::reshaped(const std::string& name, const Ints& from, const Ints& to) {
  return from == to ? name : node("Reshape", {name, ints(to)});
}

std::string Emitter::rows(Held& from) {
  auto& flat = flat_[from.view.buffer];
  if (!flat.empty()) return flat;
  Ints order(from.view.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
    return from.view.strides[static_cast<size_t>(a)] > from.view.strides[static_cast<size_t>(b)];
  });
  std::string name = from.name;
  if (!from.view.contiguous()) name = node("Transpose", {name}, {{"perm", order}});
  return flat = node("Reshape", {name, ints({-1})});
}

// A view of a dense buffer: a reshape, a slice of each dimension, and a transposition. "" if that does not describe the view.
std::string Emitter::part(Held& from, const RecordedView& wanted) {
  const int64_t size = from_.buffers[wanted.buffer].size;
  Ints order;  // dimensions of more than one element, the outermost first
  for (size_t d = 0; d < wanted.shape.size(); ++d)
    if (wanted.shape[d] != 1) order.push_back(static_cast<int64_t>(d));
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
    return wanted.strides[static_cast<size_t>(a)] > wanted.strides[static_cast<size_t>(b)];
  });
  Ints extents, starts, ends, axes;
  int64_t outer = size, rest = wanted.offset;
  for (const int64_t d : order) {
    const int64_t stride = wanted.strides[static_cast<size_t>(d)],
                  count = wanted.shape[static_cast<size_t>(d)];
    if (stride < 1 || outer % stride != 0) return "";
    extents.push_back(outer / stride);
    starts.push_back(rest / stride);
    ends.push_back(starts.back() + count);
    if (ends.back() > extents.back()) return "";
    rest %= stride;
    outer = stride;
  }
  if (outer > 1 || order.empty()) {  // there are steps or gaps
    extents.push_back(outer);
    starts.push_back(rest);
    ends.push_back(rest + 1);
    if (rest >= outer) return "";
  }
  std::string name = from.view.contiguous() ? reshaped(from.name, from.view.shape, extents)
                                            : node("Reshape", {rows(from), ints(extents)});
  Ints cut_starts, cut_ends;
  for (size_t i = 0; i < extents.size(); ++i)
    if (starts[i] != 0 || ends[i] != extents[i]) {
      axes.push_back(static_cast<int64_t>(i));
      cut_starts.push_back(starts[i]);
      cut_ends.push_back(ends[i]);
    }
  if (!axes.empty()) name = node("Slice", {name, ints(cut_starts), ints(cut_ends), ints(axes)});
  Ints inverse(order.size()), shape;
  std::iota(inverse.begin(), inverse.end(), 0);
  std::ranges::sort(inverse, {}, [&](int64_t i) { return order[static_cast<size_t>(i)]; });
  for (const int64_t d : order) shape.push_back(wanted.shape[static_cast<size_t>(d)]);
  if (!std::ranges::is_sorted(inverse)) {
    if (shape.size() != extents.size()) name = node("Reshape", {name, ints(shape)});
    name = node("Transpose", {name}, {{"perm", inverse}});
    Ints turned;
    for (const int64_t i : inverse) turned.push_back(shape[static_cast<size_t>(i)]);
    return reshaped(name, turned, wanted.shape);
  }
  Ints now;
  for (size_t i = 0; i < extents.size(); ++i) now.push_back(ends[i] - starts[i]);
  return reshaped(name, now, wanted.shape);
}

// A view that is a slice of the held value's own dimensions, with steps that may be negative. "" if it is not.
std::string Emitter::stepped(const Held& from, const RecordedView& wanted) {
  const RecordedView& all = from.view;
  if (!all.contiguous() || all.shape.size() != wanted.shape.size() || all.numel() == 0) return "";
  Ints starts, ends, axes, steps;
  int64_t rest = wanted.offset - all.offset;
  for (size_t d = 0; d < all.shape.size(); ++d) {
    const int64_t stride = std::max<int64_t>(all.strides[d], 1), count = wanted.shape[d];
    if (count > 1 && (wanted.strides[d] == 0 || wanted.strides[d] % stride != 0)) return "";
    const int64_t step = count > 1 ? wanted.strides[d] / stride : 1, start = rest / stride,
                  last = start + step * (count - 1);
    if (rest < 0 || std::max(start, last) >= all.shape[d] || last < 0) return "";
    rest %= stride;
    starts.push_back(start);
    ends.push_back(step < 0 && last + step < 0 ? INT64_MIN : last + (step < 0 ? -1 : 1));
    axes.push_back(static_cast<int64_t>(d));
    steps.push_back(step);
  }
  if (rest != 0) return "";
  return node("Slice", {from.name, ints(starts), ints(ends), ints(axes), ints(steps)});
}

// A view that runs backwards along some dimensions: the one that runs forwards, turned around. "" if it runs forwards.
std::string Emitter::reversed(const RecordedView& wanted) {
  RecordedView forwards = wanted;
  Ints axes;
  for (size_t d = 0; d < wanted.shape.size(); ++d) {
    if (wanted.strides[d] >= 0 || wanted.shape[d] < 2) continue;
    forwards.offset += wanted.strides[d] * (wanted.shape[d] - 1);
    forwards.strides[d] = -wanted.strides[d];
    axes.push_back(static_cast<int64_t>(d));
  }
  if (axes.empty()) return "";
  const Ints last(axes.size(), -1), beyond_first(axes.size(), INT64_MIN);
  std::string ahead = piece(forwards);
  if (ahead.empty()) ahead = shown(held(forwards), forwards);
  return node("Slice", {ahead, ints(last), ints(beyond_first), ints(axes), ints(last)});
}

// The place in its buffer of each element of a view, computed from its sizes.
std::string Emitter::places(const RecordedView& view) {
  std::string made = view.shape.empty() ? weight(tensor(view.offset)) : ints({view.offset});
  for (size_t d = 0; d < view.shape.size(); ++d) {
    Ints along(view.shape.size(), 1);
    along[d] = -1;
    const std::string steps = node("Mul", {range(view.shape[d]), ints({view.strides[d]})});
    made = node("Add", {made, node("Reshape", {steps, ints(along)})});
  }
  return made;
}

// Any view, by gathering each element.
std::string Emitter::gathered(Held& from, const RecordedView& wanted) {
  return node("Gather", {rows(from), places(wanted)}, {{"axis", int64_t{0}}});
}

std::string Emitter::value(const RecordedView& view, bool broadcast) {
  RecordedView once = view;  // without repetition
  bool repeats = false;
  for (size_t d = 0; d < view.shape.size(); ++d)
    if (view.strides[d] == 0 && view.shape[d] > 1) {
      once.shape[d] = 1;
      repeats = true;
    }
  std::string name = piece(once);
  if (!name.empty()) return repeats && !broadcast ? node("Expand", {name, ints(view.shape)}) : name;
  Held& from = held(once);
  const size_t order = shared_->views++, before = shared_->ops.size();
  name = shared_->by_element.contains(order) ? gathered(from, once) : shown(from, once);
  if (shared_->sketch) {
    shared_->sketch->views.resize(std::max(shared_->sketch->views.size(), order + 1));
    shared_->sketch->views[order] = shared_->ops.substr(before);
  }
  return repeats && !broadcast ? node("Expand", {name, ints(view.shape)}) : name;
}

// A view without repetition.
std::string Emitter::shown(Held& from, const RecordedView& once) {
  std::string name;
  if (once.shape == from.view.shape && once.strides == from.view.strides &&
      once.offset == from.view.offset)
    name = from.name;
  else if (once.numel() == 0)
    name = node("ConstantOfShape", {ints(once.shape)});
  else if (from.view.contiguous() && once.contiguous() && once.offset == 0 &&
           once.numel() == product(from.view.shape))
    name = reshaped(from.name, from.view.shape, once.shape);
  else
    name = part(from, once);
  if (name.empty()) name = stepped(from, once);
  if (name.empty()) name = reversed(once);
  return name.empty() ? gathered(from, once) : name;
}

std::string Emitter::operand(const RecordedCall& call, const std::string& name, DType dtype,
                             bool broadcast) {
  return call.is_view(name) ? value(call.view(name), broadcast) : number(call.number(name), dtype);
}

Names Emitter::run(const Names& inputs) {
  for (size_t i = 0; i < from_.inputs.size(); ++i)
    held_[from_.inputs[i].buffer] = Held{inputs.at(i), from_.inputs[i]};
  const std::string around = shared_->op;
  for (const RecordedCall& call : from_.calls) {
    if (!call.results.empty() && joined(call.results[0]) == &call) continue;
    const size_t before = graph_->text().size();
    shared_->op = call.op;
    emit(*this, call);
    if (shared_->sketch)
      shared_->sketch->calls.emplace_back(call.op, graph_->text().substr(before));
  }
  shared_->op = "return";
  Names results;
  for (const RecordedView& result : from_.results) results.push_back(value(result));
  shared_->op = around;
  return results;
}

}  // namespace tenon::onnx
