// An ONNX graph that is being written, and which of its values holds which elements of a program's buffers.
#pragma once

#include <set>
#include <variant>

#include "export/recorded.hpp"
#include "wire/writer.hpp"

namespace tenon::onnx {

using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>>;
using Attributes = std::vector<std::pair<const char*, Attribute>>;
using Names = std::vector<std::string>;

class Emitter {
 public:
  Emitter(const tn_program* program, const Recorded& from);

  // Nodes; the first returns the name of its one result.
  std::string node(const char* op, const Names& inputs, const Attributes& attributes = {});
  Names nodes(const char* op, const Names& inputs, const Attributes& attributes, size_t results);
  // Constants.
  std::string ints(const std::vector<int64_t>& numbers);
  std::string number(double value, DType dtype);
  std::string weight(const Tensor& tensor, std::string name = "");

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

  // The whole model, of opset `opset`.
  std::string model(int64_t opset);

 private:
  struct Held {
    std::string name;
    RecordedView view;
  };
  std::string fresh(const std::string& stem);
  void join_products();
  Held& held(const RecordedView& wanted);
  std::string piece(const RecordedView& wanted);
  Tensor elements(const RecordedView& wanted) const;
  std::string reshaped(const std::string& name, const std::vector<int64_t>& from,
                       const std::vector<int64_t>& to);
  std::string rows(Held& from);  // the buffer as one dimension
  std::string part(Held& from, const RecordedView& wanted);
  std::string gathered(Held& from, const RecordedView& wanted);
  static Writer port(const std::string& name, DType dtype, const std::vector<int64_t>& shape);

  const tn_program* program_;
  const Recorded& from_;
  std::vector<std::optional<Held>> held_;  // by buffer
  // Views of a weight that are constants of their own, and how many elements they have together.
  struct Pieces {
    std::vector<Held> list;
    int64_t size = 0;
  };
  std::map<uint32_t, Pieces> pieces_;
  std::map<uint32_t, std::string> flat_;
  std::set<std::string> names_;
  std::map<uint32_t, std::vector<RecordedView>> reads_;
  std::map<uint32_t, const RecordedCall*> joined_;  // by the buffers of their results
  std::map<std::string, std::string> constants_;
  Writer graph_;
};

// Writes a call's nodes. Throws Error(TN_UNIMPLEMENTED) naming an op that has no counterpart.
void emit(Emitter& out, const RecordedCall& call);
// Whether there is a counterpart, and the ops that have one.
bool can_emit(const std::string& op);
Names emitted_ops();

}  // namespace tenon::onnx
