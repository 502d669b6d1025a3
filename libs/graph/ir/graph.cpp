#include "ir/graph.hpp"

#include <algorithm>
#include <cstring>

#include "ir/control.hpp"
#include "ir/schema.hpp"

namespace tenon::graph {
namespace {

// `A`: Argument or const Argument.
template <class A, class Use>
void each_view(A& argument, Use&& use) {
  if (auto* view = std::get_if<View>(&argument)) use(*view);
  if (auto* views = std::get_if<Views>(&argument))
    for (auto& view : *views)
      if (view) use(*view);
}

// `G`: Graph or const Graph.
template <class G, class Use>
void each_view_of(G& graph, Use&& use) {
  for (auto& input : graph.inputs) use(input);
  for (auto& node : graph.nodes) {
    for (auto& argument : node.args) each_view(argument, use);
    for (auto& result : node.results) use(result);
  }
  for (auto& result : graph.results) use(result);
}

}  // namespace

void each_view_in(Node& node, const std::function<void(View&)>& use) {
  for (auto& argument : node.args) each_view(argument, use);
  for (auto& result : node.results) use(result);
}

std::string_view Node::name() const {
  if (op != nullptr) return detail::to_view(tn_op_name(op));
  return control == nullptr ? "fused" : name_of(control->kind);
}

const char* name_of(Control::Kind kind) {
  return kind == Control::Kind::If ? "cond" : kind == Control::Kind::Loop ? "loop" : "scan";
}

int64_t View::numel() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

bool View::contiguous() const {
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

int64_t View::end() const {
  if (numel() == 0) return 0;
  int64_t last = offset;
  for (size_t d = 0; d < shape.size(); ++d)
    last += std::max<int64_t>(strides[d], 0) * (shape[d] - 1);
  return last + 1;
}

void reads(const Node& node, std::vector<uint32_t>& buffers) {
  for (const Argument& argument : node.args)
    each_view(argument, [&](const View& view) { buffers.push_back(view.buffer); });
}

void writes(const Node& node, std::vector<uint32_t>& buffers) {
  for (const View& view : node.results) buffers.push_back(view.buffer);
  if (node.op == nullptr) return;
  const auto& known = parameters(*node.op);
  for (size_t i = 0; i < node.args.size() && i < known.size(); ++i)
    if (known[i].written)
      each_view(node.args[i], [&](const View& view) { buffers.push_back(view.buffer); });
}

bool draws(const Node& node) {
  if (node.control != nullptr)
    return std::ranges::any_of(node.control->bodies, [](const Graph& body) {
      return std::ranges::any_of(body.nodes, [](const Node& one) { return draws(one); });
    });
  return std::ranges::any_of(node.args,
                             [](const Argument& one) { return std::holds_alternative<Draw>(one); });
}

bool has_symbols(const Node& node) {
  return std::ranges::any_of(
      node.args, [](const Argument& one) { return std::holds_alternative<Symbolic>(one); });
}

std::string described_type(const View& view) {
  std::string text(name_of(view.dtype));
  for (size_t d = 0; d < view.shape.size(); ++d)
    text += (d == 0 ? "[" : ", ") + std::to_string(view.shape[d]);
  return text + (view.shape.empty() ? "[]" : "]");
}

std::string described(const Node& node) {
  const std::string name(node.name());
  return node.source == nullptr ? name : name + " (" + *node.source + ")";
}

std::vector<size_t> Graph::written_inputs() const {
  std::vector<uint32_t> written;
  for (const Node& node : nodes) writes(node, written);
  std::vector<bool> is(buffers.size());
  for (const uint32_t b : written) is[b] = true;
  std::vector<size_t> found;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (is[inputs[i].buffer]) found.push_back(i);
  return found;
}

bool Graph::writes_outside() const {
  const auto is_state = [](const Buffer& one) { return one.role == Role::State; };
  return std::ranges::any_of(buffers, is_state) || !written_inputs().empty();
}

bool Graph::shows_all(const View& view) const {
  return view.offset == 0 && view.contiguous() && view.numel() == buffers[view.buffer].size;
}

std::optional<Number> number_of(DType dtype, double value) {
  Number made{dtype, {}};
  const auto put = [&](auto converted) {
    std::memcpy(made.bytes.data(), &converted, sizeof converted);
    return made;
  };
  switch (dtype) {
    case DType::F32:
      return put(static_cast<float>(value));
    case DType::F64:
      return put(value);
    case DType::I32:
      return put(static_cast<int32_t>(value));
    case DType::I64:
      return put(static_cast<int64_t>(value));
    default:
      return std::nullopt;
  }
}

void drop_dead(Graph& graph) {
  std::vector<bool> used(graph.buffers.size());
  for (size_t b = 0; b < used.size(); ++b) used[b] = graph.buffers[b].role != Role::Temporary;
  for (const View& result : graph.results) used[result.buffer] = true;
  std::vector<bool> dead(graph.nodes.size());
  bool any_dead = false;
  std::vector<uint32_t> touched;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    touched.clear();
    writes(node, touched);
    // A node that draws advances the generator, whether its numbers are used or not.
    if (std::ranges::none_of(touched, [&](uint32_t b) { return used[b]; }) && !draws(node)) {
      dead[i] = any_dead = true;
      continue;
    }
    touched.clear();
    reads(node, touched);
    for (const uint32_t buffer : touched) used[buffer] = true;
  }
  if (!any_dead) return;
  size_t kept = 0;
  for (size_t i = 0; i < dead.size(); ++i) {
    if (dead[i]) continue;
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

void drop_unused(Graph& graph) {
  std::vector<bool> used(graph.buffers.size());
  each_view_of(std::as_const(graph), [&](const View& view) { used[view.buffer] = true; });
  std::vector<uint32_t> number(graph.buffers.size());
  std::vector<Buffer> kept;
  for (size_t b = 0; b < used.size(); ++b) {
    if (!used[b]) continue;
    number[b] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(graph.buffers[b]));
  }
  graph.buffers = std::move(kept);
  each_view_of(graph, [&](View& view) { view.buffer = number[view.buffer]; });
}

bool reaches_beyond(const View& view, const Buffer& buffer) {
  int64_t low = view.offset, high = view.offset;
  bool overflow = view.dtype != buffer.dtype || view.shape.size() != view.strides.size();
  bool none = false;
  for (size_t d = 0; d < view.shape.size() && !overflow; ++d) {
    int64_t reach = 0;
    overflow |=
        view.shape[d] < 0 ||
        __builtin_mul_overflow(std::max<int64_t>(view.shape[d] - 1, 0), view.strides[d], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
    none |= view.shape[d] == 0;
  }
  return overflow || (!none && (low < 0 || high >= buffer.size));
}

void check_reach(const Graph& graph) {
  constexpr int64_t kMostElements = int64_t{1} << 48;
  for (const Buffer& buffer : graph.buffers)
    if (buffer.size < 0 || buffer.size > kMostElements ||
        (is_held(buffer.role) && buffer.constant.numel() != buffer.size))
      throw Error(TN_OUT_OF_RANGE, "[graph] a buffer of " + std::to_string(buffer.size) +
                                       " elements, at these sizes of the inputs");
  for (const Node& node : graph.nodes)
    if (node.control != nullptr)
      for (const Graph& body : node.control->bodies) check_reach(body);
  each_view_of(graph, [&](const View& view) {
    if (reaches_beyond(view, graph.buffers[view.buffer]))
      throw Error(TN_OUT_OF_RANGE, "[graph] at these sizes of the inputs a view reaches beyond %" +
                                       std::to_string(view.buffer));
  });
}

}  // namespace tenon::graph
