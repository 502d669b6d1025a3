#include "file/json.hpp"

#include <nlohmann/json.hpp>

#include "ir/control.hpp"
#include "ir/schema.hpp"
#include "tenon/value.h"

namespace tenon::graph {
namespace {

using Json = nlohmann::json;
constexpr int kPlain = 1;   // the version for graphs of fixed sizes
constexpr int kLatest = 2;  // with dims
constexpr int64_t kMostElements = int64_t{1} << 48;

// Varying::Form, indexed by its values.
constexpr std::array<std::string_view, 6> kForms = {"n",         "1/n",     "sqrt(n)",
                                                    "1/sqrt(n)", "n/(n-1)", "log(n)"};
// Varying::Scale, likewise, and after that with something added, which readers from before this existed refuse.
constexpr std::array<std::string_view, 8> kScales = {"",     "times",      "by",      "over",
                                                     "plus", "times plus", "by plus", "over plus"};
constexpr size_t kPlus = 4;

// ---- Writing ----------------------------------------------------------------------------------------------------------

Json written(const View& view) {
  return {{"%", view.buffer},
          {"dtype", name_of(view.dtype)},
          {"offset", view.offset},
          {"shape", view.shape},
          {"strides", view.strides}};
}

// Numbers as their bits, so that they are read exactly as they were written.
std::string hex(const unsigned char* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}
std::string hex(double value) { return hex(reinterpret_cast<const unsigned char*>(&value), 8); }

struct Write {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(bool value) const { return value; }
  Json operator()(int64_t value) const { return value; }
  Json operator()(double value) const { return {{"float", hex(value)}}; }
  Json operator()(const std::complex<double>& value) const {
    return {{"complex", {hex(value.real()), hex(value.imag())}}};
  }
  Json operator()(const std::string& value) const { return value; }
  Json operator()(const std::vector<int64_t>& value) const { return {{"ints", value}}; }
  Json operator()(const std::vector<double>& value) const {
    Json list = Json::array();
    for (const double number : value) list.push_back(hex(number));
    return {{"floats", list}};
  }
  Json operator()(DType value) const { return {{"dtype", name_of(value)}}; }
  Json operator()(Here) const { return {{"device", "here"}}; }
  Json operator()(Draw) const { return {{"generator", "default"}}; }
  Json operator()(const Symbolic& value) const {
    using Kind = Symbolic::Kind;
    return {{"symbol", value.symbol},
            {"as", value.kind == Kind::Int     ? "int"
                   : value.kind == Kind::Float ? "float"
                                               : name_of(value.dtype)}};
  }
  Json operator()(const Number& value) const {
    return {{"number", hex(value.bytes.data(), size_of(value.dtype))},
            {"of", name_of(value.dtype)}};
  }
  Json operator()(const View& value) const { return written(value); }
  Json operator()(const Views& value) const {
    Json list = Json::array();
    for (const auto& view : value) list.push_back(view ? written(*view) : Json());
    return list;
  }
};

Json written(const Sizes& sizes) {
  Json dims = Json::array(), formulas = Json::array(), varying = Json::array();
  for (const Dim& dim : sizes.dims)
    dims.push_back(
        {{"name", dim.name}, {"min", dim.min}, {"max", dim.max}, {"multiple", dim.multiple}});
  for (const Size& size : sizes.sizes) {
    Json terms = Json::array();
    for (const Size::Term& term : size.terms) terms.push_back(Json::array({term.factor, term.of}));
    formulas.push_back({{"is", size.kind == Size::Kind::Quotient   ? "floor"
                               : size.kind == Size::Kind::Least    ? "min"
                               : size.kind == Size::Kind::Greatest ? "max"
                                                                   : "sum"},
                        {"by", size.by},
                        {"terms", terms}});
  }
  for (const Varying& one : sizes.varying) {
    varying.push_back(Json::array({one.place, one.size, kForms[static_cast<size_t>(one.form)]}));
    const auto scale = static_cast<size_t>(one.scale) + (one.plus != 0 ? kPlus : 0);
    if (scale == 0) continue;
    varying.back().push_back(kScales[scale]);
    varying.back().push_back(hex(one.factor));
    if (scale >= kPlus) varying.back().push_back(hex(one.plus));
  }
  return {{"dims", dims}, {"inputs", sizes.inputs}, {"formulas", formulas}, {"varying", varying}};
}

// ---- Reading ----------------------------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(const std::map<std::string, Tensor>& weights, const std::string& where, int depth = 0)
      : weights_(weights), where_(where), depth_(depth) {}

