// Writes an ONNX graph, and tracks which of its values holds which elements of a program's buffers.
#pragma once

#include <memory>
#include <set>
#include <variant>

#include "export/sizes.hpp"
#include "wire/writer.hpp"

namespace tenon::onnx {

// The last alternative is a serialised graph.
using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, Writer>;
using Attributes = std::vector<std::pair<const char*, Attribute>>;
using Names = std::vector<std::string>;

// An input or result of the model. A varying size has a name, or "" if it is a formula without one.
struct Port {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::variant<int64_t, std::string>> shape;
};

// What was written for one combination of sizes: the unnamed constants in order, with the ops that read them, and the nodes of each call.
struct Sketch {
  std::vector<std::pair<std::string, Tensor>> constants;
  std::vector<std::pair<std::string, std::string>> calls;
  std::vector<std::string> views = {};  // the ops that made each view that was asked for
};
// Views, by the order in which they are asked for, that are other nodes at other sizes, and so have to be gathered element by element.
using ByElement = std::set<size_t>;

// By the number of a constant that depends on sizes: the formulas of its elements.
struct Following {
  const Sizes* sizes = nullptr;
  ByElement by_element = {};
  std::map<size_t, std::vector<Follows>> constants = {};
};

class Emitter {
 public:
  Emitter(const tn_program* program, const Recorded& from, const Following* following = nullptr);
  // Writes an inner graph: its nodes go into `to`, its constants into the outermost graph.
  Emitter(Emitter& outer, const Recorded& from, Writer& to);

  // Add nodes; the first returns the name of its only result.
  std::string node(const char* op, const Names& inputs, const Attributes& attributes = {});
  Names nodes(const char* op, const Names& inputs, const Attributes& attributes, size_t results);
  // A name that is still unused.
  std::string fresh(const std::string& stem);
  // Add constants.
  std::string ints(const std::vector<int64_t>& numbers);
  std::string number(double value, DType dtype);
  std::string weight(const Tensor& tensor, const std::string& name = "");
  // 0, 1, … n - 1 as INT64.
  std::string range(int64_t n);

  // The value of a view. With `broadcast`, dimensions that only repeat elements have size 1.
  std::string value(const RecordedView& view, bool broadcast = false);
  // An argument: a tensor, or a number as a tensor of that dtype.
  std::string operand(const RecordedCall& call, const std::string& name, DType dtype,
                      bool broadcast = false);
  std::string input(const RecordedCall& call, const std::string& name) {
    return value(call.view(name));
  }
  // "" if absent.
  std::string optional(const RecordedCall& call, const std::string& name) {
    return call.has(name) ? input(call, name) : "";
  }
  // From now on `name` holds the elements of a view.
  void hold(const RecordedView& view, const std::string& name);
  // Expands what was computed from operands that only repeat a single element.
  std::string expanded(const std::string& name, const RecordedCall& call, const Names& operands);
  // Whether a later call reads the result.
  bool used(const RecordedView& view) const { return reads_.contains(view.buffer); }
  // Whether everything that is read from a buffer lies between its elements `begin` and `end`.
  bool read_within(uint32_t buffer, int64_t begin, int64_t end) const;
  // The call that made x, if it wrote no nodes because the reader of x includes it; otherwise NULL.
  const RecordedCall* joined(const RecordedView& x) const;
  void give(const RecordedCall& call, const std::string& name) { hold(call.results[0], name); }

  // Writes all calls, with inputs of these names. Returns the names of the results.
  Names run(const Names& inputs);
  // The graph that its nodes go into.
  Writer& graph() { return *graph_; }
  // Describes an input or result of the outermost graph.
  static Writer port(const Port& port);
  // The same for an inner graph. If sizes vary, only the rank is given.
  Writer inner_port(const std::string& name, DType dtype, const std::vector<int64_t>& shape) const;

  // Writes the whole model, for that opset.
  std::string model(const std::vector<Port>& inputs, const std::vector<Port>& results,
                    int64_t opset);
  // The parts of the model, to compare with the model for other sizes.
  Sketch sketch(const ByElement& by_element);

 private:
  struct Held {
    std::string name;
    RecordedView view;
  };
  // For this graph and its inner graphs.
  struct Shared;
  void note_reads();
  void join_products();
  Held& held(const RecordedView& wanted);
  std::string piece(const RecordedView& wanted);
  Tensor elements(const RecordedView& wanted) const;
  std::string reshaped(const std::string& name, const std::vector<int64_t>& from,
                       const std::vector<int64_t>& to);
  std::string rows(Held& from);  // the buffer as a vector
  std::string part(Held& from, const RecordedView& wanted);
  std::string stepped(const Held& from, const RecordedView& wanted);
  std::string reversed(const RecordedView& wanted);
  std::string shown(Held& from, const RecordedView& wanted);
  std::string gathered(Held& from, const RecordedView& wanted);
  std::string places(const RecordedView& view);
  void write(const RecordedView& part, const std::string& name);
  std::string initializer(const Tensor& on_host, const std::string& name);
  // Adds nodes that compute a constant from the sizes of a run.
  std::string followed(const Tensor& like, const std::vector<Follows>& elements);
  std::string size(uint32_t index);
  std::string sum_of(const Json& terms);
  std::string product_of(int64_t factor, const std::vector<uint32_t>& of);

  const tn_program* program_;
  const Recorded& from_;
  std::vector<std::optional<Held>> held_;  // by buffer
  std::map<uint32_t, std::string> flat_;
  std::map<uint32_t, std::vector<RecordedView>> reads_;
  std::map<uint32_t, const RecordedCall*> joined_;  // by the buffer of its result
  std::shared_ptr<Shared> shared_;
  Writer* graph_;
};

// Writes a program as a model. `names` of inputs and results: if empty, the program's.
std::string exported(const tn_program* program, const Names& inputs, const Names& results,
                     int64_t opset);

// Writes the nodes for a call. Throws Error(TN_UNIMPLEMENTED) with the op if it has no ONNX counterpart.
void emit(Emitter& out, const RecordedCall& call);
// The ops that have a counterpart.
Names emitted_ops();

}  // namespace tenon::onnx
