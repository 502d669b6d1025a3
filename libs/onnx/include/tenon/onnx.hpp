// ONNX models as functions of tensors. In C: tenon/onnx.h.
//
//   const onnx::Model model = onnx::load("net.onnx");
//   Tensor y = model({x})[0];                                                    // node by node, where x lies
//   graph::Program program = graph::trace({x}, [&](auto in) { return model(in); });  // without ONNX from here on
#ifndef TENON_ONNX_HPP
#define TENON_ONNX_HPP

#include <memory>
#include <string>
#include <vector>

#include "tenon/graph.hpp"
#include "tenon/onnx.h"

namespace tenon::onnx {

// A model's input or result: a tensor, a sequence of values, or nothing (an empty optional).
class Value {
 public:
  Value() = default;
  Value(Tensor tensor) : tensor_(std::move(tensor)) {}
  Value(std::vector<Value> items)
      : items_(std::make_shared<const std::vector<Value>>(std::move(items))) {}

  bool is_tensor() const noexcept { return tensor_.defined(); }
  bool is_sequence() const noexcept { return items_ != nullptr; }
  bool is_none() const noexcept { return !is_tensor() && !is_sequence(); }
  const Tensor& tensor() const noexcept { return tensor_; }
  const std::vector<Value>& items() const { return *items_; }

 private:
  Tensor tensor_;
  std::shared_ptr<const std::vector<Value>> items_;
};

}  // namespace tenon::onnx

namespace tenon::detail {

// Values in the form of the C ABI, for as long as this lives.
class OnnxValues {
 public:
  explicit OnnxValues(const std::vector<onnx::Value>& values) {
    for (const onnx::Value& value : values) {
      tn_onnx_value one{};
      if (value.is_tensor()) {
        one = {TN_ONNX_TENSOR, 0, value.tensor().get(), nullptr};
      } else if (value.is_sequence()) {
        inner_.push_back(std::make_unique<OnnxValues>(value.items()));
        one = {TN_ONNX_SEQUENCE, inner_.back()->size(), nullptr, inner_.back()->data()};
      }
      values_.push_back(one);
    }
  }
  uint32_t size() const { return static_cast<uint32_t>(values_.size()); }
  tn_onnx_value* data() { return values_.data(); }

 private:
  std::vector<tn_onnx_value> values_;
  std::vector<std::unique_ptr<OnnxValues>> inner_;
};

inline onnx::Value onnx_value(const tn_onnx_value& value) {
  if (value.kind == TN_ONNX_TENSOR) return Tensor::share(value.tensor);
  if (value.kind != TN_ONNX_SEQUENCE) return {};
  std::vector<onnx::Value> items;
  for (uint32_t i = 0; i < value.count; ++i) items.push_back(onnx_value(value.items[i]));
  return items;
}

}  // namespace tenon::detail

namespace tenon::onnx {

// Copies share the model, and any thread may run it.
class Model {
 public:
  Model() noexcept = default;
  static Model adopt(tn_onnx_model* handle) {
    Model made;
    made.handle_ = {handle, &tn_onnx_release};
    made.results_ = made.info().results;
    return made;
  }

  bool defined() const noexcept { return handle_ != nullptr; }
  tn_onnx_model* get() const noexcept { return handle_.get(); }

  std::vector<Value> run(const std::vector<Value>& inputs) const {
    tenon::detail::OnnxValues given(inputs);
    std::vector<tn_onnx_value> found(results_);
    tenon::detail::check(tn_onnx_run(get(), given.data(), given.size(), found.data(), results_));
    std::vector<Value> results;
    for (const tn_onnx_value& value : found) results.push_back(tenon::detail::onnx_value(value));
    tn_onnx_release_values(found.data(), results_);
    return results;
  }
  // For models whose inputs and results are all tensors.
  std::vector<Tensor> operator()(TensorList inputs) const {
    std::vector<Tensor> results;
    for (const Value& value : run({inputs.begin(), inputs.end()})) {
      if (!value.is_tensor())
        throw Error(TN_INVALID_ARGUMENT, "[onnx] a result is not a tensor: call run() instead");
      results.push_back(value.tensor());
    }
    return results;
  }
  tn_onnx_info info() const {
    tn_onnx_info info{};
    info.struct_size = sizeof info;
    tenon::detail::check(tn_onnx_get_info(get(), &info));
    return info;
  }
  tn_onnx_port input(uint32_t index) const { return port(&tn_onnx_input, index); }
  tn_onnx_port result(uint32_t index) const { return port(&tn_onnx_result, index); }

 private:
  using Getter = tn_status* (*)(const tn_onnx_model*, uint32_t, tn_onnx_port*);
  tn_onnx_port port(Getter get_port, uint32_t index) const {
    tn_onnx_port port{};
    port.struct_size = sizeof port;
    tenon::detail::check(get_port(get(), index, &port));
    return port;
  }
  std::shared_ptr<tn_onnx_model> handle_;
  uint32_t results_ = 0;
};

// How to write a program.
struct SaveOptions {
  int64_t opset = 0;  // 18 where it is 0
  std::vector<std::string> inputs = {},
                           results =
                               {};  // names; empty: those of the program, and result0, result1 …
};

// Writes a program as a model. Throws Error with the op if it has no ONNX counterpart.
inline void save(const graph::Program& program, const std::string& path,
                 const SaveOptions& options = {}) {
  const auto texts = [](const std::vector<std::string>& names) {
    std::vector<tn_str> made;
    for (const std::string& name : names) made.push_back(tenon::detail::to_str(name));
    return made;
  };
  const std::vector<tn_str> inputs = texts(options.inputs), results = texts(options.results);
  tn_onnx_export_options told{};
  told.struct_size = sizeof told;
  told.ninputs = static_cast<uint32_t>(inputs.size());
  told.nresults = static_cast<uint32_t>(results.size());
  told.opset = options.opset;
  told.inputs = inputs.data();
  told.results = results.data();
  tenon::detail::check(tn_onnx_export(program.get(), tenon::detail::to_str(path), &told));
}

// Throws Error with everything in the model that Tenon lacks.
inline Model load(const std::string& path) {
  tn_onnx_model* model = nullptr;
  tenon::detail::check(tn_onnx_load(tenon::detail::to_str(path), &model));
  return Model::adopt(model);
}

}  // namespace tenon::onnx
#endif
