// An ONNX graph that is being written, and which of its values holds which elements of a program's buffers.
#pragma once

#include <memory>
#include <variant>

#include "export/sizes.hpp"
#include "wire/writer.hpp"

namespace tenon::onnx {

// The last is a graph, as it is written.
using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, Writer>;
using Attributes = std::vector<std::pair<const char*, Attribute>>;
using Names = std::vector<std::string>;

// An input or a result of the model. A size is named where it varies, "" where no name is that of a formula.
struct Port {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::variant<int64_t, std::string>> shape;
};

// What was written for some sizes: constants without a name, in order, with the ops that read them, and the nodes of each call.
struct Sketch {
  std::vector<std::pair<std::string, Tensor>> constants;
  std::vector<std::pair<std::string, std::string>> calls;
};

// The constants that follow sizes, by their number, element by element.
struct Following {
  const Sizes* sizes = nullptr;
  std::map<size_t, std::vector<Follows>> constants = {};
};

class Emitter {
 public:
  Emitter(const tn_program* program, const Recorded& from, const Following* following = nullptr);
  // Of a graph within one: its nodes go into `to`, its constants into the outermost graph, whose values it sees.
  Emitter(Emitter& outer, const Recorded& from, Writer& to);

  // Nodes; the first returns the name of its one result.
  std::string node(const char* op, const Names& inputs, const Attributes& attributes = {});
  Names nodes(const char* op, const Names& inputs, const Attributes& attributes, size_t results);
  // A name that nothing has yet.
  std::string fresh(const std::string& stem);
  // Constants.
  std::string ints(const std::vector<int64_t>& numbers);
  std::string number(double value, DType dtype);
  std::string weight(const Tensor& tensor, std::string name = "");
  // 0, 1, … n - 1 as INT64.
  std::string range(int64_t n);

  // The value of a view; of dimensions that only repeat elements one, with `broadcast`.
  std::string value(const RecordedView& view, bool broadcast = false);
  // An argument: a tensor, or a number as a tensor of a dtype.
  std::string operand(const RecordedCall& call, const std::string& name, DType dtype,
                      bool broadcast = false);
  std::string input(const RecordedCall& call, const std::string& name) {
    return value(call.view(name));
  }
  // "" where it is absent.
  std::string optional(const RecordedCall& call, const std::string& name) {
    return call.has(name) ? input(call, name) : "";
  }
  // From here on `name` holds the elements of a view.
  void hold(const RecordedView& view, const std::string& name);
  // What ops on operands of one element each must be expanded to, where the operands only repeat it.
  std::string expanded(const std::string& name, const RecordedCall& call, const Names& operands);
  // Whether a result is read later.
  bool used(const RecordedView& view) const { return reads_.contains(view.buffer); }
  // Whether all that is read of a buffer lies in its elements from `begin` to `end`.
  bool read_within(uint32_t buffer, int64_t begin, int64_t end) const;
  // The call that makes x, where it writes nothing itself because x's reader does; else NULL.
  const RecordedCall* joined(const RecordedView& x) const;
  void give(const RecordedCall& call, const std::string& name) { hold(call.results[0], name); }

  // Writes all calls, over inputs of these names; the names of the results.
  Names run(const Names& inputs);
  // Where its nodes go.
  Writer& graph() { return *graph_; }
  // What a graph says of an input or a result.
  static Writer port(const Port& port);
  // The same of a graph within one: where sizes vary, only their number is told.
  Writer inner_port(const std::string& name, DType dtype, const std::vector<int64_t>& shape) const;

  // The whole model, of opset `opset`.
  std::string model(const std::vector<Port>& inputs, const std::vector<Port>& results,
                    int64_t opset);
  // What the model consists of, for comparison with that of other sizes.
  Sketch sketch();

 private:
  struct Held {
    std::string name;
    RecordedView view;
  };
  // Of a graph and those within it.
  struct Shared;
  void note_reads();
  void join_products();
  Held& held(const RecordedView& wanted);
  std::string piece(const RecordedView& wanted);
  Tensor elements(const RecordedView& wanted) const;
  std::string reshaped(const std::string& name, const std::vector<int64_t>& from,
                       const std::vector<int64_t>& to);
  std::string rows(Held& from);  // the buffer as one dimension
  std::string part(Held& from, const RecordedView& wanted);
  std::string stepped(const Held& from, const RecordedView& wanted);
  std::string gathered(Held& from, const RecordedView& wanted);
  std::string initializer(const Tensor& on_host, const std::string& name);
  // Nodes that compute a constant from the sizes of a run.
  std::string followed(const Tensor& like, const std::vector<Follows>& elements);
  std::string size(uint32_t index);
  std::string sum_of(const Json& terms);
  std::string product_of(int64_t factor, const std::vector<uint32_t>& of);

  const tn_program* program_;
  const Recorded& from_;
  std::vector<std::optional<Held>> held_;  // by buffer
  std::map<uint32_t, std::string> flat_;
  std::map<uint32_t, std::vector<RecordedView>> reads_;
  std::map<uint32_t, const RecordedCall*> joined_;  // by the buffers of their results
  std::shared_ptr<Shared> shared_;
  Writer* graph_;
};

// The model of a program. Names of inputs and results: "" or none for the program's.
std::string exported(const tn_program* program, const Names& inputs, const Names& results,
                     int64_t opset);

// Writes a call's nodes. Throws Error(TN_UNIMPLEMENTED) naming an op that has no counterpart.
void emit(Emitter& out, const RecordedCall& call);
// The ops that have one.
Names emitted_ops();

}  // namespace tenon::onnx
