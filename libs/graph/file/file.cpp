#include "file/file.hpp"

#include <map>

#include "file/json.hpp"
#include "tenon/io.hpp"

namespace tenon::graph {
namespace {

constexpr const char* kGraph = "tenon.graph";

// Weights by the names of the file: those of the buffers, where they have one of their own.
std::map<std::string, uint32_t> names_of(const Graph& graph) {
  std::map<std::string, uint32_t> names;
  for (uint32_t b = 0; b < graph.buffers.size(); ++b) {
    const Buffer& buffer = graph.buffers[b];
    if (!is_held(buffer.role)) continue;
    const std::string plain =
        (buffer.role == Role::State ? "state." : "weight.") + std::to_string(b);
    if (buffer.name.empty() || !names.emplace(buffer.name, b).second) names.emplace(plain, b);
  }
  return names;
}

}  // namespace

std::string describe(const Graph& graph) {
  std::vector<std::string> names(graph.buffers.size());
  for (const auto& [name, buffer] : names_of(graph)) names[buffer] = name;
  return to_json(graph, names);
}

Tensor weight(const Graph& graph, const std::string& name) {
  const auto names = names_of(graph);
  const auto found = names.find(name);
  if (found == names.end()) throw Error(TN_NOT_FOUND, "[graph] there is no weight '" + name + "'");
  return graph.buffers[found->second].constant;
}

void save(const Graph& graph, const std::string& path) {
  io::TensorMap tensors;
  for (const auto& [name, buffer] : names_of(graph))
    tensors.emplace(name, graph.buffers[buffer].constant);
  const std::string text = describe(graph);
  const auto size = static_cast<int64_t>(text.size());
  tn_tensor* bytes = nullptr;
  detail::check(
      tn_tensor_from_host(text.data(), text.size(), TN_DTYPE_U8, 1, &size, nullptr, &bytes));
  tensors.emplace(kGraph, Tensor::adopt(bytes));
  io::detail::save(path, tensors, {{"format", kGraph}}, "graph.save");
}

Graph load(const std::string& path) {
  io::SafeTensors file = io::load_safetensors(path);
  const auto found = file.tensors.find(kGraph);
  if (found == file.tensors.end() || found->second.dtype() != DType::U8)
    throw Error(TN_DATA_LOSS, "[graph.load] " + path +
                                  " holds weights, but no graph: tenon.io.load reads such files");
  std::string text(static_cast<size_t>(found->second.numel()), '\0');
  found->second.to_host(text.data(), text.size());
  Graph graph = from_json(text, file.tensors, "[graph.load] " + path);
  for (Buffer& buffer : graph.buffers)  // runs write into memory of their own, not into the file's
    if (buffer.role == Role::State) buffer.constant = buffer.constant.clone();
  return graph;
}

}  // namespace tenon::graph
