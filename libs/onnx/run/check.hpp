// Collects everything that a model needs and Tenon lacks, for a single message.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
  // Checks the types of inputs.
  void type(const ValueProto& value) {
    if (value.type == Type::String) note("tensors of STRING");
    if (value.kind == ValueProto::Other) note("maps, sparse tensors and opaque types");
  }
  // Checks the opsets of ONNX's own domains: newer versions may change meanings.
  void opset(int64_t version) {
    constexpr int64_t kNewest = 28;
    if (version > kNewest)
      note("opset " + std::to_string(version) + " (the newest known is " + std::to_string(kNewest) +
           ")");
  }

  // Names of the values in a graph and the graphs around it. A function sees none of them.
  using Names = std::vector<std::set<std::string_view>>;
  Names begin_function() { return std::exchange(names_, {}); }
  void end_function(Names outer) { names_ = std::move(outer); }
  void begin_graph() { names_.emplace_back(); }
  void end_graph() { names_.pop_back(); }
  void given(std::string_view name) { names_.back().insert(name); }
  // Checks one node: its inputs must exist, its results must not. Throws Error.
  void reads(const NodeProto& node) const {
    for (const std::string_view name : node.inputs)
      if (!name.empty() && !made(name))
        fail(node, "nothing before it makes its input '" + std::string(name) + "'");
  }
  void makes(const NodeProto& node) {
    for (const std::string_view name : node.outputs)
      if (!name.empty() && !names_.back().insert(name).second)
        fail(node, "its result '" + std::string(name) + "' is there already");
  }
  void result(std::string_view name) const {
    if (!made(name))
      throw Error(TN_DATA_LOSS, where_ + ": nothing makes the result '" + std::string(name) + "'");
  }

  // Returns fn(). Notes whatever is unimplemented; throws other errors.
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
  bool made(std::string_view name) const {
    return std::ranges::any_of(names_, [&](const auto& names) { return names.contains(name); });
  }
  [[noreturn]] void fail(const NodeProto& node, const std::string& reason) const {
    const std::string_view name = !node.name.empty()     ? node.name
                                  : node.outputs.empty() ? std::string_view()
                                                         : node.outputs[0];
    throw Error(TN_DATA_LOSS, where_ + ": node '" + std::string(name) + "' (" +
                                  std::string(node.op) + "): " + reason);
  }

  struct Missing {
    uint64_t count = 0;
    std::string_view first;
  };
  std::string where_;
  Names names_;
  std::map<std::string, Missing> missing_;
};

}  // namespace tenon::onnx
