#include "run/agree.hpp"

#include "run/program.hpp"
#include "tenon/creation.hpp"
#include "trace/fit.hpp"

namespace tenon::graph {
namespace {

std::vector<Tensor> any_inputs(const Graph& graph) {
  std::vector<Tensor> made;
  for (const View& input : graph.inputs) {
    Tensor one = zeros(input.shape, input.dtype);
    if (is_floating(input.dtype)) {
      // Numbers from 0.05 to 1, with no two neighbours equal.
      const Tensor counted = arange(input.numel()).to(DType::F64) * 0.37;
      one = (counted - counted.floor() * 1.0 + 0.05).to(input.dtype).reshape(input.shape);
    }
    made.push_back(std::move(one));
  }
  return made;
}

// The results, and whatever the graph writes to, which here is a copy.
std::vector<Tensor> computed(Graph graph, std::vector<Tensor> inputs) {
  std::vector<Tensor> state;
  for (const size_t i : graph.written_inputs()) state.push_back(inputs[i] = inputs[i].clone());
  for (Buffer& buffer : graph.buffers)
    if (buffer.role == Role::State)
      state.push_back(buffer.constant = buffer.constant.to(Device("cpu")).clone());
  Program program(graph, Device("cpu"));
  std::vector<tn_tensor*> results(graph.results.size());
  program.run({TensorList(inputs).handles(), inputs.size()}, results.data());
  std::vector<Tensor> made;
  for (tn_tensor* result : results) made.push_back(Tensor::adopt(result));
  made.insert(made.end(), state.begin(), state.end());
  return made;
}

}  // namespace

bool agree(const Graph& a, const Graph& b) {
  const bool drawn = std::ranges::any_of(a.nodes, draws) || std::ranges::any_of(b.nodes, draws);
  if (drawn || a.inputs.size() != b.inputs.size()) return false;
  try {
    const std::vector<Tensor> inputs = any_inputs(a);
    return std::ranges::equal(computed(a, inputs), computed(b, inputs), same_tensor);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tenon::graph
