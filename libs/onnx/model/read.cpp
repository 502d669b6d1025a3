// Field numbers are those of onnx.proto.
#include "model/model.hpp"

namespace tenon::onnx {
namespace {

void read(Message message, GraphProto& graph);
void read(Message message, FunctionProto& function);

// "ai.onnx" is another name of the default domain.
std::string_view plain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

void read_external(Message message, TensorProto& tensor) {
  std::string_view key, value;
  while (message.next()) {
    if (message.field() == 1) key = message.text();
    if (message.field() == 2) value = message.text();
  }
  if (key == "location") tensor.location = value;
  if (key == "offset") tensor.offset = value;
  if (key == "length") tensor.length = value;
}

void read(Message message, TensorProto& tensor) {
  while (message.next()) switch (message.field()) {
      case 1:
        message.append(tensor.dims);
        break;
      case 2:
        tensor.type = static_cast<Type>(message.integer());
        break;
      case 3:
        message.fail("a tensor in segments, which no version of ONNX defines");
      case 4:
        message.append(tensor.floats);
        break;
      case 5:
      case 7:
      case 11:
        message.append(tensor.integers);
        break;
      case 6:
        message.bytes();
        ++tensor.strings;
        break;
      case 8:
        tensor.name = message.text();
        break;
      case 9:
        tensor.raw = message.bytes();
        tensor.has_raw = true;
        break;
      case 10:
        message.append(tensor.doubles);
        break;
      case 13:
        read_external(message.message(), tensor);
        break;
      case 14:
        tensor.external = message.integer() == 1;
        break;
      default:
        break;
    }
}

void read(Message message, AttributeProto& attribute) {
  while (message.next()) switch (message.field()) {
      case 1:
        attribute.name = message.text();
        break;
      case 2:
        attribute.f = message.single();
        break;
      case 3:
        attribute.i = message.integer();
        break;
      case 4:
        attribute.s = message.text();
        break;
      case 5:
        message.take(sizeof(TensorProto));
        attribute.tensor = std::make_unique<TensorProto>();
        read(message.message(), *attribute.tensor);
        break;
      case 6:
        message.take(sizeof(GraphProto));
        attribute.graph = std::make_shared<GraphProto>();
        read(message.message(), *attribute.graph);
        break;
      case 7:
        message.append(attribute.floats);
        break;
      case 8:
        message.append(attribute.ints);
        break;
      case 9:
        message.add(attribute.strings) = message.text();
        break;
      case 10:
      case 11:
      case 22:
      case 23:
        attribute.other = true;
        break;
      case 20:
        attribute.type = message.integer();
        break;
      case 21:
        attribute.reference = message.text();
        break;
      default:
        break;
    }
}

void read(Message message, NodeProto& node) {
  while (message.next()) switch (message.field()) {
      case 1:
        message.add(node.inputs) = message.text();
        break;
      case 2:
        message.add(node.outputs) = message.text();
        break;
      case 3:
        node.name = message.text();
        break;
      case 4:
        node.op = message.text();
        node.at = reinterpret_cast<const unsigned char*>(node.op.data());
        break;
      case 5: {
        AttributeProto& attribute = message.add(node.attributes);
        read(message.message(), attribute);
        break;
      }
      case 7:
        node.domain = plain(message.text());
        break;
      case 8:
        node.overload = message.text();
        break;
      default:
        break;
    }
  if (node.op.empty()) message.fail("a node without an op");
}

void read_shape(Message message, ValueProto& value) {
  value.ranked = true;
  while (message.next()) {
    if (message.field() != 1) continue;
    Dimension& dimension = message.add(value.shape);
    Message one = message.message();
    while (one.next()) {
      if (one.field() == 1) dimension.size = one.integer();
      if (one.field() == 2) dimension.symbol = one.text();
    }
  }
}

void read_tensor_type(Message message, ValueProto& value) {
  while (message.next()) {
    if (message.field() == 1) value.type = static_cast<Type>(message.integer());
    if (message.field() == 2) read_shape(message.message(), value);
  }
}

// Reads a TypeProto; for sequences and optionals the type of the innermost tensor.
void read_type(Message message, ValueProto& value, bool inner) {
  const auto note = [&](ValueProto::Kind kind) {
    if (!inner) value.kind = kind;
  };
  while (message.next()) switch (message.field()) {
      case 1:
        note(ValueProto::Tensor);
        read_tensor_type(message.message(), value);
        break;
      case 4:
      case 9: {
        note(message.field() == 4 ? ValueProto::Sequence : ValueProto::Optional);
        Message element = message.message();
        while (element.next())
          if (element.field() == 1) read_type(element.message(), value, true);
        break;
      }
      case 5:
      case 7:
      case 8:
        note(ValueProto::Other);
        break;
      default:
        break;
    }
}

void read(Message message, ValueProto& value) {
  while (message.next()) {
    if (message.field() == 1) value.name = message.text();
    if (message.field() == 2) read_type(message.message(), value, false);
  }
}

template <class T>
void read_one(Message& message, std::vector<T>& list) {
  T& made = message.add(list);
  read(message.message(), made);
}

void read(Message message, GraphProto& graph) {
  while (message.next()) switch (message.field()) {
      case 1:
        read_one(message, graph.nodes);
        break;
      case 2:
        graph.name = message.text();
        break;
      case 5:
        read_one(message, graph.initializers);
        break;
      case 11:
        read_one(message, graph.inputs);
        break;
      case 12:
        read_one(message, graph.outputs);
        break;
      case 15:
        graph.sparse = true;
        break;
      default:
        break;
    }
}

void read_opset(Message message, Opsets& opsets) {
  std::string_view domain;
  int64_t version = 0;
  while (message.next()) {
    if (message.field() == 1) domain = plain(message.text());
    if (message.field() == 2) version = message.integer();
  }
  message.take(sizeof(Opsets::value_type) + 40);
  opsets[domain] = version;
}

void read(Message message, FunctionProto& function) {
  while (message.next()) switch (message.field()) {
      case 1:
        function.name = message.text();
        break;
      case 4:
        message.add(function.inputs) = message.text();
        break;
      case 5:
        message.add(function.outputs) = message.text();
        break;
      case 7:
        read_one(message, function.nodes);
        break;
      case 9:
        read_opset(message.message(), function.opsets);
        break;
      case 10:
        function.domain = plain(message.text());
        break;
      case 11:
        read_one(message, function.defaults);
        break;
      case 13:
        function.overload = message.text();
        break;
      default:
        break;
    }
}

}  // namespace

ModelProto read_model(Origin& origin) {
  ModelProto model;
  bool has_graph = false;
  Message message(origin, origin.file());
  while (message.next()) switch (message.field()) {
      case 1:
        model.ir_version = message.integer();
        break;
      case 2:
        model.producer = message.text();
        break;
      case 3:
        model.producer_version = message.text();
        break;
      case 7:
        has_graph = true;
        read(message.message(), model.graph);
        break;
      case 8:
        read_opset(message.message(), model.opsets);
        break;
      case 25:
        read_one(message, model.functions);
        break;
      default:
        break;
    }
  if (!has_graph) message.fail("no graph: it is not an ONNX model, or it is incomplete");
  if (model.opsets.empty()) message.fail("the model names no opset");
  return model;
}

TensorProto read_tensor(Origin& origin) {
  TensorProto tensor;
  read(Message(origin, origin.file()), tensor);
  return tensor;
}

}  // namespace tenon::onnx