  Graph graph(const Json& json) {
    const auto version = json.value("version", 0);
    if (version < kPlain || version > kLatest)
      fail("it is of version " + std::to_string(version) + "; this library reads versions up to " +
           std::to_string(kLatest));
    if (json.contains("symbols"))
      for (const Json& one : json["symbols"]) graph_.symbols.push_back(symbol(one));
    read(json);
    if (json.contains("sizes")) sizes(json["sizes"]);
    return std::move(graph_);
  }

 private:
  void read(const Json& json) {
    for (const Json& one : json.at("buffers")) graph_.buffers.push_back(buffer(one));
    for (const Json& one : json.at("inputs")) graph_.inputs.push_back(input(one));
    for (const Json& one : json.at("nodes")) graph_.nodes.push_back(node(one));
    for (const Json& one : json.at("results")) graph_.results.push_back(view(one));
    check_roles();
  }

 public:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(TN_DATA_LOSS, where_ + ": " + what);
  }

 private:
  Buffer buffer(const Json& json) {
    Buffer made;
    made.dtype = dtype(json.at("dtype"));
    made.size = json.at("size").get<int64_t>();
    made.name = json.value("name", std::string());
    if (made.size < 0 || made.size > kMostElements)
      fail("a buffer of " + std::to_string(made.size) + " elements");
    const std::string role = json.at("role").get<std::string>();
    if (role == "input") {
      made.role = Role::Input;
      may_write_.push_back(json.value("written", false));
    } else if (role == "weight" || role == "state") {
      const auto found = weights_.find(json.at("tensor").get<std::string>());
      if (found == weights_.end() || found->second.dtype() != made.dtype ||
          found->second.numel() != made.size)
        fail("weight " + json.at("tensor").dump() + " is missing, or not what the graph says");
      made.role = role == "state" ? Role::State : Role::Constant;
      made.constant = found->second;
    } else if (role != "temporary") {
      fail("a buffer's role is " + role);
    }
    if (role != "input") may_write_.push_back(role != "weight");
    return made;
  }

  void sizes(const Json& json) {
    Sizes& made = graph_.sizes;
    for (const Json& one : json.at("dims")) made.dims.push_back(dim(one));
    if (made.dims.empty()) fail("sizes without dims");
    made.inputs = json.at("inputs").get<std::vector<std::vector<int32_t>>>();
    if (made.inputs.size() != graph_.inputs.size()) fail("sizes of other inputs");
    std::vector<bool> given(made.dims.size());
    for (size_t i = 0; i < made.inputs.size(); ++i) {
      if (made.inputs[i].size() != graph_.inputs[i].shape.size()) fail("sizes of other inputs");
      for (const int32_t one : made.inputs[i]) {
        if (one >= static_cast<int64_t>(made.dims.size())) fail("there is no such dim");
        if (one >= 0) given[static_cast<size_t>(one)] = true;
      }
    }
    if (std::ranges::find(given, false) != given.end()) fail("a dim is of no input");
    for (const Json& one : json.at("formulas")) made.sizes.push_back(formula(one));
    for (const Json& one : json.at("varying")) made.varying.push_back(varying(one));
  }

  Dim dim(const Json& json) const {
    Dim made{json.at("name").get<std::string>(), json.at("min").get<int64_t>(),
             json.at("max").get<int64_t>(), json.value("multiple", int64_t{1})};
    if (made.min < 0 || made.max < made.min || made.max > Dim{}.max) fail("the range of a dim");
    if (made.multiple < 1) fail("the multiple of a dim");
    return made;
  }

  Size formula(const Json& json) const {
    Size made;
    const auto kind = json.at("is").get<std::string>();
    made.kind = kind == "floor" ? Size::Kind::Quotient
                : kind == "min" ? Size::Kind::Least
                : kind == "max" ? Size::Kind::Greatest
                                : Size::Kind::Sum;
    made.by = json.at("by").get<int64_t>();
    if (made.kind == Size::Kind::Quotient && made.by < 1) fail("a size that is divided by 0");
    for (const Json& one : json.at("terms")) {
      Size::Term& term = made.terms.emplace_back();
      term.factor = one.at(0).get<int64_t>();
      term.of = one.at(1).get<std::vector<uint32_t>>();
      for (const uint32_t factor : term.of)  // a formula may use only earlier ones
        if (factor >= graph_.sizes.dims.size() + graph_.sizes.sizes.size())
          fail("a size that uses a later one");
    }
    return made;
  }

