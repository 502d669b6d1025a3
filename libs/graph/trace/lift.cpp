#include "trace/lift.hpp"

#include <algorithm>

#include "trace/fit.hpp"

namespace tenon::graph {
namespace {

constexpr int64_t kMost = 16;  // elements

bool is_small(const Buffer& buffer) {
  return buffer.role == Role::Constant && buffer.size > 0 && buffer.size <= kMost &&
         buffer.dtype != DType::Bool && !is_complex(buffer.dtype);
}

std::vector<Argument> elements_of(const Buffer& buffer) {
  std::vector<Argument> made;
  if (is_floating(buffer.dtype))
    for (const double one : buffer.constant.to(DType::F64).to_vector<double>())
      made.emplace_back(one);
  else
    for (const int64_t one : buffer.constant.to(DType::I64).to_vector<int64_t>())
      made.emplace_back(one);
  return made;
}

Node filled(Argument value, const View& result) {
  static const tn_op* const op = tn_op_find(detail::to_str("full"));
  return {op, {std::vector<int64_t>{1}, std::move(value), result.dtype, Here{}}, {result}};
}

void lift(Graph& graph, uint32_t b, std::vector<Node>& made) {
  static const tn_op* const op = tn_op_find(detail::to_str("concat"));
  const DType dtype = graph.buffers[b].dtype;
  std::vector<Argument> elements = elements_of(graph.buffers[b]);
  graph.buffers[b].role = Role::Temporary;
  graph.buffers[b].constant = {};
  if (elements.size() == 1) {
    made.push_back(filled(std::move(elements[0]), View{b, dtype, 0, {1}, {1}}));
    return;
  }
  Views parts;
  for (Argument& element : elements) {
    const View part{static_cast<uint32_t>(graph.buffers.size()), dtype, 0, {1}, {1}};
    graph.buffers.push_back({Role::Temporary, dtype, 1});
    made.push_back(filled(std::move(element), part));
    parts.emplace_back(part);
  }
  const auto count = static_cast<int64_t>(elements.size());
  made.push_back({op, {std::move(parts), int64_t{0}}, {View{b, dtype, 0, {count}, {1}}}});
}

}  // namespace

std::vector<uint32_t> numbers_that_differ(const Graph& first, const Graph& other) {
  std::vector<uint32_t> found;
  for (uint32_t b = 0; b < std::min(first.buffers.size(), other.buffers.size()); ++b) {
    const Buffer &mine = first.buffers[b], &theirs = other.buffers[b];
    if (is_small(mine) && is_small(theirs) && mine.dtype == theirs.dtype &&
        mine.size == theirs.size && !same_tensor(mine.constant, theirs.constant))
      found.push_back(b);
  }
  return found;
}

bool lift(Graph& graph, std::span<const uint32_t> buffers) {
  std::vector<Node> made;
  for (const uint32_t b : buffers) {
    if (b >= graph.buffers.size() || !is_small(graph.buffers[b])) return false;
    lift(graph, b, made);
  }
  graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(made.begin()),
                     std::make_move_iterator(made.end()));
  return true;
}

}  // namespace tenon::graph
