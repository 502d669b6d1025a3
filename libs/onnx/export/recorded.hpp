// A program, read from its description, for export.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tenon/graph.h"
#include "tenon/tensor.hpp"

namespace tenon::onnx {

using Json = nlohmann::json;

struct RecordedView {
  uint32_t buffer = 0;
  DType dtype = DType::F32;
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
  bool varies = false;  // depends on sizes that runs choose

  int64_t numel() const;
  bool contiguous() const;
  bool operator==(const RecordedView&) const = default;
};

struct RecordedBuffer {
  enum Role : uint8_t { Temporary, Input, Weight } role = Temporary;
  DType dtype = DType::F32;
  int64_t size = 0;
  std::string name;    // of an input
  std::string tensor;  // of a weight
};

struct Recorded;

// A call with its arguments by name; or control flow ("cond", "loop", "scan") with operands and bodies.
struct RecordedCall {
  std::string op;
  std::map<std::string, Json> args;
  std::vector<RecordedView> results;
  std::vector<RecordedView> operands;  // carried, scanned, captured
  size_t carried = 0, scanned = 0;
  std::vector<Recorded> bodies;

  bool has(const std::string& name) const {
    return args.contains(name) && !args.at(name).is_null();
  }
  bool is_view(const std::string& name) const {
    return has(name) && args.at(name).is_object() && args.at(name).contains("%");
  }
  RecordedView view(const std::string& name) const;
  std::vector<std::optional<RecordedView>> views(const std::string& name) const;
  int64_t integer(const std::string& name) const { return args.at(name).get<int64_t>(); }
  bool flag(const std::string& name) const { return args.at(name).get<bool>(); }
  std::string text(const std::string& name) const { return args.at(name).get<std::string>(); }
  std::vector<int64_t> ints(const std::string& name) const {
    return args.at(name).at("ints").get<std::vector<int64_t>>();
  }
  double number(const std::string& name) const;  // a float, an integer or a host number
  DType dtype(const std::string& name) const;
};

struct Recorded {
  std::vector<RecordedBuffer> buffers;
  std::vector<RecordedView> inputs, results;
  std::vector<RecordedCall> calls;
};

// A program's description, which also says for which sizes it is.
Json described(const tn_program* program);
// Reads a description without varying sizes.
Recorded recorded(const Json& description);

}  // namespace tenon::onnx
