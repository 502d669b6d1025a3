// ONNX models from anywhere: whatever is read can be walked, and its tensors can be made, without reading a byte outside the file.
#include "model/files.hpp"
#include "target.hpp"

namespace {

using namespace tenon::
    onnx;  // NOLINT(google-build-using-namespace): the target is about that namespace

size_t walk(Files& files, const GraphProto& graph);

size_t walk(Files& files, const NodeProto& node) {
  size_t seen = node.op.size() + node.name.size() + node.domain.size();
  for (const std::string_view name : node.inputs) seen += name.size();
  for (const AttributeProto& attribute : node.attributes) {
    seen += attribute.name.size() + attribute.s.size() + attribute.ints.size();
    if (attribute.graph) seen += walk(files, *attribute.graph);
    if (attribute.tensor) tenon::fuzz::accepted([&] { files.tensor(*attribute.tensor); });
  }
  return seen;
}

size_t walk(Files& files, const GraphProto& graph) {
  size_t seen = graph.name.size();
  for (const NodeProto& node : graph.nodes) seen += walk(files, node);
  for (const TensorProto& tensor : graph.initializers)
    tenon::fuzz::accepted([&] {
      const tenon::Tensor made = files.tensor(tensor);
      tenon::fuzz::require(made.shape().size() == tensor.dims.size(), "a tensor of another rank");
    });
  return seen;
}

}  // namespace

TENON_FUZZ_TARGET(onnx) {
  const tenon::onnx::Bytes memory(reinterpret_cast<const unsigned char*>(bytes.data()),
                                  bytes.size());
  tenon::onnx::Files files(memory, "[onnx]");
  tenon::onnx::Origin origin("[onnx]", memory);
  tenon::onnx::ModelProto model;
  if (!accepted([&] { model = tenon::onnx::read_model(origin); })) return;
  size_t seen = walk(files, model.graph);
  for (const tenon::onnx::FunctionProto& function : model.functions)
    for (const tenon::onnx::NodeProto& node : function.nodes) seen += walk(files, node);
  require(seen <= 16 * bytes.size() + 16, "more text than the file has");
}
