// The C API of tenon/onnx.h, on top of the classes.
#include <atomic>
#include <cstring>

#include "export/emitter.hpp"
#include "run/model.hpp"
#include "tenon/io.hpp"

using namespace tenon;  // NOLINT(google-build-using-namespace): this file is the ABI of that namespace

namespace {

// Fills in an input or result for the C ABI.
struct Port {
  const onnx::ValueProto* proto;
  std::vector<int64_t> shape;
  std::vector<tn_str> symbols;
};

std::vector<Port> ports_of(const std::vector<const onnx::ValueProto*>& values) {
  std::vector<Port> ports;
  for (const onnx::ValueProto* value : values) {
    Port& port = ports.emplace_back(Port{value, {}, {}});
    for (const onnx::Dimension& dimension : value->shape) {
      port.shape.push_back(dimension.size);
      port.symbols.push_back(detail::to_str(dimension.symbol));
    }
  }
  return ports;
}

}  // namespace

struct tn_onnx_model {
  explicit tn_onnx_model(std::unique_ptr<onnx::Files> files) : loaded(std::move(files)) {
    std::vector<const onnx::ValueProto*> outputs;
    for (const onnx::ValueProto& output : loaded.proto().graph.outputs) outputs.push_back(&output);
    inputs = ports_of(loaded.inputs());
    results = ports_of(outputs);
  }
  onnx::Loaded loaded;
  std::vector<Port> inputs, results;
  std::atomic<uint64_t> references{1};
};

namespace {

// The exception barrier. Exceptions other than Error become one.
template <class Body>
tn_status* guarded(Body&& body) noexcept {
  return detail::guarded("onnx", [&] {
    try {
      body();
    } catch (const std::bad_alloc&) {
      throw Error(TN_OUT_OF_MEMORY, "[onnx] out of host memory");
    }
  });
}

void require(const void* pointer, const char* what) {
  if (pointer == nullptr)
    throw Error(TN_INVALID_ARGUMENT, std::string("[onnx] ") + what + " is NULL");
}

// Copies as much as the caller's struct holds.
template <class Struct>
void give(Struct value, Struct* out) {
  const uint32_t size = out->struct_size;
  value.struct_size = size;
  std::memcpy(static_cast<void*>(out), &value, std::min<size_t>(size, sizeof value));
}

void give_port(const std::vector<Port>& ports, uint32_t index, tn_onnx_port* out) {
  require(out, "out");
  if (index >= ports.size())
    throw Error(TN_OUT_OF_RANGE, "[onnx] " + std::to_string(index) + " of " +
                                     std::to_string(ports.size()) + " values");
  const Port& port = ports[index];
  tn_onnx_port made{};
  made.kind = port.proto->kind == onnx::ValueProto::Sequence ? TN_ONNX_SEQUENCE : TN_ONNX_TENSOR;
  made.optional = port.proto->kind == onnx::ValueProto::Optional ? 1 : 0;
  made.dtype = TN_DTYPE_F32;
  if (port.proto->type != onnx::Type::Undefined)
    made.dtype = static_cast<tn_dtype>(onnx::dtype_of_type(
        onnx::storage_of(port.proto->type), "[onnx] '" + std::string(port.proto->name) + "'"));
  made.ranked = port.proto->ranked ? 1 : 0;
  made.ndim = static_cast<uint32_t>(port.shape.size());
  made.shape = port.shape.data();
  made.symbols = port.symbols.data();
  made.name = detail::to_str(port.proto->name);
  give(made, out);
}

std::vector<onnx::Value> values_of(const tn_onnx_value* values, uint32_t count, int depth = 0) {
  if (count != 0) require(values, "values");
  if (depth > 8) throw Error(TN_INVALID_ARGUMENT, "[onnx] sequences in sequences, 8 deep");
  std::vector<onnx::Value> made;
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i].kind == TN_ONNX_TENSOR) {
      require(values[i].tensor, "a tensor");
      made.emplace_back(Tensor::share(values[i].tensor));
    } else if (values[i].kind == TN_ONNX_SEQUENCE) {
      made.emplace_back(values_of(values[i].items, values[i].count, depth + 1));
    } else if (values[i].kind == TN_ONNX_NONE) {
      made.emplace_back();
    } else {
      throw Error(TN_INVALID_ARGUMENT, "[onnx] a value of kind " + std::to_string(values[i].kind));
    }
  }
  return made;
}

onnx::Names names_of(const tn_str* names, uint32_t count, const char* what) {
  if (count != 0) require(names, what);
  onnx::Names made;
  for (uint32_t i = 0; i < count; ++i)
    made.emplace_back(names[i].data == nullptr ? std::string_view() : detail::to_view(names[i]));
  return made;
}

tn_onnx_value given(const onnx::Value& value) {
  if (value.is_tensor()) return {TN_ONNX_TENSOR, 0, Tensor(value.tensor()).take(), nullptr};
  if (!value.is_sequence()) return {};
  const size_t count = value.items().size();
  auto* const items = new tn_onnx_value[count];
  for (size_t i = 0; i < count; ++i) items[i] = given(value.items()[i]);
  return {TN_ONNX_SEQUENCE, static_cast<uint32_t>(count), nullptr, items};
}

}  // namespace

tn_status* tn_onnx_load(tn_str path, tn_onnx_model** out) {
  return guarded([&] {
    require(out, "out");
    const std::string name(path.data == nullptr ? std::string_view() : detail::to_view(path));
    *out = new tn_onnx_model(std::make_unique<onnx::Files>(name));
  });
}