  Varying varying(const Json& json) const {
    Varying made{json.at(0).get<uint32_t>(), json.at(1).get<uint32_t>(), Varying::Form::Plain};
    const auto form = json.at(2).get<std::string>();
    size_t at = 0;
    while (at < kForms.size() && form != kForms[at]) ++at;
    if (at == kForms.size() || made.size >= graph_.sizes.sizes.size() ||
        (!graph_.sizes.varying.empty() && graph_.sizes.varying.back().place >= made.place))
      fail("a number that depends on no size");
    made.form = static_cast<Varying::Form>(at);
    if (json.size() == 3) return made;
    const auto scale = std::ranges::find(kScales, json.at(3).get<std::string>());
    if (scale == kScales.end()) fail("a number that is scaled in an unknown way");
    const auto which = static_cast<size_t>(scale - kScales.begin());
    made.scale = static_cast<Varying::Scale>(which % kPlus);
    made.factor = real(json.at(4));
    if (which >= kPlus) made.plus = real(json.at(5));
    return made;
  }

  Symbol symbol(const Json& json) const {
    return {json.at("name").get<std::string>(), real(json.at("value")),
            json.at("counts").get<bool>()};
  }

  Symbolic symbolic(const Json& json) const {
    Symbolic made;
    made.symbol = json.at("symbol").get<uint32_t>();
    if (made.symbol >= graph_.symbols.size())
      fail("there is no number $" + std::to_string(made.symbol));
    const auto as = json.at("as").get<std::string>();
    made.kind = as == "int"     ? Symbolic::Kind::Int
                : as == "float" ? Symbolic::Kind::Float
                                : Symbolic::Kind::Number;
    if (made.kind == Symbolic::Kind::Number) made.dtype = dtype(json["as"]);
    if (!number_of(made.dtype, 0)) fail("a number that varies as " + as);
    return made;
  }

  View view(const Json& json) {
    View made;
    made.buffer = json.at("%").get<uint32_t>();
    if (made.buffer >= graph_.buffers.size())
      fail("there is no buffer %" + std::to_string(made.buffer));
    made.dtype = dtype(json.at("dtype"));
    made.offset = json.at("offset").get<int64_t>();
    made.shape = Dims(json.at("shape").get<std::vector<int64_t>>());
    made.strides = Dims(json.at("strides").get<std::vector<int64_t>>());
    if (made.shape.size() != made.strides.size() || made.shape.size() > TN_MAX_DIMS)
      fail("a view of " + std::to_string(made.shape.size()) + " dimensions and " +
           std::to_string(made.strides.size()) + " strides");
    if (reaches_beyond(made, graph_.buffers[made.buffer]))
      fail("a view reaches beyond buffer %" + std::to_string(made.buffer) +
           ", or has another dtype");
    return made;
  }

  View input(const Json& json) {
    View made = view(json);
    if (graph_.buffers[made.buffer].role != Role::Input || !graph_.shows_all(made))
      fail("input %" + std::to_string(made.buffer) + " is not a whole buffer of that role");
    return made;
  }

  // A body of control flow: a graph without its own numbers, sizes or state.
  Graph body(const Json& json) const {
    constexpr int kDeepest = 16;
    if (depth_ == kDeepest) fail("control flow is nested too deep");
    Reader reader(weights_, where_, depth_ + 1);
    reader.read(json);
    if (reader.graph_.writes_outside())
      fail("a body of control flow that writes to what is outside");
    return std::move(reader.graph_);
  }

  Node control(const Json& json) {
    using Kind = Control::Kind;
    Node made;
    made.control = std::make_shared<Control>();
    Control& control = *made.control;
    const auto name = json.at("control").get<std::string>();
    control.kind = name == "cond" ? Kind::If : name == "loop" ? Kind::Loop : Kind::Scan;
    if (name != name_of(control.kind)) fail("control flow that is " + name);
    control.carried = json.at("carried").get<uint32_t>();
    control.scanned = json.at("scanned").get<uint32_t>();
    for (const Json& one : json.at("args")) made.args.emplace_back(view(one));
    for (const Json& one : json.at("results")) made.results.push_back(view(one));
    for (const Json& one : json.at("bodies")) control.bodies.push_back(body(one));
    if (json.contains("refused")) control.refused = json["refused"].get<std::vector<std::string>>();
    check_control(made);
    return made;
  }

