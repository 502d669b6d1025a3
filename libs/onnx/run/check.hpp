// Collects what a model needs and Tenon lacks, for one message that tells all.
#pragma once

#include <map>

#include "model/files.hpp"

namespace tenon::onnx {

class Check {
 public:
  explicit Check(std::string where) : where_(std::move(where)) {}

  void note(const std::string& what) { ++missing_[what].count; }
  void node(const NodeProto& node, const std::string& why) {
    const std::string domain = node.domain.empty() ? "" : std::string(node.domain) + "::";
    Missing& missing = missing_[domain + std::string(node.op) + " (" + why + ")"];
    if (missing.count++ == 0)
      missing.first = node.name.empty() ? node.outputs.empty() ? "" : node.outputs[0] : node.name;
  }
  // The types of inputs.
  void type(const ValueProto& value) {
    if (value.type == Type::String) note("tensors of STRING");
    if (value.kind == ValueProto::Other) note("maps, sparse tensors and opaque types");
  }
  // What fn returns; what is unimplemented is noted, other errors are thrown.
  template <class Fn>
  Tensor guarded(Fn&& fn) {
    try {
      return fn();
    } catch (const Error& error) {
      if (error.code() != TN_UNIMPLEMENTED) throw;
      note(error.what());
      return {};
    }
  }
  void finish() const {
    if (missing_.empty()) return;
    std::string text = where_ + " needs what Tenon does not have: ";
    std::string separator;
    for (const auto& [what, missing] : missing_) {
      text += separator + what;
      if (missing.count > 1) text += ", " + std::to_string(missing.count) + " times";
      if (!missing.first.empty()) text += ", first '" + std::string(missing.first) + "'";
      separator = "; ";
    }
    throw Error(TN_UNIMPLEMENTED, text);
  }

 private:
  struct Missing {
    uint64_t count = 0;
    std::string_view first;
  };
  std::string where_;
  std::map<std::string, Missing> missing_;
};

}  // namespace tenon::onnx
