#include "file/file.hpp"

#include <map>

#include "file/json.hpp"
#include "ir/control.hpp"
#include "tenon/io.hpp"

namespace tenon::graph {
namespace {

constexpr const char* kGraph = "tenon.graph";

// Names the outside tensors in the file: by their buffers, if those have unique names.
class Names {
 public:
  explicit Names(const Graph& graph) { add(graph, ""); }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  const std::map<const tn_tensor*, std::string>& names() const { return names_; }

 private:
  void add(const Graph& graph, const std::string& prefix) {
    for (uint32_t b = 0; b < graph.buffers.size(); ++b) {
      const Buffer& buffer = graph.buffers[b];
      if (!is_held(buffer.role) || names_.contains(buffer.constant.get())) continue;
      std::string name = buffer.name;
      if (name.empty() || name == kGraph || tensors_.contains(name))
        name = prefix + (buffer.role == Role::State ? "state." : "weight.") + std::to_string(b);
      while (tensors_.contains(name)) name += '_';
      tensors_.emplace(name, buffer.constant);
      names_.emplace(buffer.constant.get(), name);
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].control != nullptr)
        for (size_t k = 0; k < graph.nodes[i].control->bodies.size(); ++k)
          add(graph.nodes[i].control->bodies[k],
              prefix + "body." + std::to_string(i) + '.' + std::to_string(k) + '.');
  }
  std::map<std::string, Tensor> tensors_;
  std::map<const tn_tensor*, std::string> names_;
};

}  // namespace

std::string describe(const Graph& graph) { return to_json(graph, Names(graph).names()); }

Tensor weight(const Graph& graph, const std::string& name) {
  const Names names(graph);
  const auto found = names.tensors().find(name);
  if (found == names.tensors().end())
    throw Error(TN_NOT_FOUND, "[graph] there is no weight '" + name + "'");
  return found->second;
}

void save(const Graph& graph, const std::string& path) {
  io::TensorMap tensors;
  const Names names(graph);
  for (const auto& [name, tensor] : names.tensors()) tensors.emplace(name, tensor);
  const std::string text = to_json(graph, names.names());
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
  for (Buffer& buffer : graph.buffers)  // runs write to memory of their own, not to the file's
    if (buffer.role == Role::State) buffer.constant = buffer.constant.clone();
  return graph;
}

}  // namespace tenon::graph