  // Checks the counts of operands, results and bodies; shapes and dtypes are checked by a run.
  void check_control(const Node& node) const {
    using Kind = Control::Kind;
    const Control& of = *node.control;
    const bool cond = of.kind == Kind::If, scan = of.kind == Kind::Scan;
    bool fits = of.bodies.size() == (scan ? 1 : 2) && (scan == (of.scanned > 0)) &&
                (of.refused.empty() || (cond && of.refused.size() == 2)) &&
                (!cond || of.carried == 0) &&
                node.args.size() >= uint64_t{of.carried} + of.scanned + (cond ? 1 : 0);
    for (size_t i = 0; i < of.bodies.size() && fits; ++i) {
      const bool condition = of.kind == Kind::Loop && i == 0;
      fits = of.bodies[i].inputs.size() + (cond ? 1 : 0) == node.args.size() &&
             (is_refused(of, i) ||
              of.bodies[i].results.size() == (condition ? 1 : node.results.size()));
    }
    fits = fits && node.results.size() >= of.carried &&
           (of.kind != Kind::Loop || node.results.size() == of.carried);
    for (uint32_t i = 0; i < of.scanned && fits; ++i) {
      const View &one = std::get<View>(node.args[of.carried + i]),
                 &first = std::get<View>(node.args[of.carried]);
      fits = !one.shape.empty() && one.shape[0] == first.shape[0];
    }
    for (size_t k = of.carried; scan && fits && k < node.results.size(); ++k)
      fits = !node.results[k].shape.empty();
    if (!fits) fail(std::string("a ") + name_of(of.kind) + " whose bodies do not fit");
  }

  Node node(const Json& json) {
    if (json.contains("control")) return control(json);
    Node made;
    const std::string name = json.at("op").get<std::string>();
    detail::check(tn_op_require(detail::to_str(name), &made.op));
    const tn_str schema = tn_op_schema(made.op);
    if (json.at("schema").get<std::string>() != detail::to_view(schema))
      fail("op " + name + " is another here: " + std::string(detail::to_view(schema)));
    for (const Json& one : json.at("args")) made.args.push_back(argument(one));
    for (const Json& one : json.at("results")) made.results.push_back(view(one));
    if (made.args.size() != parameters(*made.op).size())
      fail("op " + name + " has " + std::to_string(made.args.size()) + " arguments");
    return made;
  }

  Argument argument(const Json& json) {
    if (json.is_null()) return std::monostate();
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_integer()) return json.get<int64_t>();
    if (json.is_string()) return json.get<std::string>();
    if (json.is_array()) {
      Views views;
      for (const Json& one : json)
        views.push_back(one.is_null() ? std::nullopt : std::optional(view(one)));
      return views;
    }
    if (json.contains("%")) return view(json);
    if (json.contains("float")) return real(json["float"]);
    if (json.contains("complex"))
      return std::complex<double>(real(json["complex"].at(0)), real(json["complex"].at(1)));
    if (json.contains("ints")) return json["ints"].get<std::vector<int64_t>>();
    if (json.contains("floats")) {
      std::vector<double> list;
      for (const Json& one : json["floats"]) list.push_back(real(one));
      return list;
    }
    if (json.contains("number")) {
      Number number{dtype(json.at("of")), {}};
      bytes(json["number"], number.bytes.data(), size_of(number.dtype));
      if (number.dtype == DType::Bool && number.bytes[0] > 1)
        fail("a bool that is neither 0 nor 1");
      return number;
    }
    if (json.contains("symbol")) return symbolic(json);
    if (json.contains("dtype")) return dtype(json["dtype"]);
    if (json.contains("device")) return Here();
    if (json.contains("generator")) return Draw();
    fail("an argument that is none: " + json.dump().substr(0, 60));
  }

  void bytes(const Json& json, unsigned char* out, size_t count) const {
    const auto& text = json.get_ref<const std::string&>();
    const auto digit = [&](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      fail("digits of a number: " + text.substr(0, 40));
    };
    if (text.size() != 2 * count) fail("digits of a number: " + text.substr(0, 40));
    for (size_t i = 0; i < count; ++i)
      out[i] = static_cast<unsigned char>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
  }
  double real(const Json& json) const {
    double value = 0;
    bytes(json, reinterpret_cast<unsigned char*>(&value), 8);
    return value;
  }
  DType dtype(const Json& json) const {
    tn_dtype found = 0;
    const auto& name = json.get_ref<const std::string&>();
    if (tn_status* status = tn_dtype_find(detail::to_str(name), &found)) {
      tn_status_release(status);
      fail("there is no dtype " + name);
    }
    return static_cast<DType>(found);
  }

  // Weights are not written to, inputs only where the file says so, and each input is given once.
  void check_roles() const {
    std::vector<uint32_t> written, given;
    for (const Node& node : graph_.nodes) writes(node, written);
    for (const uint32_t b : written)
      if (!may_write_[b]) fail("a node writes into %" + std::to_string(b));
    for (const View& view : graph_.inputs) given.push_back(view.buffer);
    std::ranges::sort(given);
    if (std::ranges::adjacent_find(given) != given.end()) fail("an input is given twice");
    size_t count = 0;
    for (const Buffer& buffer : graph_.buffers) count += buffer.role == Role::Input ? 1 : 0;
    if (count != given.size()) fail("a buffer is an input that is not given");
  }

  const std::map<std::string, Tensor>& weights_;
  const std::string& where_;
  int depth_;
  Graph graph_;
  std::vector<bool> may_write_;  // by buffer
};

}  // namespace

