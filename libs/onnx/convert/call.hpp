// One node of a model that runs: what its converter sees.
#pragma once

#include <functional>
#include <initializer_list>

#include "model/model.hpp"
#include "tenon/creation.hpp"
#include "tenon/onnx.hpp"

namespace tenon::onnx {

class Files;

// What a converter returns, by position; what is left out behind the last is not there.
struct Results {
  std::vector<Value> values;
  Results(Tensor tensor) { values.emplace_back(std::move(tensor)); }
  Results(Value value) { values.push_back(std::move(value)); }
  Results(std::initializer_list<Value> list) : values(list) {}
  Results(std::vector<Value> list) : values(std::move(list)) {}
  Results(const std::vector<Tensor>& list) : values(list.begin(), list.end()) {}
};

// Runs a node's body (of If, Loop, Scan …) within its graph.
using RunBody = std::function<std::vector<Value>(const GraphProto&, std::vector<Value>)>;

// The model's weights, and what is computed of them alone.
class Weights {
 public:
  virtual ~Weights() = default;
  // A weight on another device, copied there once; any other tensor is copied each time.
  virtual Tensor placed(const Tensor& x, Device device) const = 0;
  // What `make` gave for that node, slot and device the first time. [any thread]
  virtual std::shared_ptr<const void> kept(
      const NodeProto& node, int slot, Device device,
      const std::function<std::shared_ptr<const void>()>& make) const = 0;
};

class Call {
 public:
  struct Context {
    int64_t opset = 0;                  // of the node's domain
    const NodeProto* caller = nullptr;  // of the function that the node is in
    const FunctionProto* function = nullptr;
    const RunBody* run = nullptr;
    const Weights* weights = nullptr;
    Files* files = nullptr;
    std::vector<bool> constant;  // which inputs are the same in each run
    bool traced = false;         // a node with bodies: something that it or they read is traced
  };
  Call(const NodeProto& node, std::vector<Value> inputs, const Context& context);

  const NodeProto& node() const { return node_; }
  int64_t opset() const { return context_.opset; }
  size_t outputs() const { return node_.outputs.size(); }
  bool wants(size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  bool reads_traced() const { return context_.traced; }
  // Where it runs: the host where all its inputs lie there.
  const Device& device() const { return device_; }
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(TN_INVALID_ARGUMENT, reason);
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(TN_UNIMPLEMENTED, what + " is not supported");
  }

  // Inputs, by position.
  size_t size() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && !inputs_[i].is_none(); }
  const Value& value(size_t i) const;
  Tensor x(size_t i) const;  // where the node runs
  Tensor maybe(size_t i) const { return has(i) ? x(i) : Tensor(); }
  std::vector<Tensor> tensors(size_t from = 0) const;  // from this one on
  std::vector<Value> sequence(size_t i) const;
  // Numbers that shapes depend on: read on the host.
  std::vector<int64_t> ints(size_t i) const;
  int64_t integer(size_t i) const;
  double number(size_t i) const;

  // Whether all of these inputs are the same in each run (those that are left out are).
  bool constant(std::initializer_list<size_t> inputs) const;
  // What `make` returns: of attributes and of inputs that are `constant`, made once; else each time.
  template <class Make>
  auto kept(bool constant, Make make, int slot = 0) const {
    using T = decltype(make());
    if (!constant || context_.function != nullptr) return std::make_shared<const T>(make());
    return std::static_pointer_cast<const T>(context_.weights->kept(
        node_, slot, home(), [&] { return std::make_shared<const T>(make()); }));
  }

  // Attributes.
  const AttributeProto* find(std::string_view name) const;
  int64_t i(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise = false) const { return i(name, otherwise) != 0; }
  double f(std::string_view name, double otherwise) const;
  std::string s(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> list(std::string_view name,
                            const std::vector<int64_t>& otherwise = {}) const;
  std::vector<double> floats(std::string_view name) const;
  std::vector<std::string> strings(std::string_view name) const;
  const GraphProto& graph(std::string_view name) const;
  Tensor tensor(std::string_view name) const;  // undefined where there is none
  DType dtype(std::string_view name, DType otherwise) const;
  std::vector<Value> run(const GraphProto& body, std::vector<Value> inputs) const {
    return (*context_.run)(body, std::move(inputs));
  }
  // A list that was an attribute and became an input in a later opset: axes, pads, …
  std::vector<int64_t> ints_or(size_t input, std::string_view attribute) const {
    return has(input) ? ints(input) : list(attribute);
  }

 private:
  // Throws where it is of another type.
  const AttributeProto* find(std::string_view name, int64_t type) const;
  Device home() const;  // where what is computed of weights lies

  const NodeProto& node_;
  std::vector<Value> inputs_;
  const Context& context_;
  Device device_;
};

// A tensor of a trace, whose elements nobody knows yet.
bool traced(const Value& value);
// A dimension, counted from the end where it is negative. Throws Error.
int64_t wrap(int64_t axis, int64_t rank);
std::vector<int64_t> wrap(std::vector<int64_t> axes, int64_t rank);
std::vector<int64_t> shape_of(const Tensor& x);
// Integers on the host, as Shape gives them.
Tensor host(const std::vector<int64_t>& numbers);
Tensor host(const std::vector<int64_t>& numbers, IntList shape, DType dtype, Device device);
// Elements of a tensor on the host as T, whatever its dtype.
template <class T>
std::vector<T> read(const Tensor& x);

}  // namespace tenon::onnx
