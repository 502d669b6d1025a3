// A model, checked and ready to run.
#pragma once

#include <mutex>
#include <set>
#include <unordered_map>

#include "convert/table.hpp"
#include "model/files.hpp"

namespace tenon::onnx {

class Check;

// The names that a node and its bodies read.
void reads(const NodeProto& node, std::vector<std::string_view>& names);
// Attributes of an op without bodies or tensors.
void copy_attributes(const NodeProto& from, NodeProto& to);

class Loaded : private Weights {
 public:
  // Throws Error with the place of anything malformed, and with everything that is not supported.
  explicit Loaded(std::unique_ptr<Files> files);
  ~Loaded() override;

  const ModelProto& proto() const { return proto_; }
  // The inputs to pass: those of the graph that no initializer fills.
  const std::vector<const ValueProto*>& inputs() const { return inputs_; }
  const std::vector<std::pair<std::string, Tensor>>& weights() const { return weights_; }
  // Nodes by domain and op, including bodies and called functions.
  const std::map<std::pair<std::string, std::string>, uint64_t>& ops() const { return ops_; }
  uint64_t nodes() const { return nodes_; }

  // [any thread]
  std::vector<Value> run(std::vector<Value> inputs) const;

 private:
  struct Body;
  struct Step {
    const NodeProto* node;
    Convert convert;  // NULL if it calls a function:
    const Body* function;
    std::vector<std::string_view> last;  // values that no later step reads
    std::vector<std::string_view>
        reads;  // names that the node and its bodies read, if it has bodies
    Call::Context context;
    bool constant = false;  // it reads only constants and draws nothing, so it runs once
  };
  // Steps in order, and the values they start from.
  struct Body {
    std::vector<Step> steps;
    std::vector<std::pair<std::string_view, Value>> constants;
    std::vector<std::string_view> inputs, outputs;
    const FunctionProto* function = nullptr;
  };
  struct Scope;
  class Quantized;

  void prepare(Body& body, const std::vector<NodeProto>& nodes, const Opsets& opsets, Check& check);
  void prepare(const GraphProto& graph, const Opsets& opsets, Check& check, bool outermost);
  Step step(const NodeProto& node, const Opsets& opsets, Check& check);
  const Body* function(const NodeProto& node, Check& check);
  void note_constants(Body& body) const;
  void join_norms(Body& body);
  void join_quantized(Body& body);
  static void note_last_uses(Body& body);
  void check_input(const ValueProto& port, const Value& value) const;
  std::vector<Value> run(const Body& body, std::vector<Value> inputs, const Scope* outer,
                         const NodeProto* caller) const;
  void run(const Step& step, const Body& body, Scope& scope, const NodeProto* caller) const;
  std::vector<Value> convert(const Step& step, const Call& call) const;
  Tensor placed(const Tensor& tensor, Device device) const override;
  std::shared_ptr<const void> kept(
      const NodeProto& node, int slot, Device device,
      const std::function<std::shared_ptr<const void>()>& make) const override;

  std::unique_ptr<Files> files_;
  ModelProto proto_;
  std::vector<const ValueProto*> inputs_;
  std::vector<std::pair<std::string, Tensor>> weights_;
  std::map<std::pair<std::string, std::string>, uint64_t> ops_;
  uint64_t nodes_ = 0;
  static constexpr int kDeepest = 64;
  int nesting_ = 0;  // depth of function calls while preparing
  std::unordered_map<const GraphProto*, Body> bodies_;
  std::map<const FunctionProto*, Body> functions_;
  std::deque<NodeProto> joined_;  // nodes that were merged from two of the file's
  mutable std::mutex mutex_;
  mutable std::map<std::pair<const tn_tensor*, const tn_device*>, Tensor>
      copies_;  // of weights, by device
  using Place = std::tuple<const NodeProto*, int, const tn_device*>;
  mutable std::map<Place, std::shared_ptr<const void>> kept_;
  std::set<const tn_tensor*> constants_;  // handles of weights
};

}  // namespace tenon::onnx
