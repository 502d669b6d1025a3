#include "file/file.hpp"

#include <bit>
#include <map>

#include "file/json.hpp"
#include "file/mapped.hpp"
#include "ir/control.hpp"
#include "tenon/creation.hpp"

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

namespace {

constexpr uint64_t kLeastMapped = 1 << 16;  // bytes

// The tensors of a file. Large ones stay in it.
struct Contents {
  struct InFile {
    io::detail::Entry entry;
    Tensor own;  // a copy outside of the file, if anything needs one
  };
  std::shared_ptr<const MappedFile> file;
  uint64_t base = 0;  // where the elements begin
  io::TensorMap tensors = {};
  std::map<const tn_tensor*, InFile> in_file = {};

  Tensor read(const io::detail::Entry& entry) const {
    return io::detail::read_tensor(*file, entry, base, {});
  }
};

Contents contents_of(const std::shared_ptr<const MappedFile>& file) {
  const io::detail::Header header = io::detail::read_header(*file);
  Contents made{file, header.base};
  for (const io::detail::Entry& entry : header.entries) {
    unsigned char* const data = file->at(header.base + entry.begin);
    const bool stays = std::endian::native == std::endian::little && entry.dtype != DType::Bool &&
                       entry.end - entry.begin >= kLeastMapped && entry.name != kGraph &&
                       reinterpret_cast<uintptr_t>(data) % size_of(entry.dtype) == 0;
    const Tensor tensor =
        stays ? from_blob(data, entry.dtype, entry.shape, {}, [file] {}) : made.read(entry);
    if (stays) made.in_file.emplace(tensor.get(), Contents::InFile{entry, {}});
    made.tensors.emplace(entry.name, tensor);
  }
  return made;
}

// Whether the kernel of a node keeps a copy of its weight: of convolutions, and at one size of products of several rows.
bool keeps_weight(const Node& node, bool sized) {
  if (node.op == nullptr || node.results.empty()) return false;
  const View& made = node.results[0];
  return node.name() == "conv" ||
         (node.name() == "linear" && !sized && made.numel() > made.shape.back());
}

// By buffer, whether it is nothing but the weight of such nodes: the file need not lie in memory, too.
std::vector<bool> kept_by_kernels(const Graph& graph, bool sized) {
  std::vector<bool> only(graph.buffers.size(), true), any(graph.buffers.size());
  std::vector<uint32_t> touched;
  for (const Node& node : graph.nodes) {
    const bool keeps = keeps_weight(node, sized);
    touched.clear();
    reads(node, touched);
    writes(node, touched);
    for (const uint32_t b : touched) keeps ? any[b] = true : only[b] = false;
  }
  for (const View& result : graph.results) only[result.buffer] = false;
  for (size_t b = 0; b < only.size(); ++b) only[b] = only[b] && any[b];
  return only;
}

// Reads what does not stay in the file.
void read_others(Graph& graph, bool sized, Contents& contents) {
  const std::vector<bool> stays = kept_by_kernels(graph, sized);
  for (size_t b = 0; b < stays.size(); ++b) {
    Buffer& buffer = graph.buffers[b];
    if (stays[b] && buffer.role == Role::Constant) continue;
    const auto found = contents.in_file.find(buffer.constant.get());
    if (!buffer.constant.defined() || found == contents.in_file.end()) continue;
    auto& [entry, own] = found->second;
    if (!own.defined()) own = contents.read(entry);
    buffer.constant = own;
  }
  for (Node& node : graph.nodes)
    if (node.control != nullptr)
      for (Graph& body : node.control->bodies) read_others(body, sized, contents);
}

}  // namespace

Graph load(const std::string& path) {
  return io::detail::with_memory_errors("[graph.load] " + path, [&] {
    Contents contents = contents_of(std::make_shared<const MappedFile>(path, "graph.load"));
    const auto found = contents.tensors.find(kGraph);
    if (found == contents.tensors.end() || found->second.dtype() != DType::U8)
      throw Error(TN_DATA_LOSS, "[graph.load] " + path +
                                    " holds weights, but no graph: tenon.io.load reads such files");
    std::string text(static_cast<size_t>(found->second.numel()), '\0');
    found->second.to_host(text.data(), text.size());
    Graph graph = from_json(text, contents.tensors, "[graph.load] " + path);
    read_others(graph, !graph.sizes.empty(), contents);
    for (Buffer& buffer : graph.buffers)  // runs write to memory of their own, not to the file's
      if (buffer.role == Role::State) buffer.constant = buffer.constant.clone();
    return graph;
  });
}

}  // namespace tenon::graph
