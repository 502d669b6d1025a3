#include "export/recorded.hpp"

namespace tenon::onnx {
namespace {

RecordedView view_of(const Json& json) {
  return {json.at("%").get<uint32_t>(),
          find_dtype(json.at("dtype").get<std::string>()),
          json.at("offset").get<int64_t>(),
          json.at("shape").get<std::vector<int64_t>>(),
          json.at("strides").get<std::vector<int64_t>>(),
          json.value("varies", false)};
}

// Parameter names of a schema: "op(Tensor x, int[] dims=[1, 2], …) -> …".
std::vector<std::string> names_of(const std::string& schema) {
  std::vector<std::string> names;
  std::string word;
  int depth = 0;
  const auto end_of_parameter = [&] {
    const std::string head = word.substr(0, word.find('='));
    if (!head.empty()) names.push_back(head.substr(head.rfind(' ') + 1));
    word.clear();
  };
  for (size_t i = schema.find('(') + 1; i < schema.size(); ++i) {
    const char c = schema[i];
    if (depth == 0 && (c == ',' || c == ')')) {
      end_of_parameter();
      if (c == ')') break;
    } else {
      depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      word += c;
    }
  }
  return names;
}

// Numbers are stored as their bits.
template <class T>
T from_hex(const std::string& digits) {
  T value{};
  auto* const bytes = reinterpret_cast<unsigned char*>(&value);
  for (size_t i = 0; i < sizeof value && 2 * i + 1 < digits.size(); ++i)
    bytes[i] = static_cast<unsigned char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return value;
}

}  // namespace

int64_t RecordedView::numel() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}
bool RecordedView::contiguous() const {
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d])
    if (shape[d] != 1 && strides[d] != step) return false;
  return true;
}

RecordedView RecordedCall::view(const std::string& name) const { return view_of(args.at(name)); }

std::vector<std::optional<RecordedView>> RecordedCall::views(const std::string& name) const {
  std::vector<std::optional<RecordedView>> made;
  for (const Json& one : args.at(name))
    made.push_back(one.is_null() ? std::nullopt : std::optional(view_of(one)));
  return made;
}

double RecordedCall::number(const std::string& name) const {
  const Json& json = args.at(name);
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (json.is_number()) return json.get<double>();
  if (json.contains("float")) return from_hex<double>(json["float"].get<std::string>());
  return visit(find_dtype(json.at("of").get<std::string>()), [&]<class T>(T) -> double {
    const T value = from_hex<T>(json.at("number").get<std::string>());
    if constexpr (std::is_convertible_v<T, double>)
      return static_cast<double>(value);
    else
      throw Error(TN_UNIMPLEMENTED, "[onnx.export] complex numbers");
  });
}

DType RecordedCall::dtype(const std::string& name) const {
  return find_dtype(args.at(name).at("dtype").get<std::string>());
}

namespace {

RecordedBuffer buffer_of(const Json& json) {
  const auto role = json.at("role").get<std::string>();
  if (role == "state")
    throw Error(TN_UNIMPLEMENTED,
                "[onnx.export] the program writes into state (" +
                    json.value("name", std::string()) +
                    "), as training steps do, which no model can: export the network alone");
  if (json.value("written", false))
    throw Error(TN_UNIMPLEMENTED, "[onnx.export] the program writes into input " +
                                      json.value("name", std::string()) +
                                      ", which no model can: return what it becomes");
  return {role == "input"    ? RecordedBuffer::Input
          : role == "weight" ? RecordedBuffer::Weight
                             : RecordedBuffer::Temporary,
          find_dtype(json.at("dtype").get<std::string>()), json.at("size").get<int64_t>(),
          json.value("name", std::string()), json.value("tensor", std::string())};
}

Recorded graph_of(const Json& json);

RecordedCall call_of(const Json& json) {
  RecordedCall call;
  for (const Json& result : json.at("results")) call.results.push_back(view_of(result));
  if (json.contains("control")) {
    call.op = json.at("control").get<std::string>();
    call.carried = json.at("carried").get<size_t>();
    call.scanned = json.at("scanned").get<size_t>();
    for (const Json& operand : json.at("args")) call.operands.push_back(view_of(operand));
    for (const Json& body : json.at("bodies")) call.bodies.push_back(graph_of(body));
    if (json.contains("refused"))
      throw Error(TN_UNIMPLEMENTED,
                  "[onnx.export] a branch that cannot be computed: " + json["refused"].dump());
    return call;
  }
  call.op = json.at("op").get<std::string>();
  const std::vector<std::string> names = names_of(json.at("schema").get<std::string>());
  for (size_t i = 0; i < names.size(); ++i) call.args[names[i]] = json.at("args").at(i);
  return call;
}

Recorded graph_of(const Json& json) {
  Recorded made;
  for (const Json& one : json.at("buffers")) made.buffers.push_back(buffer_of(one));
  for (const Json& one : json.at("inputs")) made.inputs.push_back(view_of(one));
  for (const Json& one : json.at("results")) made.results.push_back(view_of(one));
  for (const Json& one : json.at("nodes")) made.calls.push_back(call_of(one));
  return made;
}

}  // namespace

Json described(const tn_program* program) {
  std::string text;
  detail::check(tn_program_describe(program, &detail::append_text, &text));
  return Json::parse(text);
}

Recorded recorded(const Json& description) { return graph_of(description); }

}  // namespace tenon::onnx