tn_status* tn_onnx_get_info(const tn_onnx_model* model, tn_onnx_info* out) {
  return guarded([&] {
    require(model, "model");
    require(out, "out");
    const onnx::ModelProto& proto = model->loaded.proto();
    tn_onnx_info info{};
    info.inputs = static_cast<uint32_t>(model->inputs.size());
    info.results = static_cast<uint32_t>(model->results.size());
    info.weights = static_cast<uint32_t>(model->loaded.weights().size());
    info.nodes = model->loaded.nodes();
    for (const auto& [name, tensor] : model->loaded.weights()) info.weight_bytes += tensor.nbytes();
    info.ir_version = proto.ir_version;
    const auto opset = proto.opsets.find("");
    info.opset = opset == proto.opsets.end() ? 0 : opset->second;
    info.producer = detail::to_str(proto.producer);
    info.producer_version = detail::to_str(proto.producer_version);
    give(info, out);
  });
}

tn_status* tn_onnx_input(const tn_onnx_model* model, uint32_t index, tn_onnx_port* out) {
  return guarded([&] {
    require(model, "model");
    give_port(model->inputs, index, out);
  });
}

tn_status* tn_onnx_result(const tn_onnx_model* model, uint32_t index, tn_onnx_port* out) {
  return guarded([&] {
    require(model, "model");
    give_port(model->results, index, out);
  });
}

tn_status* tn_onnx_weight(const tn_onnx_model* model, uint32_t index, tn_str* name,
                          tn_tensor** tensor) {
  return guarded([&] {
    require(model, "model");
    require(name, "name");
    require(tensor, "tensor");
    const auto& weights = model->loaded.weights();
    if (index >= weights.size())
      throw Error(TN_OUT_OF_RANGE, "[onnx] " + std::to_string(index) + " of " +
                                       std::to_string(weights.size()) + " weights");
    *name = detail::to_str(weights[index].first);
    *tensor = Tensor(weights[index].second).take();
  });
}

tn_status* tn_onnx_list_ops(const tn_onnx_model* model, tn_write_fn write, void* ctx) {
  return guarded([&] {
    require(model, "model");
    if (write == nullptr) throw Error(TN_INVALID_ARGUMENT, "[onnx] write is NULL");
    for (const auto& [op, count] : model->loaded.ops())
      write(ctx, detail::to_str(op.first + "\t" + op.second + "\t" + std::to_string(count) + "\n"));
  });
}

tn_status* tn_onnx_run(const tn_onnx_model* model, const tn_onnx_value* inputs, uint32_t ninputs,
                       tn_onnx_value* results, uint32_t nresults) {
  return guarded([&] {
    require(model, "model");
    if (nresults != model->results.size())
      throw Error(TN_INVALID_ARGUMENT, "[onnx] " + std::to_string(nresults) +
                                           " results asked for, the model has " +
                                           std::to_string(model->results.size()));
    if (nresults != 0) require(results, "results");
    const std::vector<onnx::Value> found = model->loaded.run(values_of(inputs, ninputs));
    for (uint32_t k = 0; k < nresults; ++k) results[k] = given(found[k]);
  });
}

void tn_onnx_release_values(tn_onnx_value* values, uint32_t count) {
  for (uint32_t i = 0; values != nullptr && i < count; ++i) {
    if (values[i].kind == TN_ONNX_TENSOR) tn_tensor_release(values[i].tensor);
    if (values[i].kind == TN_ONNX_SEQUENCE) {
      tn_onnx_release_values(values[i].items, values[i].count);
      delete[] values[i].items;
    }
    values[i] = {};
  }
}

tn_status* tn_onnx_list_converters(tn_write_fn write, void* ctx) {
  return guarded([&] {
    if (write == nullptr) throw Error(TN_INVALID_ARGUMENT, "[onnx] write is NULL");
    for (const onnx::Entry* entry : onnx::entries())
      write(ctx, detail::to_str(std::string(entry->domain) + "\t" + entry->op + "\n"));
  });
}

tn_status* tn_onnx_export(const tn_program* program, tn_str path,
                          const tn_onnx_export_options* options) {
  return guarded([&] {
    require(program, "program");
    tn_onnx_export_options told{};
    if (options != nullptr)
      std::memcpy(&told, options, std::min<size_t>(options->struct_size, sizeof told));
    const int64_t opset = told.opset == 0 ? 18 : told.opset;
    if (opset < 18 || opset > 25)
      throw Error(TN_OUT_OF_RANGE, "[onnx.export] opset " + std::to_string(opset) +
                                       "; models are written in 18 to 25");
    const std::string text =
        onnx::exported(program, names_of(told.inputs, told.ninputs, "inputs"),
                       names_of(told.results, told.nresults, "results"), opset);
    if (text.size() > INT32_MAX)
      throw Error(TN_OUT_OF_RANGE, "[onnx.export] " + std::to_string(text.size()) +
                                       " bytes, more than a file of this format holds");
    const std::string name(path.data == nullptr ? std::string_view() : detail::to_view(path));
    io::detail::ReplacedFile file(name, "onnx.export");
    file.write(text.data(), text.size());
    file.commit();
  });
}

tn_status* tn_onnx_list_exported(tn_write_fn write, void* ctx) {
  return guarded([&] {
    if (write == nullptr) throw Error(TN_INVALID_ARGUMENT, "[onnx] write is NULL");
    for (const std::string& op : onnx::emitted_ops()) write(ctx, detail::to_str(op + "\n"));
  });
}

tn_onnx_model* tn_onnx_retain(tn_onnx_model* model) {
  if (model != nullptr) model->references.fetch_add(1, std::memory_order_relaxed);
  return model;
}

void tn_onnx_release(tn_onnx_model* model) {
  if (model != nullptr && model->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete model;
}
