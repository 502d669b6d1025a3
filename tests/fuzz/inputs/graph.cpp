// Graphs in the form of files: whatever is read can be written, and is then read as the same graph; no view leaves its buffer.
#include "file/json.hpp"

#include <vector>

#include "target.hpp"

namespace {

// Names that a file may use for its weights.
std::map<std::string, tenon::Tensor> weights() {
  std::map<std::string, tenon::Tensor> made;
  for (const auto& [name, size] : {std::pair{"w", int64_t{6}}, {"b", 2}, {"0.weight", 12}}) {
    const std::vector<float> elements(static_cast<size_t>(size), 1.0F);
    tn_tensor* tensor = nullptr;
    tenon::detail::check(tn_tensor_from_host(elements.data(), elements.size() * sizeof(float),
                                             TN_DTYPE_F32, 1, &size, nullptr, &tensor));
    made.emplace(name, tenon::Tensor::adopt(tensor));
  }
  return made;
}

void check_view(const tenon::graph::Graph& graph, const tenon::graph::View& view) {
  const tenon::graph::Buffer& buffer = graph.buffers.at(view.buffer);
  tenon::fuzz::require(view.end() <= buffer.size && view.offset >= 0 && view.dtype == buffer.dtype,
                       "a view reaches beyond its buffer");
}

}  // namespace

TENON_FUZZ_TARGET(graph) {
  static const auto known = weights();
  graph::Graph read;
  if (!accepted([&] { read = graph::from_json(std::string(bytes), known, "[graph]"); })) return;
  for (const graph::Node& node : read.nodes)
    for (const graph::View& view : node.results) check_view(read, view);
  for (const graph::View& view : read.results) check_view(read, view);
  std::map<const tn_tensor*, std::string> names;
  for (const auto& [name, tensor] : known) names.emplace(tensor.get(), name);
  const std::string text = graph::to_json(read, names);
  const graph::Graph again = graph::from_json(text, known, "[graph]");
  require(graph::to_json(again, names) == text, "it reads as another graph");
  require(!graph::to_text(again).empty(), "no text");
  // At any sizes of its dimensions, views stay inside their buffers or are refused.
  for (const int64_t size : {0, 1, 2, 7, 1 << 20}) {
    const std::vector<int64_t> dims(read.sizes.dims.size(), size);
    if (read.sizes.empty()) break;
    graph::Graph sized;
    if (!accepted([&] { sized = graph::concrete(read, dims); })) continue;
    for (const graph::Node& node : sized.nodes)
      for (const graph::View& view : node.results) check_view(sized, view);
  }
  graph::drop_dead(read);
}
