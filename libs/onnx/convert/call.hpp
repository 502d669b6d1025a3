// One running node of a model, as its converter sees it.
#pragma once

#include <functional>
#include <initializer_list>

#include "model/model.hpp"
#include "tenon/creation.hpp"
#include "tenon/onnx.hpp"

namespace tenon::onnx {

class Files;

// A converter's results, by position. Results at the end may be left out.
struct Results {
  std::vector<Value> values;
  Results(Tensor tensor) { values.emplace_back(std::move(tensor)); }
  Results(Value value) { values.push_back(std::move(value)); }
  Results(std::initializer_list<Value> list) : values(list) {}
  Results(std::vector<Value> list) : values(std::move(list)) {}
  Results(const std::vector<Tensor>& list) : values(list.begin(), list.end()) {}
};

// Runs a body of a node (If, Loop, Scan …) inside its graph.
using RunBody = std::function<std::vector<Value>(const GraphProto&, std::vector<Value>)>;

// The model's weights, and tensors computed from them alone.
class Weights {
 public:
  virtual ~Weights() = default;
  // A copy on that device. A weight is copied once, any other tensor each time.
  virtual Tensor placed(const Tensor& x, Device device) const = 0;
  // The result of the first `make` for that node, slot and device. [any thread]
  virtual std::shared_ptr<const void> kept(
      const NodeProto& node, int slot, Device device,
      const std::function<std::shared_ptr<const void>()>& make) const = 0;
};

class Call {
 public:
  struct Context {
    int64_t opset = 0;                  // of the node's domain
    const NodeProto* caller = nullptr;  // set if the node is inside a function
    const FunctionProto* function = nullptr;
    const RunBody* run = nullptr;
    const Weights* weights = nullptr;
    Files* files = nullptr;
    std::vector<bool> constant;  // by input: it is the same in each run
    bool traced = false;         // for nodes with bodies: the node or a body reads something traced
  };
  Call(const NodeProto& node, std::vector<Value> inputs, const Context& context);

  const NodeProto& node() const { return node_; }
  int64_t opset() const { return context_.opset; }
  size_t outputs() const { return node_.outputs.size(); }
  bool wants(size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  bool reads_traced() const { return context_.traced; }
  // The device it runs on: the host if all its inputs lie there.
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
  Tensor x(size_t i) const;  // on the node's device
  Tensor maybe(size_t i) const { return has(i) ? x(i) : Tensor(); }
  std::vector<Tensor> tensors(size_t from = 0) const;  // from that input on
  std::vector<Value> sequence(size_t i) const;
  // Numbers that shapes depend on, read on the host.
  std::vector<int64_t> ints(size_t i) const;
  int64_t integer(size_t i) const;
  double number(size_t i) const;

  // Whether these inputs, as far as they are given, are the same in each run.
  bool constant(std::initializer_list<size_t> inputs) const;
  // Returns make(), which may use attributes and `constant` inputs. If all of these inputs are constant, it runs only once.
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
  // A list of floats as an f32 tensor where the node computes, made once for each `slot`. Throws if it doesn't fit the shape.
  Tensor weight(std::string_view name, const std::vector<int64_t>& shape, int slot) const;
  const GraphProto& graph(std::string_view name) const;
  Tensor tensor(std::string_view name) const;  // undefined if absent
  DType dtype(std::string_view name, DType otherwise) const;
  std::vector<Value> run(const GraphProto& body, std::vector<Value> inputs) const {
    return (*context_.run)(body, std::move(inputs));
  }
  // A list that was an attribute and became an input in a later opset: axes, pads, …
  std::vector<int64_t> ints_or(size_t input, std::string_view attribute) const {
    return has(input) ? ints(input) : list(attribute);
  }

 private:
  // Throws if its type differs.
  const AttributeProto* find(std::string_view name, int64_t type) const;
  Device home() const;  // the device for what is computed from weights

  const NodeProto& node_;
  std::vector<Value> inputs_;
  const Context& context_;
  Device device_;
};

// Whether it belongs to a trace, so that its elements are still unknown.
bool traced(const Value& value);
// Counts a negative dimension from the end. Throws Error.
int64_t wrap(int64_t axis, int64_t rank);
std::vector<int64_t> wrap(std::vector<int64_t> axes, int64_t rank);
std::vector<int64_t> shape_of(const Tensor& x);
// A host tensor of integers, such as Shape returns.
Tensor host(const std::vector<int64_t>& numbers);
Tensor host(const std::vector<int64_t>& numbers, IntList shape, DType dtype, Device device);
// The elements of a host tensor, converted to T.
template <class T>
std::vector<T> read(const Tensor& x);

}  // namespace tenon::onnx
