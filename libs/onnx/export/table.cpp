#include "export/table.hpp"

namespace tenon::onnx {
namespace {

const std::map<std::string, Emit>& table() {
  static const auto made = [] {
    std::map<std::string, Emit> by_name;
    add_control(by_name);
    add_elementwise(by_name);
    add_formulas(by_name);
    add_layers(by_name);
    add_moves(by_name);
    add_recurrent(by_name);
    add_reductions(by_name);
    return by_name;
  }();
  return made;
}

}  // namespace

void emit(Emitter& out, const RecordedCall& call) {
  const auto found = table().find(call.op);
  if (found == table().end())
    throw Error(TN_UNIMPLEMENTED, "[onnx.export] op " + call.op + " has no counterpart");
  found->second(out, call);
}

Names emitted_ops() {
  Names names;
  for (const auto& [name, fn] : table()) names.push_back(name);
  return names;
}

}  // namespace tenon::onnx