namespace {

using Names = std::map<const tn_tensor*, std::string>;

Json written(const Graph& graph, const Names& names);

Json written(const Node& node, const Names& names) {
  Json args = Json::array(), results = Json::array();
  for (const Argument& argument : node.args) args.push_back(std::visit(Write(), argument));
  for (const View& view : node.results) results.push_back(written(view));
  if (node.control == nullptr)
    return {{"op", node.name()},
            {"schema", detail::to_view(tn_op_schema(node.op))},
            {"args", args},
            {"results", results}};
  Json bodies = Json::array();
  for (const Graph& body : node.control->bodies) bodies.push_back(written(body, names));
  Json made = {{"control", name_of(node.control->kind)},
               {"carried", node.control->carried},
               {"scanned", node.control->scanned},
               {"args", args},
               {"results", results},
               {"bodies", bodies}};
  if (!node.control->refused.empty()) made["refused"] = node.control->refused;
  return made;
}

Json written(const Graph& graph, const Names& names) {
  Json buffers = Json::array(), inputs = Json::array(), nodes = Json::array(),
       results = Json::array();
  std::vector<uint32_t> changed;
  for (const size_t i : graph.written_inputs()) changed.push_back(graph.inputs[i].buffer);
  for (const Buffer& buffer : graph.buffers) {
    Json one = {{"dtype", name_of(buffer.dtype)}, {"size", buffer.size}};
    one["role"] = buffer.role == Role::Input      ? "input"
                  : buffer.role == Role::Constant ? "weight"
                  : buffer.role == Role::State    ? "state"
                                                  : "temporary";
    if (!buffer.name.empty()) one["name"] = buffer.name;
    if (std::ranges::count(changed, buffers.size()) != 0) one["written"] = true;
    if (is_held(buffer.role)) one["tensor"] = names.at(buffer.constant.get());
    buffers.push_back(std::move(one));
  }
  for (const View& view : graph.inputs) inputs.push_back(written(view));
  for (const Node& node : graph.nodes) nodes.push_back(written(node, names));
  for (const View& view : graph.results) results.push_back(written(view));
  return {{"buffers", buffers}, {"inputs", inputs}, {"nodes", nodes}, {"results", results}};
}

}  // namespace

std::string to_json(const Graph& graph, const Names& names) {
  Json symbols = Json::array();
  for (const Symbol& symbol : graph.symbols)
    symbols.push_back(
        {{"name", symbol.name}, {"value", hex(symbol.value)}, {"counts", symbol.counts}});
  const bool controls =
      std::ranges::any_of(graph.nodes, [](const Node& node) { return node.control != nullptr; });
  Json whole = written(graph, names);
  whole["version"] = graph.sizes.empty() && !controls ? kPlain : kLatest;
  whole["symbols"] = symbols;
  if (!graph.sizes.empty()) whole["sizes"] = written(graph.sizes);
  return whole.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Graph from_json(const std::string& text, const std::map<std::string, Tensor>& weights,
                const std::string& where) {
  Reader reader(weights, where);
  try {
    // All numbers must be integers. Others are stored as bits, and would be truncated where an integer is read.
    return reader.graph(Json::parse(text, [&](int, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::value && parsed.is_number_float())
        reader.fail("a number that is not whole: " + parsed.dump());
      return true;
    }));
  } catch (const Json::exception& error) {
    reader.fail(error.what());
  }
}

}  // namespace tenon::graph
