// The contents of an ONNX file (onnx.proto, IR version 13), as far as Tenon reads them. Strings and bytes point into the file, which
// `Model` keeps mapped.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "wire/reader.hpp"

namespace tenon::onnx {

struct GraphProto;

// TensorProto.DataType.
enum class Type : int64_t {
  Undefined,
  F32,
  U8,
  I8,
  U16,
  I16,
  I32,
  I64,
  String,
  Bool,
  F16,
  F64,
  U32,
  U64,
  C64,
  C128,
  BF16,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  U4,
  I4,
  F4E2M1,
  F8E8M0,
  U2,
  I2,
};

struct TensorProto {
  std::string_view name;
  Type type = Type::Undefined;
  std::vector<int64_t> dims;
  Bytes raw;
  bool has_raw = false;
  std::vector<float> floats;
  std::vector<int64_t> integers;  // from int32_data, int64_data and uint64_data
  std::vector<double> doubles;
  size_t strings = 0;
  bool external = false;
  std::string_view location;
  std::string_view offset, length;  // as decimal digits
};

struct AttributeProto {
  std::string_view name,
      reference;  // `reference`: the function's attribute that provides the value
  int64_t type = 0;
  int64_t i = 0;
  float f = 0;
  std::string_view s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> strings;
  std::unique_ptr<TensorProto> tensor;
  std::shared_ptr<GraphProto> graph;
  bool other =
      false;  // a kind that Tenon does not read: lists of tensors or graphs, sparse tensors
};

struct NodeProto {
  std::string_view op, domain, overload, name;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> attributes;
  const unsigned char* at = nullptr;  // into the file

  const AttributeProto* find(std::string_view name) const {
    for (const AttributeProto& attribute : attributes)
      if (attribute.name == name) return &attribute;
    return nullptr;
  }
};

struct Dimension {
  int64_t size = -1;  // -1: not fixed
  std::string_view symbol;
};

// A graph's input or result.
struct ValueProto {
  enum Kind : uint8_t { Unknown, Tensor, Sequence, Optional, Other };
  std::string_view name;
  Kind kind = Unknown;
  Type type = Type::Undefined;  // of the tensor, or of those in a sequence
  bool ranked = false;
  std::vector<Dimension> shape;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueProto> inputs, outputs;
  bool sparse = false;
};

using Opsets = std::map<std::string_view, int64_t>;  // version by domain; "ai.onnx" is ""

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<NodeProto> nodes;
  std::vector<AttributeProto> defaults;
  Opsets opsets;
};

struct ModelProto {
  int64_t ir_version = 0;
  Opsets opsets;
  std::string_view producer, producer_version;
  GraphProto graph;
  std::vector<FunctionProto> functions;
};

// Throws Error(TN_DATA_LOSS) with the place.
ModelProto read_model(Origin& origin);
// Parses a file that is a single TensorProto, as in onnx's tests.
TensorProto read_tensor(Origin& origin);

}  // namespace tenon::onnx
